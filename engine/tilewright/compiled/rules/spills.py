"""Registers that do not hold what a kernel keeps alive."""

from collections.abc import Iterator
from dataclasses import replace

from tilewright.compiled.model import Seen, Subject
from tilewright.compiled.places import known_line, line_range, name_of
from tilewright.knowledge.model import HINT
from tilewright.source.text import Range
from tilewright.targets.model import CompileReport, LaunchFacts, LineReport

_LEAST_REGISTERS = 4
_LOOP_WEIGHT = 16
SMALL_MODE = 128
LARGE = "256"
# CUDA C++ Programming Guide: 64 Ki registers a multiprocessor, given out in multiples of 8.
_CUDA_REGISTERS = 65536
_CUDA_GRANULE = 8


def register_spill(subject: Subject) -> Iterator[Seen]:
    """More than a few registers go to memory and back, or some do in a loop."""
    report = subject.report
    spilled = spilled_registers(report)
    if not report.ok or not spilled or not report.spill_bytes:
        return
    busiest = _busiest(report)
    looping = busiest is not None and busiest.loop_depth > 0
    if (spilled < _LEAST_REGISTERS and not looping) or _held_by_other_mode(subject):
        return
    place = ", most of it in a loop" if looping else ""
    yield Seen(
        _where(subject, busiest),
        f"{_amount(report, spilled)}{place}: {_limit(subject)}",
        _advice(subject),
        amount=spilled * (_LOOP_WEIGHT if looping else 1),
        severity=HINT if _others_hold(subject) else None,
    )


def spilled_registers(report: CompileReport) -> int | None:
    """Registers that were spilled, in the backend's own kind; None if unknown."""
    if report.spill_bytes is None:
        return None
    if report.target.backend == "xpu":
        told = report.details.get("spilled_registers", 0)
        return int(told) if isinstance(told, int) else None
    stored = report.details.get("spill_store_bytes", report.spill_bytes)
    return -(-int(stored) // 4)


def _amount(report: CompileReport, spilled: int) -> str:
    if report.target.backend == "xpu":
        return f"{spilled} registers ({report.spill_bytes} bytes) of a hardware thread are spilled"
    stores, loads = (report.details.get(f"spill_{what}_bytes") for what in ("store", "load"))
    if stores is not None and loads is not None:
        return f"a thread writes {stores} and reads {loads} bytes of spilled registers"
    return f"{spilled} registers ({report.spill_bytes} bytes) of a thread are spilled"


def _limit(subject: Subject) -> str:
    """What bounds a thread's registers here."""
    report, launch = subject.report, subject.launch
    if report.target.backend == "xpu":
        return f"a hardware thread has {report.registers} registers in this mode"
    asked = launch.options.get("maxnreg")
    if isinstance(asked, int) and report.registers is not None and report.registers <= asked:
        return f"maxnreg={asked} leaves a thread no more"
    by_warps = _by_warps(report)
    if by_warps is not None:
        return f"num_warps={report.details['warps']} leaves a thread {by_warps} registers"
    most = subject.chip.max_registers if subject.chip else report.registers
    return f"a thread has {most} registers at most"


def _by_warps(report: CompileReport) -> int | None:
    """Registers a thread of NVIDIA's can have if a program has so many warps; None: no bound."""
    warps = report.details.get("warps")
    if report.target.backend != "cuda" or not isinstance(warps, int):
        return None
    share: int = _CUDA_REGISTERS // (warps * 32) // _CUDA_GRANULE * _CUDA_GRANULE
    return share if share < 255 else None


def _advice(subject: Subject) -> str:
    if isinstance(subject.launch.options.get("maxnreg"), int):
        return "raise maxnreg, or use smaller tiles"
    if _by_warps(subject.report) is not None:
        return "use smaller tiles, or fewer warps with smaller tiles"
    return "use smaller tiles, or more warps to share them"


def _busiest(report: CompileReport) -> LineReport | None:
    """The line with most spill traffic; one in a loop counts for many."""

    def traffic(line: LineReport) -> int:
        return (line.spill_loads + line.spill_stores) * int(_LOOP_WEIGHT**line.loop_depth)

    busiest = max(report.lines, key=traffic, default=None)
    return busiest if busiest is not None and traffic(busiest) else None


def _where(subject: Subject, busiest: LineReport | None) -> Range:
    if busiest is None or not known_line(subject.module, busiest.line):
        return name_of(subject.kernel)
    return line_range(subject.module, busiest.line)


def _others_hold(subject: Subject) -> bool:
    """Whether another configuration for the same chip does not spill: a tuner may choose it."""
    report = subject.report
    same = [r for r in subject.reports if r.target == report.target and r.ok]
    return any(r.spill_bytes == 0 and _arguments(r) == _arguments(report) for r in same)


def _held_by_other_mode(subject: Subject) -> bool:
    """Whether Intel's other register mode is known to hold it all: another issue says so."""
    if subject.backend != "xpu" or subject.report.registers != SMALL_MODE:
        return False
    other = subject.probed(with_mode(subject.launch, LARGE))
    return other is not None and spilled_registers(other) == 0


def with_mode(launch: LaunchFacts, mode: str) -> LaunchFacts:
    """The launch with a register mode, in the words of Triton 3.6 that the worker translates."""
    return replace(launch, options={**launch.options, "grf_mode": mode})


def _arguments(report: CompileReport) -> tuple[object, ...]:
    """Arguments that no configuration sets."""
    return tuple(a for a in report.launch.arguments if a.kind != "constexpr")
