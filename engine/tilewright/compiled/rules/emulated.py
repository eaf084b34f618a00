"""Arithmetic that the chip has no instructions for, or hardly any units."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.compiled.model import Seen, Subject
from tilewright.compiled.places import known_line, line_range, place_of
from tilewright.compiled.rules.doubles import given_doubles, many
from tilewright.knowledge.model import ADVICE
from tilewright.targets.assembly.emulation import Emulated
from tilewright.targets.model import LineReport

_LOOP_WEIGHT = 16
_FEW_UNITS = 16
"""fp64 at this part of fp32's rate, or less, is there for completeness alone."""

# From the code of `i // n`, `tl.sin(x)` and the like, by ptxas 12.9, 13.4 and Triton 3.9's LLVM.
_EACH = {Emulated.DIVISION: "some 20", Emulated.DIVISION_64: "40 to 150"}
_LEAST = {Emulated.DIVISION: 20, Emulated.DIVISION_64: 40}
"""Instructions of one operation, of those that NVIDIA's report counts as one."""
_SHARE = 0.1
"""Of all that a thread executes: what is less is not worth a word."""
_FP8_OF = {
    "gfx942": "tl.float8e4b8 and tl.float8e5b16",
    "gfx950": "tl.float8e4nv and tl.float8e5",
}


@dataclass(frozen=True)
class _Found:
    """What of a kind a kernel has, on all its lines.

    Attributes:
        count: operations a thread.
        worst: the line that costs most.
    """

    count: int
    worst: LineReport
    lines: int
    instructions: int

    @property
    def where(self) -> str:
        """``on 3 lines``; nothing of one."""
        return f" on {self.lines} lines" if self.lines > 1 else ""


@dataclass(frozen=True)
class _Words:
    """What is said of a kind: what is so, what to do, on which calls, how bad."""

    what: Callable[[_Found], str]
    do: Callable[[Subject], str]
    calls: tuple[str, ...] = ()
    severity: int | None = ADVICE


def emulated_instructions(subject: Subject) -> Iterator[Seen]:
    """What a thread computes in many instructions, once a kind; and slow fp64."""
    if not subject.report.ok:
        return
    lines = [line for line in subject.report.lines if known_line(subject.module, line.line)]
    total = sum(_weight(line) * _instructions(line) for line in subject.report.lines)
    for kind, words in _WORDS.items():
        own = [line for line in lines if line.emulated.get(kind)]
        spent = sum(_weight(line) * _instruction_count(line, kind) for line in own)
        if own and (spent >= _SHARE * total or kind is Emulated.ATOMIC):
            yield _observation(subject, own, kind, words)
    yield from _slow_doubles(subject)


def _weight(line: LineReport) -> int:
    """How often a line may run, by its loops."""
    return int(_LOOP_WEIGHT ** min(line.loop_depth, 2))


def _instruction_count(line: LineReport, kind: Emulated) -> int:
    """Instructions of a line that go into a kind."""
    least = line.emulated[kind] * _LEAST.get(kind, 0)
    return least or line.instructions


def _instructions(line: LineReport) -> int:
    """All that a line comes to."""
    least = sum(line.emulated.get(kind, 0) * each for kind, each in _LEAST.items())
    return max(line.instructions, least)


def _observation(
    subject: Subject, lines: Sequence[LineReport], kind: Emulated, words: _Words
) -> Seen:
    def amount(line: LineReport) -> int:
        return line.emulated[kind] * _weight(line)

    found = _Found(
        sum(line.emulated[kind] for line in lines),
        max(lines, key=amount),
        len(lines),
        sum(line.instructions for line in lines),
    )
    return Seen(
        place_of(subject.module, found.worst.line, *words.calls),
        words.what(found),
        words.do(subject),
        amount=sum(map(amount, lines)),
        severity=words.severity,
    )


def _division(kind: Emulated, of: str) -> Callable[[_Found], str]:
    return lambda found: (
        f"each thread divides {many(found.count, of)}{found.where} by what the compiler does "
        f"not know, in {_EACH[kind]} instructions each"
    )


def _reduction(found: _Found) -> str:
    return (
        f"each thread reduces {many(found.count, 'argument')} of sine or cosine{found.where} to "
        "one period, exactly for the largest of them, in some 100 instructions each"
    )


def _without_reduction(subject: Subject) -> str:
    if subject.backend == "cuda":
        return "where arguments are small, call libdevice.fast_sinf or fast_cosf"
    return "take them from a table that is made once, or compute them once for several rows"


def _bf16(found: _Found) -> str:
    return (
        f"each of {found.count} bf16 operations a thread{found.where} is made in fp32 and rounded"
    )


def _fp8(found: _Found) -> str:
    return (
        f"each thread converts {many(found.count, 'element')} from or to fp8{found.where} bit by "
        f"bit, in {found.instructions} instructions"
    )


def _other_fp8(subject: Subject) -> str:
    known = _FP8_OF.get(subject.report.target.arch)
    if known is not None:
        return f"the chip itself converts {known}"
    return "convert outside of loops, or keep 16 bits on this chip"


def _atomic(found: _Found) -> str:
    return (
        f"each of {found.count} atomic operations a thread{found.where} is a loop that compares "
        "and swaps until no other program came between"
    )


def _other_atomic(subject: Subject) -> str:
    if subject.backend == "cuda":
        return "accumulate in a tensor of fp32, whose atomics are one instruction"
    return "let fewer programs meet, or store partial results that another kernel adds up"


def _slow_doubles(subject: Subject) -> Iterator[Seen]:
    """fp64 that was asked for, on a chip that computes it at a small part of its rate."""
    peaks = subject.chip.peaks if subject.chip else {}
    single, double = peaks.get("fp32"), peaks.get("fp64")
    if not given_doubles(subject.launch) or not single or not double:
        return
    share = round(single / double)
    lines = [x for x in subject.report.lines if x.fp64 and known_line(subject.module, x.line)]
    if share < _FEW_UNITS or not lines:
        return
    total = sum(line.fp64 for line in lines)
    yield Seen(
        line_range(subject.module, lines[0].line),
        f"{total} instructions compute in fp64, as its arguments are, at 1/{share} of fp32's rate",
        "pass fp32 where the result needs no more, or run it on a chip that is made for fp64",
        amount=total,
        severity=ADVICE,
    )


def _always(text: str) -> Callable[[Subject], str]:
    return lambda _: text


_WORDS: Mapping[Emulated, _Words] = {
    Emulated.DIVISION: _Words(
        _division(Emulated.DIVISION, "integer"),
        _always("make the divisor a tl.constexpr, or divide once a program or row"),
    ),
    Emulated.DIVISION_64: _Words(
        _division(Emulated.DIVISION_64, "64-bit integer"),
        _always("divide 32-bit integers where they hold it, or make the divisor a tl.constexpr"),
        severity=None,
    ),
    Emulated.REDUCTION: _Words(_reduction, _without_reduction, ("sin", "cos")),
    Emulated.BF16: _Words(_bf16, _always("convert to fp32 before, and back once behind")),
    Emulated.FP8: _Words(_fp8, _other_fp8),
    Emulated.ATOMIC: _Words(
        _atomic,
        _other_atomic,
        ("atomic_add", "atomic_max", "atomic_min"),
        severity=None,
    ),
}
