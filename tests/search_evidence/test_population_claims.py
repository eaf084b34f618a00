"""The claims on populations and on the loop, in their small form."""

import pytest
from claim_loop import evidence as of_the_loop
from claim_populations import evidence as of_populations


def test_the_loop_is_the_staged_search_and_loses_nothing() -> None:
    staged, kept = of_the_loop("small").findings
    assert staged.reached, staged
    assert kept.reached, kept


@pytest.mark.slow
def test_populations_are_compared_on_the_same_landscapes() -> None:
    found = of_populations("small")
    (table,) = found.tables
    assert len(table.rows) == 10
    assert len(found.findings) == 7
    (figure,) = found.figures
    assert [panel.title for panel in figure.panels] == ["independent", "valley", "deceptive"]
    assert all(0 <= y <= 1.001 for panel in figure.panels for c in panel.curves for y in c.y)
    assert all(one.low is not None and one.low <= one.high for one in found.findings)
