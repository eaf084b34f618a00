"""The claims on memory, in their small forms: what they print, and that a control can fail."""

import pytest
from claim_memory import ARMS, evidence
from claim_real_memory import bank_of, shuffled
from claim_real_memory import evidence as on_real_kernels
from claim_rewinds import evidence as of_rewinds
from tabulated import FILE


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


@pytest.mark.slow
def test_a_bank_of_real_kernels_holds_issues_and_its_control_deals_them_anew() -> None:
    held = bank_of(["softmax"], FILE)
    found = {(one.key, one.issue, one.outcome.value) for one in held.experiences}
    assert ("rewrite:single_pass_row", "multi_pass_row", "helped") in found
    dealt = shuffled(held)
    keys = [[one.key for one in bank.experiences] for bank in (held, dealt)]
    assert keys[0] != keys[1]
    assert sorted(keys[0]) == sorted(keys[1])
    evidence = on_real_kernels("small")
    assert [one.claim.startswith("A bank of") for one in evidence.findings] == [True] * 4
    assert [row[0] for row in evidence.tables[0].rows] == ["matmul", "softmax"]
    assert all(one.low is not None and one.low <= one.high for one in evidence.findings)
