"""A quick look: what its job is told, and what is made of its answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.devices.model import DeviceInfo, JobOutcome, JobStatus
from tilewright.evaluation.model import text_hash
from tilewright.evaluation.screening import Kept, kept_results, screen
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import load_problem
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
        told: dict[str, Any] = {"inputs": [], "us": [30.0, 10.0, 20.0]}
        if "out" in job:
            told |= {"outputs": [], "output_tree": {}, "inputs_changed": [], "changed_inputs": []}
        if "like" in job:
            told |= {"difference": "output: 3 of 4 elements differ", "us": []}
        return JobOutcome(JobStatus.OK, told)

    def close(self) -> None:
        """Nothing of its own."""


def test_a_look_gives_the_median_and_shares_no_cache_with_other_texts(tmp_path: Path) -> None:
    path, gpu = EXAMPLES / "softmax.py", Gpu()
    problem = load_problem(EXAMPLES / "softmax.yaml", path)
    bench = Workbench(gpu, problem, path, tmp_path, 7)
    (case, *_) = problem.measured_cases()
    for text in (OWN, OTHER):
        looked = screen(bench, text, case, OWN, Kept(None))
        assert (looked.candidate, looked.us) == (text_hash(text), 20.0)
    own, other = (job for job in gpu.jobs if job["kind"] == "measure")
    assert own["cache"] == bench.cache_of(OWN)
    assert other["caches"] == [own["cache"]]  # found, and written by its own text alone
    assert "cache" not in other  # one of its own job's


def test_what_gives_other_results_is_said_to_and_has_no_time(tmp_path: Path) -> None:
    path, gpu = EXAMPLES / "softmax.py", Gpu()
    bench = Workbench(gpu, load_problem(EXAMPLES / "softmax.yaml", path), path, tmp_path, 7)
    (case, *_) = bench.problem.measured_cases()
    kept = kept_results(bench, OWN, case)
    looked = screen(bench, OTHER, case, OWN, kept)
    assert (looked.us, looked.differs) == (None, True)
    assert looked.message == "output: 3 of 4 elements differ"
    own, other = (job for job in gpu.jobs if job["kind"] == "measure")
    assert own["cache"] == bench.cache_of(OWN)
    assert (other["like"]["rtol"], other["like"]["atol"]) == (case.rtol, case.atol)
    assert other["inputs"] == own["inputs"]
