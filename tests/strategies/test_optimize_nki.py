"""NKI kernels through the whole loop on the simulator: rewrites, a search, and a model's reply."""

from pathlib import Path
from unittest import mock

import pytest
from scripted_models import SMALL, ScriptedClient

from tilewright.devices.opening import open_device
from tilewright.evaluation.model import Level
from tilewright.models.model import CallRequest, Role, Spent
from tilewright.models.settings import CallPolicy, Ensemble
from tilewright.problems.loading import load_problem
from tilewright.search.configurations import configured
from tilewright.search.spec import StrategySpec
from tilewright.store.store import open_store
from tilewright.strategies.model import OptimizeResult
from tilewright.strategies.observer import Silent
from tilewright.strategies.optimize import STAGED, OptimizeRequest, optimize
from tilewright.strategies.present import dump_result
from tilewright.targets.registry import parse_target

EXAMPLES = Path(__file__).parents[2] / "examples" / "nki"
SLOW, FAST = (EXAMPLES / "nki1" / f"softmax{end}.py" for end in ("_slow", ""))

pytestmark = [pytest.mark.slow, pytest.mark.triton]


def optimized(
    client: ScriptedClient | None = None, budget: int = 8, strategy: StrategySpec = STAGED
) -> OptimizeResult:
    problem = load_problem(EXAMPLES / "softmax.yaml", SLOW)
    models = None
    if client is not None:
        roles = dict.fromkeys(Role, (SMALL,))
        models = Ensemble(roles, tries=1, policy=CallPolicy(cache=False), prices={})
    target = parse_target("trn2")
    request = OptimizeRequest(
        SLOW, SLOW.read_text(), problem, target, budget, models, strategy=strategy
    )
    device, store = open_device("neuron-sim"), open_store()
    try:
        return optimize(request, device, store, Silent(), lambda _, before: client)
    finally:
        store.close()
        device.close()


def test_rewrites_are_certified_as_simulated_and_estimated() -> None:
    result = optimized()
    certificate = result.certificate
    assert certificate is not None
    assert result.changed
    assert certificate.level is Level.CORRECT
    assert certificate.speedup is None
    assert certificate.estimate is not None
    assert certificate.estimate.is_faster
    assert certificate.estimate.target == "neuron:trn2"
    assert certificate.estimate.baseline == certificate.original
    assert (certificate.device or "").startswith("neuron-sim ")
    told = dump_result(result)
    assert told["speedup"] is None
    assert "by the cost model for neuron:trn2" in told["estimate"]["words"]


def test_a_search_ranks_candidates_by_their_estimates() -> None:
    result = optimized(strategy=configured("beam", STAGED), budget=6)
    assert result.certificate is not None
    assert result.certificate.estimate is not None
    nodes = [trial.node for trial in result.trials if trial.node is not None]
    assert nodes
    assert not any(node.measured for node in nodes)
    assert max(node.log_speed for node in nodes) > 0


def test_a_models_kernel_goes_through_the_whole_loop() -> None:
    prompts: list[str] = []

    def script(request: CallRequest, number: int) -> str:
        del number
        if request.role is not Role.OPTIMIZER:
            return "{}"
        prompts.append("\n".join(str(message) for message in request.messages))
        return f"One pass sums while it exponentiates.\n\n```python\n{FAST.read_text()}```\n"

    alone = mock.patch("tilewright.strategies.optimize._free_proposers", return_value=())
    with alone:
        result = optimized(ScriptedClient(script, Spent()))
    (kept,) = (trial for trial in result.trials if trial.kept)
    assert kept.candidate.call is not None
    assert "nisa.activation_reduce(" in result.final
    assert result.certificate is not None
    assert result.certificate.estimate is not None
    assert result.certificate.estimate.is_faster
    assert "nc_matmul contracts along partitions" in prompts[0]
    assert "Estimated for neuron:trn2, not measured" in prompts[0]
    assert "nisa.activation" in prompts[0] or "nki.isa.activation(" in prompts[0]
