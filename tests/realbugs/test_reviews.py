"""Recorded reviews: they are of the cases, and what they have found stays found."""

import pytest
from case_results import first_sight, recorded
from reported_cases import FOLDER, Folder, cases, loaded
from review_record import (
    FIRST_RUN,
    VERSIONS,
    first_run,
    is_found,
    judgements,
    recorded_reviews,
    replies,
    shares,
)

from tilewright.agents import reviewer
from tilewright.agents.reviewer import Review

_KNOWN = 85.0
_BLIND = 70.0
_WRONG = 2.0


def test_replies_records_and_verdicts_are_of_the_cases() -> None:
    known = {(case.name, version) for case in cases() for version in VERSIONS}
    assert set(replies()) <= known
    assert set(recorded_reviews()) == set(replies())
    assert set(judgements()) <= set(replies())


@pytest.mark.parametrize("folder", FIRST_RUN)
def test_a_first_run_is_of_the_replies_of_its_folder(folder: Folder) -> None:
    names = {case.name for case in cases() if case.folder is folder}
    assert {key for key in replies() if key[0] in names} == set(first_run(folder))


@pytest.mark.parametrize("folder", FIRST_RUN)
def test_what_a_first_run_found_is_found(folder: Folder) -> None:
    given = [case for case in cases() if case.folder is folder]
    found = {case.name for case in given if is_found(case, first_run(folder))}
    assert found <= {case.name for case in given if is_found(case, recorded_reviews())}


def test_text_and_reviews_find_what_the_file_decides() -> None:
    known = [case for case in cases() if case.folder not in FIRST_RUN]
    assert shares(known, recorded())["found by text or review"].percent >= _KNOWN
    for folder in FIRST_RUN:
        given = [case for case in cases() if case.folder is folder]
        first = shares(given, first_sight(folder).found, first_run(folder))
        assert first["found by text or review"].percent >= _BLIND


def test_few_reports_on_twins_are_wrong() -> None:
    found = shares(cases(), recorded())
    assert found["wrong reports on twins"].percent <= _WRONG


def test_each_report_on_a_published_file_has_a_verdict() -> None:
    files = loaded(FOLDER / "published" / "files.yaml")
    assert len(files) == 44
    for name, entry in files.items():
        assert isinstance(reviewer.parse(entry["reply"]), Review), name
        for report in entry["reports"].values():
            assert report["verdict"] in ("right", "debatable", "wrong"), name
            assert report["line"] >= 0
            assert report["shows"]
            assert report["why"]
