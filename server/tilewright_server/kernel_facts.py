"""What compilers and devices said of kernels, kept by what they were said of.

A fact is found again only under the key of the very source it came from, so that no number can
be shown for code it does not belong to.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import time as now
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tilewright.analysis.model import Issue
from tilewright.lru import LruDict
from tilewright.serialize import load
from tilewright.source.model import Module
from tilewright.source.text import Range
from tilewright.targets.model import CompileReport, LaunchFacts, LineReport
from tilewright_server.analysis_cache import Parsed
from tilewright_server.fact_keys import facts_key
from tilewright_server.jobs.manager import JobKind
from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright.costs import Estimate

logger = logging.getLogger(__name__)
_REMEMBERED = 512


@dataclass(frozen=True)
class Function:
    """A jit function as it stood when it was compiled: its text's hash and its lines."""

    name: str
    content_hash: str
    first: int
    last: int


@dataclass(frozen=True)
class CompiledFacts:
    """One kernel, for every target it was compiled for.

    Lines are those of the text that was compiled; ``functions`` say where each stood in it.

    Attributes:
        targets: that it was compiled for; one without a report has a note that says why.
        origin: where the launches come from: "spec", "captured", "inferred"; None if there is none.
        why: why there are no better launches; empty where that needs no reason.
        estimates: of each report's time, None where there is none; nothing of it is measured.
    """

    kernel: str
    targets: tuple[str, ...]
    origin: str | None
    reports: tuple[CompileReport, ...]
    issues: tuple[Issue, ...]
    notes: tuple[str, ...]
    functions: tuple[Function, ...]
    estimates: "tuple[Estimate | None, ...]" = ()
    why: str = ""
    taken: float = field(default_factory=now)

    def of_target(self, target: str) -> tuple[CompileReport, ...]:
        """The reports for one target, a launch each."""
        return tuple(report for report in self.reports if str(report.target) == target)

    def estimate_of(self, report: CompileReport) -> "Estimate | None":
        """What a report's launch is estimated to take."""
        pairs = zip(self.reports, self.estimates, strict=False)
        return next((found for one, found in pairs if one is report), None)

    def issues_in(self, module: Module) -> Iterator[Issue]:
        """The issues where the text stands now; none of a function that has changed since."""
        for issue in self.issues:
            lines = self._moved(module, issue.range)
            if lines is not None:
                yield replace(issue, range=lines, related=())

    def lines_at(self, module: Module, line: int) -> tuple[tuple[CompileReport, LineReport], ...]:
        """What was reported of a line of the text as it is now."""
        then = self._line_then(module, line)
        return tuple(
            (report, one) for report in self.reports for one in report.lines if one.line == then
        )

    def line_now(self, module: Module, line: int) -> int | None:
        """Where a line of the compiled text stands now; None if its function is not the same."""
        for function, first in self._functions_now(module):
            if function.first <= line <= function.last:
                return line - function.first + first
        return None

    def _line_then(self, module: Module, line: int) -> int | None:
        for function, first in self._functions_now(module):
            if first <= line <= first + function.last - function.first:
                return line - first + function.first
        return None

    def _moved(self, module: Module, place: Range) -> Range | None:
        line = self.line_now(module, place.line)
        if line is None:
            return None
        return replace(place, line=line, end_line=place.end_line + line - place.line)

    def _functions_now(self, module: Module) -> Iterator[tuple[Function, int]]:
        """Each function that is still the same, and its first line now."""
        for function in self.functions:
            kernel = module.kernel(function.name)
            if kernel is not None and kernel.content_hash == function.content_hash:
                yield function, kernel.range.line


def functions_of(module: Module) -> tuple[Function, ...]:
    """Where the jit functions of a module stand."""
    return tuple(
        Function(k.name, k.content_hash, k.range.line, k.range.end_line) for k in module.kernels
    )


def read_compiled(data: Mapping[str, Any], functions: tuple[Function, ...]) -> CompiledFacts | None:
    """One kernel of what ``inspect`` tells; None, with a word in the log, if it cannot be read."""
    from tilewright.costs import Estimate

    try:
        return CompiledFacts(
            kernel=str(data["name"]),
            targets=tuple(f"{t['backend']}:{t['arch']}" for t in data["targets"]),
            origin=data.get("origin"),
            reports=tuple(load(CompileReport, report) for report in data["reports"]),
            issues=tuple(load(Issue, issue) for issue in data["issues"]),
            notes=tuple(str(note) for note in data["notes"]),
            functions=functions,
            why=str(data.get("why") or ""),
            estimates=tuple(
                None if one is None else load(Estimate, one) for one in data.get("estimates", ())
            ),
        )
    except (KeyError, TypeError, ValidationError) as error:
        logger.warning("the engine's compile report cannot be read: %s", error)
        return None


@dataclass(frozen=True)
class LineMessage:
    """A compiler's message; ``line`` counts from the kernel's first line, None if it gave none."""

    text: str
    line: int | None
    column: int | None


@dataclass(frozen=True)
class Timing:
    """A measured time in microseconds, with its interval, device and case."""

    median_us: float
    low_us: float
    high_us: float
    device: str
    case: str


@dataclass(frozen=True)
class ProfileFacts:
    """One profile of one kernel for one target. None means: not known, which is then said.

    ``correct`` is False only where a result was seen to be wrong; ``correct_why`` says what was
    seen, or why nothing was judged. ``launch`` is how the host code launched the kernel at the
    problem's shapes. ``findings`` are the profile's sentences, the heaviest first, each with the
    ids of issues it suggests. ``roof_percent`` is the share of the roofline that was measured.
    """

    kernel: str
    target: str
    compiled: bool | None
    registers: int | None
    spill_bytes: int | None
    shared_bytes: int | None
    shared_limit: int | None
    messages: tuple[LineMessage, ...]
    correct: bool | None
    time: Timing | None
    device: str | None
    notes: tuple[str, ...]
    correct_why: str = ""
    launch: LaunchFacts | None = None
    bottleneck: str | None = None
    findings: tuple[str, ...] = ()
    roof_percent: float | None = None
    taken: float = field(default_factory=now)


def read_profile(data: Mapping[str, Any], target: str, whole: Mapping[str, Any]) -> ProfileFacts:
    """One entry of the ``kernels`` of a whole ``profile`` result."""
    report = data.get("report") or {}
    first_line = int(data.get("line") or 1)
    timing = data.get("time")
    return ProfileFacts(
        kernel=str(data["name"]),
        target=_target_text(report.get("target"), target),
        compiled=report.get("ok"),
        registers=report.get("registers"),
        spill_bytes=report.get("spill_bytes"),
        shared_bytes=report.get("shared_bytes"),
        shared_limit=report.get("shared_limit"),
        messages=tuple(_message(m, first_line) for m in report.get("messages") or ()),
        correct=data.get("correct"),
        time=Timing(**{k: timing[k] for k in Timing.__annotations__}) if timing else None,
        device=timing["device"] if timing else whole.get("device"),
        notes=tuple(str(n) for n in (*(data.get("notes") or ()), *(whole.get("notes") or ()))),
        correct_why=str(data.get("correct_why") or ""),
        launch=read_launch(report.get("launch")),
        bottleneck=data.get("bottleneck"),
        findings=tuple(_finding(one) for one in _findings(data, whole)),
        roof_percent=_fact(data, "roof.percent"),
    )


def _fact(data: Mapping[str, Any], name: str) -> float | None:
    values = (one["value"] for one in data.get("facts") or () if one.get("name") == name)
    return next((float(value) for value in values), None)


def _findings(data: Mapping[str, Any], whole: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Those of the kernel, then those of the whole call."""
    return [*(data.get("findings") or ()), *((whole.get("call") or {}).get("findings") or ())]


def _finding(data: Mapping[str, Any]) -> str:
    ids = ", ".join(f"`{issue}`" for issue in data.get("suggests") or ())
    return f"{data['text']} ({ids})" if ids else str(data["text"])


def read_launch(data: Any) -> LaunchFacts | None:
    """A launch as the engine tells it; None, with a word in the log, if it cannot be read."""
    if data is None:
        return None
    try:
        return load(LaunchFacts, data)
    except ValidationError as error:
        logger.warning("a launch in a profile cannot be read: %s", error)
        return None


def _target_text(value: Any, default: str) -> str:
    if isinstance(value, Mapping):
        return f"{value['backend']}:{value['arch']}"
    return str(value) if value else default


def _message(data: Mapping[str, Any], first_line: int) -> LineMessage:
    line = data.get("line")
    relative = None if line is None else int(line) - first_line
    return LineMessage(str(data.get("text", "")), relative, data.get("column"))


@dataclass(frozen=True)
class Verified:
    """The evidence an applied edit came with, for the whole text it left behind."""

    evidence: str
    taken: float = field(default_factory=now)


class KernelFactStore:
    """Facts by key, the newest of each. ``revision`` counts the changes."""

    def __init__(self) -> None:
        self._profiled: LruDict[str, dict[str, ProfileFacts]] = LruDict(_REMEMBERED)
        self._compiled: LruDict[str, CompiledFacts] = LruDict(_REMEMBERED)
        self._verified: LruDict[str, Verified] = LruDict(_REMEMBERED)
        self._launches: LruDict[tuple[str, str], tuple[Issue, ...]] = LruDict(_REMEMBERED)
        self._failures: dict[tuple[JobKind, str], tuple[str, str]] = {}
        self.revision = 0

    def add_profile(self, key: str, facts: ProfileFacts) -> None:
        """Remember a profile, one for each target, under the key of its source."""
        self._profiled.put(key, {**(self._profiled.get(key) or {}), facts.target: facts})
        self.revision += 1

    def add_compiled(self, key: str, facts: CompiledFacts) -> None:
        """Remember what compilers made of a kernel under the key of its source."""
        self._compiled.put(key, facts)
        self.revision += 1

    def profiled(self, parsed: Parsed, snapshot: Snapshot, kernel: str) -> tuple[ProfileFacts, ...]:
        """The profiles of a kernel in its present state, newest first."""
        if not self._profiled:
            return ()
        found = self._profiled.get(facts_key(parsed, snapshot, kernel)) or {}
        return tuple(sorted(found.values(), key=lambda facts: -facts.taken))

    def compiled(self, parsed: Parsed, snapshot: Snapshot, kernel: str) -> CompiledFacts | None:
        """What compilers made of a kernel in its present state."""
        if not self._compiled:
            return None
        return self._compiled.get(facts_key(parsed, snapshot, kernel))

    def all_compiled(self, parsed: Parsed, snapshot: Snapshot) -> Iterator[CompiledFacts]:
        """The same of all of a document's kernels. Only files are compiled."""
        for kernel in parsed.module.kernels if snapshot.cell is None else ():
            if (facts := self.compiled(parsed, snapshot, kernel.name)) is not None:
                yield facts

    def compiled_for(self, parsed: Parsed, snapshot: Snapshot, kernel: str) -> frozenset[str]:
        """The targets that a kernel was compiled for; its profiles need not repeat the figures."""
        facts = self.compiled(parsed, snapshot, kernel)
        return frozenset(str(report.target) for report in facts.reports) if facts else frozenset()

    def launches(self, parsed: Parsed, snapshot: Snapshot) -> tuple[LaunchFacts, ...]:
        """A launch of each kernel that was captured; an inferred one is no ground."""
        found: dict[str, LaunchFacts] = {}
        for facts in self.all_compiled(parsed, snapshot):
            if facts.origin in ("spec", "captured") and facts.reports:
                found[facts.kernel] = facts.reports[0].launch
        for kernel in parsed.module.kernels:
            for profile in self.profiled(parsed, snapshot, kernel.name)[:1]:
                if profile.launch is not None:
                    found[kernel.name] = profile.launch
        return tuple(found.values())

    def add_imported_launches(self, snapshot: Snapshot, issues: tuple[Issue, ...]) -> bool:
        """Remember what a text's launches of imported kernels show; whether that is new."""
        if self.imported_launches(snapshot) == issues:
            return False
        self._launches.put((snapshot.uri, snapshot.hash), issues)
        self.revision += 1
        return True

    def imported_launches(self, snapshot: Snapshot) -> tuple[Issue, ...]:
        """What the launches of imported kernels in this very text showed when it was asked last."""
        return self._launches.get((snapshot.uri, snapshot.hash)) or ()

    def verify(self, text_hash: str, evidence: str) -> None:
        """Remember how far a text that was applied as an edit had been verified."""
        self._verified.put(text_hash, Verified(evidence))

    def verified(self, text_hash: str) -> Verified | None:
        """How far this very text was verified, if it came from here."""
        return self._verified.get(text_hash)

    def fail(self, kind: JobKind, snapshot: Snapshot, message: str) -> None:
        """Remember why a text could not be compiled, or not profiled."""
        self._failures[kind, snapshot.uri] = (snapshot.hash, message)
        self.revision += 1

    def failure(self, kind: JobKind, snapshot: Snapshot) -> str | None:
        """Why this very text could not be compiled, or not profiled, if that is so."""
        known = self._failures.get((kind, snapshot.uri))
        return known[1] if known is not None and known[0] == snapshot.hash else None

    def forget_failure(self, kind: JobKind, uri: str) -> None:
        self._failures.pop((kind, uri), None)
