"""A search on several GPUs comes to the same end as on one, and uses all of them."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.devices.model import DeviceInfo, JobOutcome
from tilewright.devices.pool import DevicePool
from tilewright.evaluation.model import (
    Candidate,
    Evaluation,
    Level,
    Speedup,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.evaluation.workbench import Capture
from tilewright.store.store import Store
from tilewright.strategies.model import ProposalRequest
from tilewright.strategies.observer import Silent
from tilewright.strategies.staged import StagedSearch
from tilewright.targets.model import Target

INFO = DeviceInfo("cuda:0", "a GPU", Target("cuda", "90"), True, "2.11", "3.6.0", "3.12")
TIMES = (110.0, 90.0, -1.0, 89.9, 60.0, 70.0, 61.0, 30.0)


class Gpu:
    def __init__(self, number: int) -> None:
        self.info = replace(INFO, id=f"cuda:{number}")

    def run(self, job: Any, timeout_s: float) -> JobOutcome:
        raise AssertionError(f"{job} was not expected within {timeout_s}")

    def close(self) -> None: ...


@dataclass
class Bench:
    device: Any
    problem: Any = field(default_factory=lambda: SimpleNamespace(compiled_cases=lambda: ()))

    def on_device(self, device: Any) -> "Bench":
        return replace(self, device=device)

    def capture(self, text: str, case: object) -> Capture:
        raise AssertionError((text, case))


def source(us: float) -> str:
    return f"TIME = {us}\n"


@dataclass
class Scripted:
    """A cascade that reads times from the text; no GPU of a pool judges before another does."""

    bench: Bench
    used: set[str]
    original: str = source(100.0)
    path: str = "kernel.py"
    target: Any = None
    triton_version: Any = None
    several: threading.Event = field(default_factory=threading.Event)

    def judge(self, text: str, baseline: str, *, thorough: bool = True, **_: object) -> Evaluation:
        self.used.add(self.bench.device.info.id)
        if self.bench.device.__class__.__name__ == "_Share":
            if len(self.used) > 1:
                self.several.set()
            assert self.several.wait(600)
        us, before = (float(t.split("=")[1]) for t in (text, baseline))
        if us < 0:
            wrong = StepResult(StepName.CORRECTNESS, StepStatus.FAILED, "output 0 differs")
            return Evaluation(text_hash(text), text_hash(baseline), Level.REJECTED, (wrong,))
        ratio = before / us
        speedup = Speedup(
            ratio, ratio * 0.98, ratio * 1.02, 0.99, 0.01, before, us, text_hash(baseline),
            "a GPU", "case", 20,
        )  # fmt: skip
        status = StepStatus.PASSED if speedup.is_faster else StepStatus.FAILED
        step = StepResult(StepName.SPEED, status, "" if speedup.is_faster else "not faster")
        level = Level.FASTER if speedup.is_faster else Level.CORRECT
        return Evaluation(text_hash(text), text_hash(baseline), level, (step,), speedup)


class Fixed:
    name = "fixed"
    independent = True

    def propose(self, request: ProposalRequest) -> Iterator[Candidate]:
        for us in TIMES:
            yield Candidate(source(us), text_hash(request.module.text), self.name, f"{us} us")


def searched(folder: Path, gpus: int) -> tuple[StagedSearch, set[str]]:
    members = [Gpu(number) for number in range(gpus)]
    bench = Bench(DevicePool(members) if gpus > 1 else members[0])
    cascade = Scripted(bench, set())
    store = Store(folder / f"{gpus}.sqlite")
    with store.run("key", "kernel.py", {}) as (_, ledger):
        found = StagedSearch(cascade, (Fixed(),), ledger, Silent(), 50)  # type: ignore[arg-type]
        found.run()
    return found, cascade.used


def told(found: StagedSearch) -> list[tuple[str, bool, str]]:
    return [(trial.candidate.text, trial.kept, trial.reason) for trial in found.trials]


@pytest.mark.parametrize("gpus", [2, 3, 8])
def test_more_gpus_change_nothing_but_the_time(tmp_path: Path, gpus: int) -> None:
    one, _ = searched(tmp_path, 1)
    several, used = searched(tmp_path, gpus)
    assert told(several) == told(one)
    assert several.current == one.current == source(30.0)
    assert len(used) > 1


def test_candidates_are_judged_at_the_same_time(tmp_path: Path) -> None:
    class Two(Fixed):
        def propose(self, request: ProposalRequest) -> Iterator[Candidate]:
            yield from list(super().propose(request))[:1] + list(super().propose(request))[2:3]

    members = [Gpu(0), Gpu(1)]
    cascade = Scripted(Bench(DevicePool(members)), set())
    with Store(tmp_path / "s.sqlite").run("key", "kernel.py", {}) as (_, ledger):
        found = StagedSearch(cascade, (Two(),), ledger, Silent(), 50)  # type: ignore[arg-type]
        found.run()
    assert [kept for _, kept, _ in told(found)] == [False, False]
    assert cascade.used == {"cuda:0", "cuda:1"}
