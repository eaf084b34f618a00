"""The prompts that a run would send first, without sending them."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

from tilewright.agents import analyzer, planner
from tilewright.agents.prompt import Prompt
from tilewright.devices.model import Device
from tilewright.errors import InputError
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.workbench import Workbench
from tilewright.knowledge.stages import Stage
from tilewright.models.model import Role
from tilewright.models.settings import Ensemble
from tilewright.scratch import scratch_folder
from tilewright.store.store import Store
from tilewright.strategies.observer import Silent
from tilewright.strategies.optimize import OptimizeRequest, check_original
from tilewright.strategies.run_models import RunModels, run_models
from tilewright.strategies.staged import StagedSearch

_NO_MODELS = Ensemble({})


@dataclass(frozen=True)
class FirstPrompt:
    """A role's first prompt. ``stage``: None for the analyzer and the planner."""

    role: Role
    stage: Stage | None
    prompt: Prompt


def first_prompts(request: OptimizeRequest, device: Device) -> list[FirstPrompt]:
    """The first prompt of each role, and of the optimizer for each planned stage.

    All are about the original text. Replies of the analyzer may add stages, and rewrites may change
    the text before a stage is reached.

    Raises:
        InputError: there is no problem, so that no model would be asked.
        OriginalFailsError: the original does not run on the problem's inputs.
    """
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_folder())
        store = stack.enter_context(closing(Store(scratch / "store.sqlite")))
        run, ledger = stack.enter_context(store.run("prompts", str(request.path), {}))
        stack.callback(ledger.close)
        problem = request.problem
        bench = Workbench(device, problem, request.path, scratch, run.seed) if problem else None
        cascade = Cascade(request.text, str(request.path), bench, request.target)
        notes: list[str] = []
        models = run_models(_NO_MODELS, None, cascade, request.path, ledger, notes.append)
        if models is None:
            raise InputError("; ".join(notes), str(request.path))
        search = StagedSearch(cascade, (), ledger, Silent(), request.budget)
        check_original(search, request, notes)
        return list(_prompts(search, models))


def _prompts(search: StagedSearch, models: RunModels) -> Iterator[FirstPrompt]:
    position = search.position()
    briefing = models.briefer.briefing(position)
    yield FirstPrompt(Role.ANALYZER, None, analyzer.build(briefing))
    stages = search.planned(())
    if len(stages) > 1:
        yield FirstPrompt(Role.PLANNER, None, planner.build(briefing, stages))
    with_issues = {issue.stage for issue in position.issues}
    asked = [stage for stage in stages if stage in with_issues] or [Stage.DISCOVERY]
    for stage in asked:
        trajectory = models.proposer.trajectory(search.request(stage))
        yield FirstPrompt(Role.OPTIMIZER, stage, trajectory.prompt(Role.OPTIMIZER))
        if stage is asked[-1]:
            yield FirstPrompt(Role.EXTRACTOR, stage, trajectory.prompt(Role.EXTRACTOR))


def dump_prompt(one: FirstPrompt) -> dict[str, Any]:
    """A prompt with its sections and messages."""
    prompt = one.prompt
    return {
        "role": one.role.value,
        "stage": one.stage.value if one.stage else None,
        "tokens": prompt.tokens,
        "cut": list(prompt.cut),
        "sections": [
            {"number": s.number, "name": s.name, "tokens": s.tokens} for s in prompt.sections
        ],
        "messages": [{"role": m.role, "text": m.text} for m in prompt.messages()],
    }
