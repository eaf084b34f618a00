"""The claims on models, in their small form."""

import pytest
from claim_models import evidence


@pytest.mark.slow
def test_claims_on_models() -> None:
    messages, phases, replies, prefixes, caps = evidence("small").findings
    assert messages.low is not None
    assert messages.reached is (messages.low >= 0.25)
    assert "with one phase" in phases.found
    assert replies.found == "0 faults, 0 changes"
    assert prefixes.reached
    assert caps.reached
    assert float(prefixes.control.rpartition(" ")[2]) < float(prefixes.found.split()[0])
