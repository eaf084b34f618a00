"""The claims on memory, in their small forms: what they print, and that a control can fail."""

import pytest
from claim_memory import ARMS, evidence
from claim_rewinds import evidence as of_rewinds


def test_rewinds_report_measurements_and_both_halves() -> None:
    found = of_rewinds("small").findings
    assert [one.claim.rpartition(", ")[2] for one in found[2:]] == [
        "open half", "open half", "blind half", "blind half",
    ]  # fmt: skip
    assert all("of" in one.found for one in found)


@pytest.mark.slow
def test_memory_is_compared_with_every_arm() -> None:
    found = evidence("small")
    assert len(found.findings) == 10
    assert [row[0] for row in found.tables[0].rows] == list(ARMS)
