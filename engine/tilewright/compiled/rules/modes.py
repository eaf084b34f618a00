"""Intel's register modes: 128 registers a hardware thread, or 256 and half as many threads."""

from collections.abc import Iterator

from tilewright.compiled.model import Seen, Subject
from tilewright.compiled.places import name_of
from tilewright.compiled.rules.spills import LARGE, SMALL_MODE, spilled_registers, with_mode
from tilewright.knowledge.model import HINT
from tilewright.targets.model import LaunchFacts

_LARGE = 256
_MOST_WARPS = 32


def register_mode(subject: Subject) -> Iterator[Seen]:
    """Spills that the other mode holds, or a large mode that holds nothing more."""
    report = subject.report
    if subject.backend != "xpu" or not report.ok:
        return
    if report.registers == SMALL_MODE and spilled_registers(report):
        yield from _too_small(subject)
    elif report.registers == _LARGE and _asked_for_large(report.launch):
        yield from _too_large(subject)


def _too_small(subject: Subject) -> Iterator[Seen]:
    spilled = spilled_registers(subject.report)
    warps = subject.report.details.get("warps", 0)
    if not isinstance(warps, int) or warps > _MOST_WARPS:
        return
    other = subject.probed(with_mode(subject.launch, LARGE))
    if other is None or spilled is None:
        return
    left = spilled_registers(other)
    if other.registers != _LARGE or left is None or left >= spilled:
        return
    result = f"spill {left}" if left else "hold it without spills"
    yield Seen(
        name_of(subject.kernel),
        f"{SMALL_MODE} registers a hardware thread spill {spilled}, and {_LARGE} {result}",
        "compile with grf_mode='256' ('large' before Triton 3.6), which halves how many hardware "
        "threads a vector engine keeps",
        amount=spilled,
    )


def _too_large(subject: Subject) -> Iterator[Seen]:
    other = subject.probed(with_mode(subject.launch, "128"))
    if other is None or other.registers != SMALL_MODE or spilled_registers(other) != 0:
        return
    yield Seen(
        name_of(subject.kernel),
        f"grf_mode={subject.launch.options['grf_mode']!r} gives a hardware thread {_LARGE} "
        f"registers, and {SMALL_MODE} hold it without spills",
        "leave the mode out: with 128 a vector engine keeps twice as many hardware threads",
        severity=HINT,
    )


def _asked_for_large(launch: LaunchFacts) -> bool:
    return str(launch.options.get("grf_mode")) in ("256", "large")
