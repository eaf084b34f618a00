"""What compilers and devices said of kernels, kept by what they were said of.

A fact is found again only under the key of the very source it came from, so that no number can
be shown for code it does not belong to.
"""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import time as now
from typing import Any

from pydantic import ValidationError

from tilewright.serialize import load
from tilewright.targets.model import LaunchFacts
from tilewright_server.analysis import Parsed
from tilewright_server.snapshot import Snapshot

logger = logging.getLogger(__name__)

_REMEMBERED = 512
_SPEC_SUFFIXES = (".yaml", ".yml")


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
class KernelFacts:
    """One profile of one kernel for one target. None means: not known, which is then said.

    ``correct`` is False only where a result was seen to be wrong; ``correct_why`` says what was
    seen, or why nothing was judged. ``launch`` is how the host code launched the kernel at the
    problem's shapes. ``findings`` are the profile's sentences, the heaviest first, each with the
    ids of issues it suggests.
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
    taken: float = field(default_factory=now)


def read_facts(data: Mapping[str, Any], target: str, whole: Mapping[str, Any]) -> KernelFacts:
    """One entry of the ``kernels`` of a whole ``profile`` result."""
    report = data.get("report") or {}
    first_line = int(data.get("line") or 1)
    timing = data.get("time")
    return KernelFacts(
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
    )


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


def facts_key(parsed: Parsed, snapshot: Snapshot, kernel: str) -> str:
    """Identity of all that a kernel's facts depend on: its source, and the spec next to it."""
    return f"{parsed.facts_keys.get(kernel)}:{spec_stamp(snapshot.path)}"


def spec_stamp(path: str | None) -> str:
    """A mark that changes with the spec next to a file; from its date, not its text."""
    if path is None:
        return ""
    for suffix in _SPEC_SUFFIXES:
        try:
            found = Path(path).with_suffix(suffix).stat()
        except (OSError, ValueError):
            continue
        return f"{suffix}:{found.st_mtime_ns}:{found.st_size}"
    return ""


@dataclass(frozen=True)
class Verified:
    """The evidence an applied edit came with, for the whole text it left behind."""

    evidence: str
    taken: float = field(default_factory=now)


class FactStore:
    """Facts by key and target; the newest of each. ``revision`` counts what was added."""

    def __init__(self) -> None:
        self._facts: OrderedDict[str, dict[str, KernelFacts]] = OrderedDict()
        self._failures: dict[str, tuple[str, str]] = {}
        self._verified: OrderedDict[str, Verified] = OrderedDict()
        self.revision = 0

    def add(self, key: str, facts: KernelFacts) -> None:
        """Remember facts under the key of the source they came from."""
        self._facts.setdefault(key, {})[facts.target] = facts
        self._facts.move_to_end(key)
        while len(self._facts) > _REMEMBERED:
            self._facts.popitem(last=False)
        self.revision += 1

    def of(self, parsed: Parsed, snapshot: Snapshot, kernel: str) -> tuple[KernelFacts, ...]:
        """Facts of a kernel's current text, newest first."""
        found = self._facts.get(facts_key(parsed, snapshot, kernel), {})
        return tuple(sorted(found.values(), key=lambda facts: -facts.taken))

    def launches(self, parsed: Parsed, snapshot: Snapshot) -> tuple[LaunchFacts, ...]:
        """The captured launches of a module's kernels, one of each that has been profiled."""
        newest = (self.of(parsed, snapshot, kernel.name)[:1] for kernel in parsed.module.kernels)
        return tuple(facts.launch for each in newest for facts in each if facts.launch)

    def verify(self, text_hash: str, evidence: str) -> None:
        """Remember how far a text that was applied as an edit had been verified."""
        self._verified[text_hash] = Verified(evidence)
        while len(self._verified) > _REMEMBERED:
            self._verified.popitem(last=False)

    def verified(self, text_hash: str) -> "Verified | None":
        """How far this very text was verified, if it came from here."""
        return self._verified.get(text_hash)

    def fail(self, uri: str, text_hash: str, message: str) -> None:
        """Remember why a text could not be profiled."""
        self._failures[uri] = (text_hash, message)
        self.revision += 1

    def failure(self, uri: str, text_hash: str) -> str | None:
        """Why this very text could not be profiled, if that is so."""
        known = self._failures.get(uri)
        return known[1] if known is not None and known[0] == text_hash else None

    def forget_failure(self, uri: str) -> None:
        self._failures.pop(uri, None)
