"""Matrix products that did not become tensor instructions."""

import ast
from collections.abc import Iterator

from tilewright.analysis.tiles import TileFacts
from tilewright.compiled.model import Seen, Subject
from tilewright.compiled.places import calls_on, known_line, place_of
from tilewright.knowledge.model import HINT
from tilewright.targets.model import CompileReport, LineReport

_DOTS = ("dot", "dot_scaled")
_TAKEN = ("fp16", "bf16", "i8", "fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16")
_LOOK = "look at the operands' layouts in `tilewright compile --emit ttgir`"
_UNITS = {"cuda": "tensor cores", "hip": "matrix cores", "xpu": "matrix engines"}


def dot_without_tensor_unit(subject: Subject) -> Iterator[Seen]:
    """A line that asks for a product and holds no tensor instruction."""
    report = subject.report
    if not report.ok or not _code_was_read(report) or _placed_elsewhere(report):
        return
    for line in report.lines:
        if line.dots and not line.tensor and known_line(subject.module, line.line):
            yield _observation(subject, line)


def _observation(subject: Subject, line: LineReport) -> Seen:
    unit = _UNITS[subject.backend]
    calls = calls_on(subject.module, line.line, *_DOTS)
    reason, do, asked = _reason(subject, calls[0] if len(calls) == 1 else None)
    return Seen(
        place_of(subject.module, line.line, *_DOTS),
        f"this product runs as {line.instructions} scalar instructions and not on the {unit}"
        f"{reason}",
        do,
        amount=line.instructions,
        severity=HINT if asked else None,
    )


def _reason(subject: Subject, call: ast.Call | None) -> tuple[str, str, bool]:
    """(why, what to do, whether the text asks for it)."""
    unknown = (", for a reason that the compile report does not contain", _LOOK, False)
    if call is None or len(call.args) < 2:
        return unknown
    first, second = (subject.tiles.facts_at(argument) for argument in call.args[:2])
    precision = _precision(call)
    dtype = first.dtype if first.dtype == second.dtype else None
    if dtype == "fp32" and precision in ("ieee", None) and _scalar_fp32(subject, precision):
        why = "the call asks for full fp32" if precision else "its operands are fp32"
        do = "'tf32x3' nearly keeps the precision of fp32 there, 'tf32' and 16 bits are faster"
        if subject.backend != "cuda":
            do = "cast both operands to fp16 or bf16 if the result may lose that precision"
        return f": {why}", do, precision is not None
    if dtype == "fp64":
        return ": its operands are fp64", "use fp32 operands if their precision is enough", False
    if small := _small(first, second):
        return f": {small}", "make each extent at least 16, and K at least 32 bytes", False
    if dtype is None:
        return _of_two_types(first, second) or unknown
    if dtype not in _TAKEN or _is_lacking(subject, dtype):
        taken = "fp16" if _is_lacking(subject, "bf16") else "fp16 or bf16"
        why = f": its operands are {dtype}"
        if dtype in _TAKEN:
            why += f", which the {_UNITS[subject.backend]} of {subject.report.target} do not take"
        return why, f"operands of {taken} reach it", False
    return unknown


def _of_two_types(first: TileFacts, second: TileFacts) -> tuple[str, str, bool] | None:
    if first.dtype is None or second.dtype is None or first.dtype == second.dtype:
        return None
    why = f": its operands are {first.dtype} and {second.dtype}"
    return why, "cast both operands to the same type of 16 bits", False


def _is_lacking(subject: Subject, dtype: str) -> bool:
    """Whether the chip's figures name no rate for products of a type."""
    rates = subject.chip.rates if subject.chip is not None else None
    if rates is None:
        return False
    name = "int8" if dtype == "i8" else "fp8" if dtype.startswith("fp8") else dtype
    return name not in rates.tensor_flops


def _scalar_fp32(subject: Subject, precision: str | None) -> bool:
    """Whether fp32 operands explain it: NVIDIA's default for them is tf32."""
    return precision == "ieee" or subject.backend != "cuda"


def _precision(call: ast.Call) -> str | None:
    """What the call itself states."""
    for keyword in call.keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if keyword.arg == "input_precision" and isinstance(value, str):
            return value
        if keyword.arg == "allow_tf32" and isinstance(value, bool):
            return "tf32" if value else "ieee"
    return None


def _small(first: TileFacts, second: TileFacts) -> str:
    """The extents, where one is below the matrix instructions' least."""
    if not first.shape or not second.shape:
        return ""
    extents = (*first.shape[-2:], second.shape[-1])
    if not all(isinstance(extent, int) for extent in extents):
        return ""
    m, k, n = extents
    return f"M, N, K are {m}, {n}, {k}" if min(int(m), int(n), int(k)) < 16 else ""  # type: ignore[arg-type]


def _code_was_read(report: CompileReport) -> bool:
    return any(line.instructions for line in report.lines)


def _placed_elsewhere(report: CompileReport) -> bool:
    """Whether tensor instructions stand on lines that ask for none: then no line is sure."""
    return any(line.tensor and not line.dots for line in report.lines)
