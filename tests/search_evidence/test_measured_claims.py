"""The claims on measured kernels in their small form: numbers of the tables, and controls."""

import math

import pytest
from claim_real_kernels import evidence as on_real_kernels
from claim_tiling import evidence as on_tilings


@pytest.mark.slow
def test_claims_on_real_kernels_are_measured_on_the_tables() -> None:
    found = on_real_kernels("small")
    assert "2 kernels" in found.machine
    assert all(one.reached is not None and one.control for one in found.findings)
    shapes, *budgets = found.tables
    assert [row[0] for row in shapes.rows] == ["matmul", "softmax"]
    at_most_one = [float(cell.split()[0]) for row in budgets[0].rows for cell in row[1:4]]
    assert all(0 <= share <= 1 for share in at_most_one)
    for panel in found.figures[0].panels:
        for curve in panel.curves:
            assert list(curve.y) == sorted(curve.y), "the best so far never gets worse"


def test_tilings_are_judged_by_rounds_they_were_not_grown_from() -> None:
    found = on_tilings("small")
    claim, elsewhere, on_l1 = found.findings
    assert "4 kernels" in claim.landscape
    assert claim.low is not None
    assert math.isfinite(claim.low)
    assert claim.control.startswith("a list grown from the times of other shapes")
    assert "left out" in elsewhere.landscape
    assert len(found.tables[0].rows) == 4
    assert on_l1.reached is False, "two kernels, whose lists fail at other shapes"
    assert [row[0] for row in found.tables[1].rows] == ["matmul", "softmax"]
