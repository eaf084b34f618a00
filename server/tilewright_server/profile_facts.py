"""What a profile says of a kernel."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import time as now
from typing import Any

from pydantic import ValidationError

from tilewright.serialize import load
from tilewright.targets.model import LaunchFacts

logger = logging.getLogger(__name__)


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
