"""Random edits and requests: the server's text, ranges and versions are those of a plain model."""

import pytest
from random_session import ENCODINGS, RandomSession


@pytest.mark.parametrize(("seed", "encoding"), list(enumerate(ENCODINGS)))
def test_a_session_of_chance_keeps_text_and_ranges(
    seed: int, encoding: str, forked_server: list[str]
) -> None:
    outcome = RandomSession(seed, encoding, tuple(forked_server)).run(250)
    assert outcome.faults == []
    assert outcome.checked_ranges > 100


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "encoding"), list(enumerate(ENCODINGS)))
def test_a_long_session_stays_in_memory(seed: int, encoding: str) -> None:
    outcome = RandomSession(100 + seed, encoding).run(1_500)
    assert outcome.faults == []
    early, middle = outcome.memory_mib[0], outcome.memory_mib[4]
    assert middle < early + 60, "a leak of every version would take more"
