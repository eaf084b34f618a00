"""The reviewed lists are well-formed, and the sample is drawn the same way each time."""

import json
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError
from rates import rate
from reports import AT_LEAST_OF_EACH, SAMPLED, Found, Report, about_correctness, found_in, sampled
from reviewed import (
    CORRECTNESS,
    LISTS,
    PERFORMANCE,
    Judgement,
    ReviewedTwiceError,
    Verdict,
    judgements,
    read_reviews,
)
from seeded_sample import SEEDED, drawn
from unreviewed import as_yaml, missing

from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.stages import Stage

REASON = "Both programs of an axis store to it."
PLACE = {"at": "corpus/ops/add.py::add_kernel", "line": "tl.store(out, total)"}


def written(folder: Path, *reviews: dict[str, object]) -> Path:
    path = folder / "reviews.yaml"
    path.write_text(json.dumps(reviews))
    return path


def review(*places: dict[str, object], verdict: str = "right") -> dict[str, object]:
    return {
        "issue": "race_on_store",
        "verdict": verdict,
        "reason": REASON,
        "reports": places,
    }


def found(number: int, issue: str = "missing_autotune", severity: int = 2) -> Found:
    report = Report("corpus", "ops/add.py", f"kernel_{number}", issue, "tl.store(out, total)")
    return Found(report, Stage.AUTOTUNING, severity, "It is slow.", number)


@pytest.mark.parametrize("path", [CORRECTNESS, PERFORMANCE, SEEDED])
def test_each_judgement_of_the_lists_has_a_reason(path: Path) -> None:
    judged = judgements(read_reviews(path))
    assert [j.reason for j in judged.values() if not j.reason.endswith(".")] == []


def test_kernels_of_the_same_text_share_a_judgement(tmp_path: Path) -> None:
    path = written(tmp_path, review(PLACE, {**PLACE, "nth": 2}))
    first = Report("corpus", "ops/add.py", "add_kernel", "race_on_store", PLACE["line"])
    expected = Judgement(Verdict.RIGHT, REASON)
    judged = judgements(read_reviews(path))
    assert judged[first] == expected
    assert len(judged) == 2


def test_a_report_judged_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, review(PLACE), review(PLACE, verdict="wrong"))
    with pytest.raises(
        ReviewedTwiceError, match=r"race_on_store at corpus/ops/add\.py::add_kernel"
    ):
        judgements(read_reviews(path))


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "probably"},
        {"reason": "no"},
        {"reports": []},
        {"reports": [{**PLACE, "at": "corpus/ops/add.py"}]},
        {"severity": 6},
    ],
)
def test_a_malformed_review_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        read_reviews(written(tmp_path, {**review(PLACE), **change}))


@pytest.mark.parametrize("path", [path for path, _ in LISTS], ids=lambda path: path.stem)
def test_lists_of_other_repositories_judge_each_report_once(path: Path) -> None:
    judged = judgements(read_reviews(path))
    assert len(judged) > 10
    assert {report.issue for report in judged} <= taxonomy().keys()


def test_equal_lines_of_a_kernel_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def twice(out, x, y, n, B: tl.constexpr):\n"
        "    at = tl.arange(0, B)\n"
        "    for i in range(4):\n"
        "        a = tl.load(x + i * n + at, mask=at < n)\n"
        "        tl.store(out + i, tl.max(a))\n"
        "    for i in range(4):\n"
        "        a = tl.load(x + i * n + at, mask=at < n)\n"
        "        tl.store(y + i, tl.max(a))\n"
    )
    undefined = [
        f for f in found_in("corpus", "twice.py", path) if f.report.issue == "undefined_other"
    ]
    assert [f.report.nth for f in undefined] == [1, 2]


def test_a_fault_counts_as_correctness_however_severe() -> None:
    wrong = found(1, "missing_boundary_check", severity=3)
    assert about_correctness([wrong, found(2)]) == [wrong]


def test_the_sample_has_some_of_each_issue() -> None:
    rare = [found(n, "device_host_sync") for n in range(3)]
    many = [found(n) for n in range(3 * SAMPLED)]
    drawn = sampled(many + rare)
    assert len(drawn) == SAMPLED
    assert set(rare) <= set(drawn)
    assert drawn == sampled(rare + many[::-1])


def test_a_report_that_goes_leaves_the_rest_of_the_sample() -> None:
    many = [found(n) for n in range(3 * SAMPLED)]
    gone, *others = sampled(many)
    again = sampled([f for f in many if f != gone])
    assert set(others) <= set(again)
    assert len(others) > AT_LEAST_OF_EACH


def test_a_debatable_report_counts_half() -> None:
    verdicts = [Verdict.RIGHT, Verdict.DEBATABLE, Verdict.WRONG, Verdict.RIGHT]
    reports = [found(n) for n in range(5)]
    judged = {f.report: Judgement(v, REASON) for f, v in zip(reports, verdicts, strict=False)}
    counted = rate(reports, judged)
    assert (counted.reviewed, counted.right, counted.wrong) == (4, 0.625, 0.25)


def test_what_is_missing_is_printed_ready_to_fill_in() -> None:
    one = found(7)
    assert missing([one, found(8)], {found(8).report: Judgement(Verdict.RIGHT, REASON)}) == [one]
    (entry,) = yaml.safe_load(as_yaml(one))
    assert entry["reports"] == [{"at": one.report.place(), "line": one.report.line}]


def test_a_seeded_sample_has_each_package_and_issue() -> None:
    def one(package: str, number: int, issue: str) -> Found:
        report = Report(package, "ops/add.py", f"kernel_{number}", issue, "tl.store(out, total)")
        return Found(report, Stage.AUTOTUNING, 2, "It is slow.", number)

    large = [one("large", n, "missing_autotune") for n in range(90)]
    rare = [one("large", 90, "device_host_sync")]
    small = [one("small", n, "missing_autotune") for n in range(2)]
    sample = drawn(large + rare + small, seed=1, count=8)
    assert len(sample) == 8
    assert set(rare) | set(small) <= set(sample)
    assert sample == drawn(small + rare + large[::-1], seed=1, count=8)
