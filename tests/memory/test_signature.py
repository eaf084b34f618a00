"""A signature stays the same while the kernel is changed, and tells problems apart."""

from dataclasses import replace
from pathlib import Path

import pytest
from memory_entries import ROWS

from tilewright.analysis.model import AnalysisContext
from tilewright.memory.rewinds import sites
from tilewright.memory.signature import related, signature_of
from tilewright.source import parse_module
from tilewright.targets.registry import parse_target

EXAMPLES = Path(__file__).parents[2] / "examples"
CONTEXT = AnalysisContext(parse_target("cuda:90"))
NAMES = ("matmul", "softmax", "linear_gelu", "layernorm")


@pytest.mark.parametrize("name", NAMES)
def test_rewinds_leave_the_signature_alone(name: str) -> None:
    path = EXAMPLES / f"{name}.py"
    module = parse_module(path.read_text(), str(path))
    before = signature_of(module, CONTEXT)
    for site in sites(module, CONTEXT)[:4]:
        after = parse_module(site.rewound.text, str(path))
        assert signature_of(after, CONTEXT).operations == before.operations, site.rewind.issue


def test_different_problems_have_different_signatures() -> None:
    found = {
        signature_of(parse_module(path.read_text(), str(path)), CONTEXT).operations
        for path in (EXAMPLES / f"{name}.py" for name in NAMES)
    }
    assert len(found) == len(NAMES)


@pytest.mark.parametrize(
    ("extents", "is_related"),
    [((8192, 2048), True), ((4096, 1024), True), ((4096, 77), False), ((), False)],
)
def test_equal_operations_are_related_at_equal_ratios(
    extents: tuple[int, ...], is_related: bool
) -> None:
    other = replace(ROWS, extents=extents)
    assert related(ROWS, other) is is_related
    assert related(ROWS, other, schedules=True)


def test_other_operations_types_and_chips_are_not_related() -> None:
    for other in (
        replace(ROWS, dot=True),
        replace(ROWS, dtypes=("fp32",)),
        replace(ROWS, chip="cuda:80"),
        replace(ROWS, rank=3),
    ):
        assert not related(ROWS, other)
        assert not related(ROWS, other, schedules=True)


def test_two_equal_extents_are_enough() -> None:
    one, other = (replace(ROWS, rank=3, extents=e) for e in ((8, 64, 32), (8, 64, 96)))
    assert related(one, other)
