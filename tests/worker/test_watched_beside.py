"""What the engine asks of a GPU's judge beside the GPU, on a device that pretends to be one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pretended_device
import pytest
from faulting import Worker, accepted, refused

from tilewright.devices.model import DeviceInfo, JobOutcome, JobStatus
from tilewright.evaluation.correctness import planned_checks
from tilewright.evaluation.trial_client import hear
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import load_problem
from tilewright.targets.model import Target

EVIDENCE = Path(__file__).parents[1] / "evidence"
INFO = DeviceInfo(
    pretended_device.DEVICE, "a GPU", Target("cuda", "90"), True, "2.13", "3.9.0", "3.11"
)
REFUSED = {
    "axpy__already_there": "before anything has written them in this call",
    "axpy__borrows_the_input": "it writes into input X",
    "scaled__borrows_the_weight": "it writes into weight weight",
}
FAST = 2
HONEST = ("axpy__in_its_own_result", "matmul__split_k_atomics", "embedding__tickets")

pytestmark = pytest.mark.triton


class Asked:
    """Keeps what it is asked; nothing ever speaks against anybody."""

    info = INFO

    def __init__(self) -> None:
        self.jobs: list[Mapping[str, Any]] = []

    def run(self, job: Mapping[str, Any], timeout_s: float) -> JobOutcome:
        del timeout_s
        self.jobs.append(job)
        return JobOutcome(JobStatus.OK, {"fault": None, "checks": []})

    def close(self) -> None:
        pass


@pytest.fixture
def worker(gpu_worker: Worker) -> Worker:
    return gpu_worker


def judged(worker: Worker, folder: Path, kind: str, name: str) -> dict[str, Any]:
    """The judge's answer to what the engine asks; of its checks the first alone is made, as those
    after it are a GPU's size."""
    source = EVIDENCE / "bases" / name.partition("__")[0] / "original.py"
    problem = load_problem(source.with_name(f"{source.parent.name}.yaml"), source)
    device = Asked()
    bench = Workbench(device, problem, source, folder, 1)
    original, text = source.read_text(), (EVIDENCE / kind / f"{name}.py").read_text()
    hear(bench, original, text, planned_checks(bench, original, text))
    (job,) = device.jobs
    return worker.ask({**job, "checks": job["checks"][:1], "each_config": None}, 120.0)


@pytest.mark.parametrize(
    "name",
    [
        name if place < FAST else pytest.param(name, marks=pytest.mark.slow)
        for place, name in enumerate(REFUSED)
    ],
)
def test_what_a_gpu_does_not_show_is_refused(name: str, worker: Worker, tmp_path: Path) -> None:
    answer = judged(worker, tmp_path, "cheats", name)
    assert REFUSED[name] in refused(answer)
    assert "watched in the interpreter" in refused(answer)


@pytest.mark.parametrize("name", HONEST)
def test_what_is_only_unusual_passes(name: str, worker: Worker, tmp_path: Path) -> None:
    answer = judged(worker, tmp_path, "legit", name)
    assert accepted(answer), refused(answer)
    assert [sorted(check) for check in answer["value"]["watched"]] == [["name", "seed"]] * 2
