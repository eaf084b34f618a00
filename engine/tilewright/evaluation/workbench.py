"""Everything one run needs to judge sources: files, a device, captured launches.

The only module of the cascade that talks to a device. What compilers get of a source is
kept by its hash.
"""

import json
import os
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import tilewright
from tilewright.captures.relaunch import NoPlan
from tilewright.devices.model import Device, JobOutcome, JobStatus, Value
from tilewright.errors import TilewrightError
from tilewright.evaluation.model import Cause, text_hash
from tilewright.evaluation.replaying import launching
from tilewright.harness_fault import HarnessFaultError, harness_fault
from tilewright.problems.model import Case, Problem
from tilewright.problems.modules import completed
from tilewright.problems.tests_below import above_tests
from tilewright.serialize import dump, load
from tilewright.targets.compilation import compile_launch
from tilewright.targets.model import CompileReport, LaunchFacts, Target
from tilewright.textfile import encoded_python
from tilewright.worker.messages.envelope import Job
from tilewright.worker.messages.jobs import CaptureJob, Inputs, InputsJob
from tilewright.worker.messages.parts import Entry, Plan

TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Capture:
    """The launches an entry point makes for one case; a message instead where it failed."""

    launches: tuple[LaunchFacts, ...]
    notes: tuple[str, ...] = ()
    failure: str | None = None


class BrokenOffError(TilewrightError):
    """Nothing can be said of a candidate, for a cause that is neither its nor the harness's."""

    def __init__(self, cause: Cause, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class DeviceLostError(TilewrightError):
    """The device's worker is gone; the run can be taken up again."""


class Workbench:
    """A scratch folder and a device, for one problem and one seed."""

    def __init__(
        self, device: Device, problem: Problem, source_path: Path, scratch: Path, seed: int
    ) -> None:
        self.device = device
        self.problem = problem
        self.source_path = source_path
        self.scratch = scratch
        self.seed = seed
        self._kept: dict[tuple[str, ...], Any] = {}
        self._texts: dict[str, str] = {}
        self._lock = Lock()
        self._placing = Lock()

    def on_device(self, device: Device) -> "Workbench":
        """The same files and all that is known of them, on another device of the same kind."""
        other = copy(self)
        other.device = device
        return other

    def place(self, text: str) -> Path:
        """The file that holds ``text``, under the user's own file name."""
        folder = self.scratch / "sources" / text_hash(text)
        with self._placing:
            path = place_source(self.source_path, self._whole(text), folder)
        self._texts[str(path)] = text
        return path

    def _whole(self, text: str) -> str:
        """The text as it is to be imported: with what its task says of it."""
        problem = self.problem
        if problem.has_tests:
            return above_tests(text)
        return text if problem.task is None else completed(text, problem.task, problem.entry.name)

    @property
    def entry(self) -> Entry:
        """The entry point as a job names it."""
        found: Entry = dump(self.problem.entry)
        return found

    @property
    def inputs_from(self) -> str:
        """The file that makes the inputs, where a case takes them from a module."""
        every = (case for several in self.problem.cases.values() for case in several)
        makes = any(case.inputs_from_module for case in every)
        return str(Path(self.problem.path if makes else self.source_path).resolve())

    def cache_of(self, text: str) -> str:
        """Where Triton keeps what is compiled of ``text`` during this run; no other text writes
        there."""
        return str(self.scratch / "triton" / text_hash(text))

    def instructions(self, text: str) -> list[Any]:
        """What the simulator saw an NKI text execute in its first check; empty where it did not."""
        found: list[Any] = self._kept.get(("instructions", text_hash(text)), [])
        return found

    def keep_instructions(self, text: str, records: list[Any]) -> None:
        """Keep what the simulator saw a text execute, for estimates."""
        self._kept["instructions", text_hash(text)] = records

    def run(self, job: Job[Value], timeout_s: float) -> JobOutcome[Value]:
        """Run a job on the device.

        Raises:
            DeviceLostError: the worker went away twice; nothing is known of the job, so nothing
                may be recorded of it.
            HarnessFaultError: what runs the job went wrong, and not the job.
        """
        told = self._launching(job)
        if isinstance(told, NoPlan):
            nothing: Any = {}
            return JobOutcome(JobStatus.ERROR, nothing, told.reason)
        sent: Any = {**job, **told}
        outcome: JobOutcome[Value] = self.device.run(sent, timeout_s)
        if outcome.status is JobStatus.LOST:
            raise DeviceLostError(
                f"the worker of {self.device.info.id} went away during a {job.get('kind')} job and "
                f"again when it was repeated ({outcome.message}); run the command again to go on"
            )
        if outcome.status is JobStatus.FAULT:
            raise self.fault(job, outcome)
        return outcome

    def fault(self, job: Job[Any], outcome: JobOutcome[Any]) -> HarnessFaultError:
        """The harness's fault that an outcome stands for, with its file for a report."""
        info = self.device.info
        what = explain(outcome) if outcome.message else f"a {job.get('kind')} job {outcome.status}"
        details = {
            "job": str(job.get("kind")), "worker": f"torch {info.torch}, Triton {info.triton}",
            "python of the worker": info.python, "printed": outcome.output[-4000:],
            "traceback": f"\n{outcome.traceback or 'none'}",
        }  # fmt: skip
        return harness_fault(what, tilewright.__version__, f"{info.id} ({info.name})", details)

    def _launching(self, job: Job[Any]) -> dict[str, dict[str, Plan]] | NoPlan:
        """Fields of a job on a captured launch: how each of its files is launched."""
        if not self.problem.is_captured or "case" not in job or "entry" not in job:
            return {}
        files = {str(job.get(name)) for name in ("module", "original", "candidate") if name in job}
        texts = {file: self._texts[file] for file in files if file in self._texts}
        told = launching(self.problem, str(self.source_path), texts, load(Case, job.get("case")))
        return told if isinstance(told, NoPlan) else {"launching": told}

    def capture(self, text: str, case: Case) -> Capture:
        """The launches ``text`` makes for ``case``, none of them executed."""
        key = ("capture", text_hash(text), case.name)
        if key not in self._kept:
            self._kept[key] = self._capture(text, case)
        kept: Capture = self._kept[key]
        return kept

    def _capture(self, text: str, case: Case) -> Capture:
        job: CaptureJob = {
            "kind": "capture", "module": str(self.place(text)), "entry": self.entry,
            "inputs_from": self.inputs_from, "case": dump(case), "fake": True,
        }  # fmt: skip
        outcome = self.run(job, TIMEOUT_S)
        if outcome.status is not JobStatus.OK:
            return Capture((), failure=explain(outcome))
        return Capture(
            tuple(load(LaunchFacts, launch) for launch in outcome.value["launches"]),
            tuple(outcome.value.get("notes", ())),
        )

    def compile(self, text: str, launch: LaunchFacts, target: Target) -> CompileReport:
        """What the compiler of ``target`` makes of one launch; cached on disk by content."""
        kept: CompileReport | None = self._kept.get(_report_key(text, launch, target))
        return kept or compile_launch(self.device, str(self.place(text)), launch, target)

    def keep_report(self, text: str, report: CompileReport) -> None:
        """Take a report, made of another text with the same kernel, for what ``text`` compiles to.

        Its lines are those of ``text``.
        """
        self._kept[_report_key(text, report.launch, report.target)] = report

    def inputs(self, case: Case, seed: int) -> JobOutcome[Inputs]:
        """A manifest of inputs for a case, made outside any candidate's process."""
        key = ("inputs", case.name, str(seed))
        with self._lock:
            if key not in self._kept:
                out = self._folder("inputs", case.name, str(seed))
                job: InputsJob = {
                    "kind": "inputs", "case": dump(case), "seed": self.seed + seed, "out": str(out)
                }  # fmt: skip
                if case.inputs_from_module:
                    job["module"] = self.inputs_from
                self._kept[key] = self.run(job, TIMEOUT_S)
            outcome: JobOutcome[Inputs] = self._kept[key]
        return outcome

    def _folder(self, *parts: str) -> Path:
        path = self.scratch.joinpath(*(part.replace("/", "_") for part in parts))
        path.mkdir(parents=True, exist_ok=True)
        return path


def _report_key(text: str, launch: LaunchFacts, target: Target) -> tuple[str, ...]:
    launched = json.dumps(dump(launch), sort_keys=True)
    return ("report", text_hash(text), str(target), launched)


def explain(outcome: JobOutcome[Any]) -> str:
    """A failed job in one sentence, with the tail of what it printed."""
    what = {
        JobStatus.TIMEOUT: "timed out",
        JobStatus.UNSUPPORTED: "cannot be judged here",
        JobStatus.CRASHED: "crashed",
        JobStatus.OUT_OF_MEMORY: "ran out of memory",
    }.get(outcome.status)
    message = outcome.message.strip()
    if what is not None and not message.startswith(what):
        message = f"{what}: {message}" if message else what
    tail = outcome.output.strip()[-400:]
    return f"{message} (it printed: {tail})" if tail and what else message


def place_source(source: Path, text: str, folder: Path) -> Path:
    """The file in ``folder`` that holds ``text``; written, with its surroundings, the first time.

    Modules next to the user's file can be imported from the placed one as well: its
    neighbours, and where it is a member of a package, that package, whose other members are links.
    """
    user = source.resolve()
    root = user.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    path = folder / user.relative_to(root).with_name(source.name)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        place, here = folder, root
        for part in user.relative_to(root).parts:
            # Above a package may stand all that is installed.
            if here != root or here == user.parent:
                _link_neighbours(here, place, part, is_package=here != root)
            place, here = place / part, here / part
        path.write_bytes(encoded_python(text, str(source)))
    return path


def _link_neighbours(beside: Path, folder: Path, name: str, *, is_package: bool) -> None:
    """Link all that a package holds, data included; elsewhere modules and packages alone."""
    for neighbour in beside.iterdir():
        # Not Path.exists, which raises where a folder may not be entered.
        is_module = neighbour.suffix == ".py" or os.path.exists(neighbour / "__init__.py")  # noqa: PTH110
        if neighbour.name not in (name, "__pycache__") and (is_module or is_package):
            (folder / neighbour.name).symlink_to(neighbour)
