"""Recorded reviews: they are of the cases, and what they have found stays found."""

import pytest
from case_results import first_sight, recorded
from measured_cases import REVIEWED, measurements
from reported_cases import FOLDER, Folder, cases, loaded
from review_record import FAULTS, LOST_TIME, VERSIONS, Reviewed, Share

from tilewright.agents import reviewer, speed_reviewer
from tilewright.agents.model import Unusable
from tilewright.agents.reviewer import Review

_KNOWN = {FAULTS: 85.0, LOST_TIME: 75.0}
_BLIND = {Folder.FOURTH_BLIND: 70.0, Folder.FIFTH_BLIND: 70.0, Folder.SIXTH_BLIND: 59.0}
"""At first sight; of lost time 75 % were wanted, and 59 % were found."""
_WRONG = 2.0
_FIRST_RUNS = [(of, folder) for of in (FAULTS, LOST_TIME) for folder in of.first_runs]
each_kind = pytest.mark.parametrize("of", [FAULTS, LOST_TIME], ids=lambda of: of.kind.value)
each_first_run = pytest.mark.parametrize(
    ("of", "folder"), _FIRST_RUNS, ids=lambda one: str(one)[:9]
)


@each_kind
def test_replies_records_and_verdicts_are_of_the_cases(of: Reviewed) -> None:
    known = {(case.name, version) for case in cases() for version in VERSIONS}
    assert set(of.replies) <= known
    assert set(of.runs) == set(of.replies)
    assert set(of.judgements) <= set(of.replies)


def test_replies_about_lost_time_can_be_read() -> None:
    read = [speed_reviewer.parse(reply) for reply in LOST_TIME.replies.values()]
    assert not [one for one in read if isinstance(one, Unusable)]


@each_first_run
def test_a_first_run_is_of_the_replies_of_its_folder(of: Reviewed, folder: Folder) -> None:
    names = {case.name for case in cases() if case.folder is folder}
    assert set(of.first_runs[folder]) <= {key for key in of.replies if key[0] in names}


@each_first_run
def test_what_a_first_run_found_is_found(of: Reviewed, folder: Folder) -> None:
    given = [case for case in cases() if case.folder is folder]
    found = {case.name for case in given if of.is_found(case, of.first_runs[folder])}
    assert found <= {case.name for case in given if of.is_found(case, of.runs)}


@each_kind
def test_text_and_reviews_find_what_the_file_decides(of: Reviewed) -> None:
    known = [case for case in cases() if case.folder not in of.first_runs]
    assert of.shares(known, recorded())["found by text or review"].percent >= _KNOWN[of]
    for folder, runs in of.first_runs.items():
        given = [case for case in cases() if case.folder is folder]
        first = of.shares(given, first_sight(folder).found, runs)
        assert first["found by text or review"].percent >= _BLIND[folder]


def test_few_reports_on_twins_are_wrong() -> None:
    found = FAULTS.shares(cases(), recorded())
    assert found["wrong reports on twins"].percent <= _WRONG


def test_each_report_of_lost_time_on_a_twin_has_a_verdict() -> None:
    reported = {name for (name, version), one in LOST_TIME.runs.items() if version == "fixed"
                and one.text}  # fmt: skip
    judged = {name for (name, version), one in LOST_TIME.judgements.items() if one.twin}
    assert reported == judged


def test_most_versions_that_are_reported_take_less_device_time() -> None:
    rows = measurements(REVIEWED).rows
    faster = Share(sum(row.device.value > 1 for row in rows), len(rows))
    assert faster.percent >= 75.0


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
