"""Loads and stores that move less at a time than their tile allows."""

from collections.abc import Iterator

from tilewright.analysis.values import Access as Place
from tilewright.compiled.causes import (
    Cause,
    Kind,
    accesses_on,
    against_the_order,
    causes_of,
    without_causes,
)
from tilewright.compiled.model import Seen, Subject
from tilewright.compiled.places import known_line, place_of
from tilewright.figures import enumerated
from tilewright.targets.model import Access, CompileReport, LineReport

_MEMORY = ("load", "store", "async_copy")
_WIDE_BITS = 32
_TIMES = 4
_TURNED = (
    ", because the tensor cores take fp32 operands in the order of K only, and this tile is "
    "contiguous along {}"
)
_TURN = "store the operand the other way around, or multiply in bf16 or fp16"


def unvectorized_access(subject: Subject) -> Iterator[Seen]:
    """Narrow accesses of which the reason is known, and confirmed where a probe can."""
    if not subject.report.ok or subject.backend == "xpu":
        return  # an access of Intel's is a gather or a block: another rule's
    for line in subject.report.lines:
        narrow = narrowest(line)
        places = accesses_on(subject, line.line) if narrow else ()
        if narrow is not None and len(places) == 1 and known_line(subject.module, line.line):
            yield from _observations(subject, line, narrow, places[0])


def narrowest(line: LineReport) -> Access | None:
    """The narrow kind of access that most of a line's accesses are; None if they are wide."""
    moving = [a for a in line.accesses if a.space == "global" and a.kind in _MEMORY]
    most = max(moving, key=lambda a: a.count, default=None)
    return most if most is not None and _is_narrow(most) else None


def _is_narrow(access: Access) -> bool:
    """A coalesced access of 32 bits is narrow only where four times that would fit."""
    bits, best = access.bits, access.best_bits
    if bits is None or best is None:
        return False
    return best >= bits * (2 if bits < _WIDE_BITS else _TIMES)


def _observations(
    subject: Subject, line: LineReport, narrow: Access, place: Place
) -> Iterator[Seen]:
    bits, best = narrow.bits, narrow.best_bits
    told = _reason_and_advice(subject, line, narrow, place)
    if told is None or bits is None or best is None:
        return
    why, do = told
    yield Seen(
        place_of(subject.module, line.line, place.kind),
        f"this {place.kind} moves {_bytes(bits)} a thread at a time where {best // 8} fit{why}",
        do,
        amount=best / bits,
    )


def _reason_and_advice(
    subject: Subject, line: LineReport, narrow: Access, place: Place
) -> tuple[str, str] | None:
    """(why, what to do); None where no reason is known, or the probe refutes it."""
    causes = causes_of(subject, place)
    if not causes:
        order = against_the_order(subject, place)
        return (_TURNED.format(order), _TURN) if order else None
    confirmed = ""
    # What the text's own types hide, no other launch can show.
    if subject.probe is not None and not all(cause.hidden for cause in causes):
        wider = _confirmed(subject, line.line, causes)
        if wider is None or narrow.bits is None or wider <= narrow.bits:
            return None
        confirmed = f" (compiled with {_asserted(causes)} it moves {_bytes(wider)})"
    return f"{confirmed}, because {_reasons_text(causes)}", _advice(causes)


def _confirmed(subject: Subject, line: int, causes: tuple[Cause, ...]) -> int | None:
    """Bits that the line's accesses move if the compiler gets the hint."""
    report = subject.probed(without_causes(subject.launch, causes))
    return None if report is None else _widest(report, line)


def _widest(report: CompileReport, line: int) -> int | None:
    moving = [
        access.bits
        for one in report.lines
        if one.line == line
        for access in one.accesses
        if access.space == "global" and access.kind in _MEMORY and access.bits is not None
    ]
    return max(moving, default=None)


def _bytes(bits: int) -> str:
    return f"{bits // 8} bytes" if bits > 8 else "1 byte"


def _asserted(causes: tuple[Cause, ...]) -> str:
    strides = [f"{c.argument.name} = 1" for c in causes if c.kind is Kind.STRIDE]
    even = list(dict.fromkeys(c.argument.name for c in causes if c.kind is not Kind.STRIDE))
    parts = [*strides, *([f"{enumerated(even)} divisible by 16"] if even else [])]
    return " and ".join(parts)


def _reasons_text(causes: tuple[Cause, ...]) -> str:
    by_argument: dict[str, list[Cause]] = {}
    for cause in causes:
        by_argument.setdefault(cause.argument.name, []).append(cause)
    return " and ".join(_reason(found) for found in by_argument.values())


def _reason(causes: list[Cause]) -> str:
    """What is not known of one argument."""
    argument = causes[0].argument
    name, value = argument.name, argument.value
    kinds = {cause.kind for cause in causes}
    if Kind.STRIDE in kinds:
        if value == 1:
            return f"{name} is 1 at this launch and its type keeps the compiler from knowing"
        if value is None:
            return f"{name}, the stride between neighbours, is not known to be 1"
        return f"neighbours are {name} = {value} elements apart"
    if Kind.POINTER in kinds:
        return f"{name} does not begin at a multiple of 16 bytes"
    does = {
        Kind.STEP: f"rows begin at multiples of {name}",
        Kind.BOUND: f"the mask ends at {name}",
    }
    said = " and ".join(text for kind, text in does.items() if kind in kinds)
    return f"{said}{_valued(value)}, which is not divisible by 16"


def _valued(value: object) -> str:
    return "" if value is None else f" = {value}"


def _advice(causes: tuple[Cause, ...]) -> str:
    kinds = {cause.kind for cause in causes}
    if Kind.STRIDE in kinds:
        one = all(c.argument.value == 1 for c in causes if c.kind is Kind.STRIDE)
        if one:
            return "drop the annotation, or make the parameter a tl.constexpr"
        return (
            "pass a tensor that is contiguous along this axis, or let the tile run along the other"
        )
    if Kind.POINTER in kinds:
        return "pass a tensor that begins at a multiple of 16 bytes, as a fresh allocation does"
    names = enumerated(list(dict.fromkeys(c.argument.name for c in causes)))
    return f"pad to a multiple of 16, so that the JIT specializes on {names}"
