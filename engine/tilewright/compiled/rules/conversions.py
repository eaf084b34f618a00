"""Tiles that change hands between threads in each iteration of a loop."""

import ast
from collections.abc import Iterator

from tilewright.analysis.nodes import nodes_of
from tilewright.compiled.model import Seen, Subject
from tilewright.compiled.places import calls_on, known_line, line_range
from tilewright.targets.model import LineReport

# A vector's elements take one or two accesses a thread; a tile's more.
_LEAST_ACCESSES = 4
# These go through shared memory themselves, whatever the layouts are.
_THROUGH_SHARED = (
    "dot", "dot_scaled", "sum", "max", "min", "argmax", "argmin", "reduce", "cumsum", "cumprod",
    "associative_scan", "sort", "topk", "histogram", "gather", "softmax", "xor_sum",
)  # fmt: skip


def layout_conversion_in_loop(subject: Subject) -> Iterator[Seen]:
    """Conversions of whole tiles that the compiler left in a loop, through shared memory."""
    if not subject.report.ok:
        return
    for line in subject.report.lines:
        if not line.conversions or not line.loop_depth or not known_line(subject.module, line.line):
            continue
        written, read = _shared(line, "store"), _shared(line, "load")
        if min(written, read) < _LEAST_ACCESSES or _needs_shared(subject, line):
            continue
        if _is_flat(subject, line.line) or _between_products(subject, line):
            continue
        yield Seen(
            line_range(subject.module, line.line),
            "each iteration of the loop moves a tile of this line from one layout to another "
            f"through shared memory ({written} stores and {read} loads a thread)",
            "let the tiles that meet be loaded in the same order and shape, or take the change "
            "out of the loop",
            amount=written + read,
        )


def _needs_shared(subject: Subject, line: LineReport) -> bool:
    """Whether the line does what goes through shared memory by itself."""
    return bool(line.dots or calls_on(subject.module, line.line, *_THROUGH_SHARED))


def _is_flat(subject: Subject, line: int) -> bool:
    """Whether the line's tiles have one dimension: there the element sizes decide the layouts."""
    kernel = subject.module.kernel_at(line)
    if kernel is None or kernel is not subject.kernel:
        return False
    nodes = (n for n in nodes_of(kernel.node) if isinstance(n, ast.expr) and n.lineno == line)
    ranks = [
        len(facts.shape) for n in nodes if (facts := subject.tiles.facts_at(n)).shape is not None
    ]
    return max(ranks, default=2) < 2


def _between_products(subject: Subject, line: LineReport) -> bool:
    """Whether a product is in a loop within this one: a turn is a whole tile of the result."""
    return any(x.dots and x.loop_depth > line.loop_depth for x in subject.report.lines)


def _shared(line: LineReport, kind: str) -> int:
    """Accesses of shared memory; an operand of a product is only written where it is loaded."""
    return sum(a.count for a in line.accesses if a.space == "shared" and a.kind == kind)
