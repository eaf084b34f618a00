"""Products in a cheaper order, where only the problem's spec knows the extents."""

import pytest

from tilewright.analysis import AnalysisContext, analyze
from tilewright.analysis.model import EntryFacts
from tilewright.source import parse_module
from tilewright.targets.model import ArgumentFacts

TEXT = """
@triton.jit
def fill(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

def project(a, b, v):
    fill[(1,)](a, BLOCK=128)
    return (a @ b) @ v
"""


def entry(function: str, *shapes: tuple[int, ...]) -> AnalysisContext:
    arguments = tuple(ArgumentFacts("", "tensor", "*fp32", None, shape) for shape in shapes)
    return AnalysisContext(entry=EntryFacts(function, arguments))


def lines(context: AnalysisContext) -> list[int]:
    issues = analyze(parse_module(TEXT), context)
    return [i.range.line for i in issues if i.id == "associativity_reorder"]


def test_the_spec_tells_the_extents() -> None:
    assert lines(entry("project", (4096, 512), (512, 4096), (4096, 8))) == [8]


@pytest.mark.parametrize(
    "context",
    [
        AnalysisContext(),
        entry("other", (4096, 512), (512, 4096), (4096, 8)),
        entry("project", (8, 512), (512, 512), (512, 4096)),
        entry("project", (64, 4096, 512), (512, 4096), (4096, 8)),
        entry("project", (4096, 512), (512, 4096)),
    ],
    ids=["no spec", "another function", "cheap order", "batched", "an extent missing"],
)
def test_nothing_is_said_where_the_order_is_cheap_or_not_known(context: AnalysisContext) -> None:
    assert lines(context) == []
