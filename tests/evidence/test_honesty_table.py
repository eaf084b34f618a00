"""The tables of docs/honesty.md say what the verdicts in ``results`` say, of every candidate."""

import pytest
from candidates import NKI, candidates
from table import DOC, NKI_RESULTS, RESULTS, document, results


def test_the_document_is_up_to_date() -> None:
    text = DOC.read_text("utf-8")
    assert document(text) == text, "run: make honesty"


@pytest.mark.parametrize("name", [name for name, _ in (*RESULTS, *NKI_RESULTS)])
def test_no_cheat_was_accepted_and_nothing_honest_refused(name: str) -> None:
    found = results(name)
    accepted = [n for n, one in found.get("cheats", {}).items() if one["level"] != "rejected"]
    refused = [n for n, one in found.get("legit", {}).items() if one["level"] == "rejected"]
    assert (accepted, refused) == ([], [])


def test_every_candidate_was_judged_in_the_interpreter_if_it_can_be() -> None:
    found = results("interpreter")
    for folder in ("cheats", "legit"):
        expected = {one.name for one in candidates(folder) if not one.needs_gpu}
        assert expected <= set(found[folder]), "run tests/evidence/judge_all.py, then make honesty"


def test_every_nki_candidate_was_judged_in_the_simulator() -> None:
    found = results("neuron_sim")
    for folder in ("cheats", "legit"):
        expected = {one.name for one in candidates(folder, NKI)}
        assert expected <= set(found[folder]), "run tests/evidence/judge_all.py, then make honesty"
