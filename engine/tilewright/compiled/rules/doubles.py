"""Arithmetic in fp64 that no argument asked for."""

import ast
from collections.abc import Iterator
from typing import TypeGuard

from tilewright.compiled.model import Seen, Subject
from tilewright.compiled.places import known_line, line_range
from tilewright.targets.model import LaunchFacts, LineReport

_SMALLEST = 2.0**-126
_LARGEST = (2 - 2.0**-23) * 2.0**127


def double_precision(subject: Subject) -> Iterator[Seen]:
    """Lines that compute in fp64 though nothing fp64 is passed in; the first says it for all."""
    report = subject.report
    if not report.ok or given_doubles(report.launch):
        return
    lines = [x for x in report.lines if x.fp64 and known_line(subject.module, x.line)]
    if not lines:
        return
    total = sum(line.fp64 for line in lines)
    where, cause = _cause(subject, lines)
    yield Seen(
        line_range(subject.module, where),
        f"{many(total, 'instruction')} on {many(len(lines), 'line')} compute in fp64"
        f"{_rate(subject)}, though no argument is fp64: {cause}",
        "compute in fp32 unless the result needs more",
        amount=total,
    )


def given_doubles(launch: LaunchFacts) -> bool:
    """Whether an argument is fp64: then the kernel was asked for it."""
    return any("fp64" in a.type for a in launch.arguments)


def many(count: int, what: str) -> str:
    """``3 lines``, ``1 line``."""
    return f"{count} {what}{'s' if count > 1 else ''}"


def _cause(subject: Subject, lines: list[LineReport]) -> tuple[int, str]:
    """(the line on which it becomes fp64, how): from the text, else from the instructions."""
    for node in _nodes(subject):
        if isinstance(node, ast.Constant) and _beyond_fp32(value := node.value):
            return node.lineno, f"fp32 does not hold {value:g}, so Triton makes it fp64"
        named = isinstance(node, ast.Attribute) and node.attr == "float64"
        if named and isinstance(node, ast.Attribute):
            return node.lineno, "float64 is written here"
    return lines[0].line, "it begins on this line"


def _nodes(subject: Subject) -> list[ast.expr]:
    """Expressions of the kernel and of the helpers it calls, in the order of the text."""
    kernels = (subject.kernel, *subject.module.helpers_of(subject.kernel))
    found = [
        n for k in kernels for s in k.node.body for n in ast.walk(s) if isinstance(n, ast.expr)
    ]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _beyond_fp32(value: object) -> TypeGuard[float]:
    """Triton types a Python float as fp64 where fp32 cannot hold its magnitude."""
    return isinstance(value, float) and value != 0 and not _SMALLEST <= abs(value) <= _LARGEST


def _rate(subject: Subject) -> str:
    """How much slower the chip is in fp64, where the knowledge base says it."""
    peaks = subject.chip.peaks if subject.chip else {}
    single, double = peaks.get("fp32"), peaks.get("fp64")
    if not single or not double or double >= single:
        return ""
    return f" at 1/{round(single / double)} of fp32's rate"
