"""The candidates of this folder, and the bench that judges them all on one device."""

import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

from tilewright.devices.model import Device
from tilewright.evaluation import cascade
from tilewright.evaluation.cascade import Cascade, check_structure
from tilewright.evaluation.model import Evaluation, StepName, StepResult, StepStatus
from tilewright.evaluation.speed import planned_timing
from tilewright.evaluation.trial_client import Timing
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import load_problem

HERE = Path(__file__).parent
NKI = HERE / "nki"
"""The same folders for NKI kernels, which the simulator runs."""
BASES = tuple(sorted(path.name for path in (HERE / "bases").iterdir()))
NKI_BASES = tuple(sorted(path.name for path in (NKI / "bases").iterdir() if path.is_dir()))
_OBSERVED = re.compile(
    r"it |a call changes |a thread of |\d+ ?% of its result |no longer so: |result \d"
)
DEFENCES = ("structure", "dynamic", "correctness", "timing")


@dataclass(frozen=True)
class Candidate:
    """A cheat or an odd but honest kernel, with what its docstring says of it."""

    path: Path
    text: str = field(repr=False)

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def base(self) -> str:
        return self.name.partition("__")[0]

    @property
    def original(self) -> Path:
        """The original of its base."""
        return self.path.parents[1] / "bases" / self.base / "original.py"

    @property
    def says(self) -> str:
        """What it does, in a sentence."""
        return " ".join(self.text.split('"""')[1].split("\n\n")[0].split())

    @property
    def kind(self) -> str:
        return self._field("Class")

    @property
    def caught_by(self) -> tuple[str, ...]:
        return tuple(word for word in DEFENCES if word in self._field("Caught by"))

    @property
    def needs_gpu(self) -> bool:
        return self._field("Needs") == "gpu"

    @property
    def allow(self) -> tuple[str, ...]:
        """What its project permits it to do."""
        return tuple(self._field("Allow").split())

    def _field(self, name: str) -> str:
        found = re.search(rf"^{name}: (.*)$", self.text.split('"""')[1], re.MULTILINE)
        return found.group(1).strip() if found else ""


def spec_of(original: Path) -> Path:
    """A base's spec; its own file where that is in KernelBench's form."""
    spec = original.with_name(f"{original.parent.name}.yaml")
    return spec if spec.is_file() else original


def candidates(folder: str, root: Path = HERE) -> tuple[Candidate, ...]:
    """Those of ``cheats`` or ``legit``, by name."""
    return tuple(Candidate(p, p.read_text("utf-8")) for p in sorted((root / folder).glob("*.py")))


class _Reads(threading.local):
    """Whether texts are read while a thread judges."""

    text = True


class Court:
    """Judges candidates on one device, each base's original prepared once; in several threads, if
    ``court_on`` made it.

    Times are taken only where a cheat is there for the clock to find: what is accepted without a
    clock is accepted with one, or at most called slower.
    """

    def __init__(self, device: Device, scratch: Path) -> None:
        self._device = device
        self._scratch = scratch
        self._cascades: dict[tuple[str, ...], Cascade] = {}
        self._lock = threading.Lock()
        self._reads = _Reads()
        self._untimed: set[str] = set()

    def judge(self, candidate: Candidate) -> Evaluation:
        """Take a candidate through the whole cascade."""
        court = self._cascade(candidate.original, candidate.allow)
        if "timing" not in candidate.caught_by:
            self._untimed.add(candidate.text)
        return court.judge(candidate.text, court.original)

    def judge_unread(self, candidate: Candidate) -> Evaluation:
        """The same with nobody reading its text: what catches it while it runs?"""
        self._reads.text = False
        try:
            return self.judge(candidate)
        finally:
            self._reads.text = True

    def original(self, source: Path) -> Evaluation:
        """A base's original as its own candidate."""
        court = self._cascade(source)
        return court.judge(court.original, court.original)

    def _cascade(self, source: Path, allow: tuple[str, ...] = ()) -> Cascade:
        key = (str(source), *allow)
        with self._lock:
            if key not in self._cascades:
                problem = replace(load_problem(spec_of(source), source), allow=allow)
                scratch = self._scratch / "-".join((source.parent.name, *allow))
                bench = Workbench(self._device, problem, source, scratch, 1)
                self._cascades[key] = Cascade(source.read_text("utf-8"), str(source), bench, None)
            return self._cascades[key]

    @contextmanager
    def leaving_out(self) -> Iterator[None]:
        """Have the cascade leave out what this court does not ask for."""
        unread = StepResult(StepName.STRUCTURE, StepStatus.PASSED)

        def planned(bench: Workbench, baseline: str, text: str) -> Timing | None:
            return None if text in self._untimed else planned_timing(bench, baseline, text)

        def checked(*given: Any, **named: Any) -> StepResult:
            return check_structure(*given, **named) if self._reads.text else unread

        with (
            mock.patch.object(cascade, "planned_timing", planned),
            mock.patch.object(cascade, "check_structure", checked),
        ):
            yield


@contextmanager
def court_on(device: Device) -> Iterator[Court]:
    """A court with a scratch folder of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        court = Court(device, Path(scratch))
        with court.leaving_out():
            yield court


def refusal(evaluation: Evaluation) -> str:
    """Which step refused a candidate, and why; empty when none did."""
    failed = evaluation.failed
    return f"{failed.step.value}: {failed.message}" if failed is not None else ""


def refused_by(evaluation: Evaluation) -> str:
    """The defence that refused a candidate; empty when none did.

    What was observed is told without the name of a check, as it speaks of all of them.
    """
    failed = evaluation.failed
    if failed is None:
        return ""
    if failed.step is not StepName.CORRECTNESS:
        return failed.step.value
    return "dynamic" if _OBSERVED.match(failed.message) else "correctness"
