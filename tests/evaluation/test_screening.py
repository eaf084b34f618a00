"""A quick look: what its job is told, and what is made of its answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.devices.model import DeviceInfo, JobOutcome, JobStatus
from tilewright.evaluation.model import text_hash
from tilewright.evaluation.screening import screen
from tilewright.evaluation.workbench import Workbench
from tilewright.problems import load_problem
from tilewright.targets.model import Target

EXAMPLES = Path(__file__).parents[2] / "examples"
OWN = (EXAMPLES / "softmax.py").read_text()
OTHER = OWN.replace("BLOCK=1024", "BLOCK=2048")


class Gpu:
    """Keeps the jobs it is given."""

    info = DeviceInfo("cuda:0", "NVIDIA H200", Target("cuda", "90"), True, "2.11", "3.6", "3.12")

    def __init__(self) -> None:
        self.jobs: list[Mapping[str, Any]] = []

    def run(self, job: Mapping[str, Any], timeout_s: float) -> JobOutcome:
        self.jobs.append(job)
        return JobOutcome(JobStatus.OK, {"inputs": [], "us": [30.0, 10.0, 20.0]})

    def close(self) -> None:
        """Nothing of its own."""


def test_a_look_gives_the_median_and_shares_no_cache_with_other_texts(tmp_path: Path) -> None:
    path, gpu = EXAMPLES / "softmax.py", Gpu()
    problem = load_problem(EXAMPLES / "softmax.yaml", path)
    bench = Workbench(gpu, problem, path, tmp_path, 7)
    (case, *_) = problem.measured_cases()
    for text in (OWN, OTHER):
        looked = screen(bench, text, case, OWN)
        assert (looked.candidate, looked.us) == (text_hash(text), 20.0)
    own, other = (job for job in gpu.jobs if job["kind"] == "measure")
    assert own["cache"] == bench.cache_of(OWN)
    assert other["caches"] == [own["cache"]]  # found, and written by its own text alone
    assert "cache" not in other  # one of its own job's
