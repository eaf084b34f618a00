"""Reports on the corpora are reviewed, and few of them are wrong."""

import pytest
from precision_table import PAGE, page
from rates import rate
from reports import about_correctness, found_in_corpora, sampled
from reviewed import CORRECTNESS, PERFORMANCE, judgements, read_reviews
from unreviewed import as_yaml, missing

pytestmark = pytest.mark.slow


def test_every_correctness_report_is_reviewed() -> None:
    """A new one has to be read in its source before it is let through."""
    judged = judgements(read_reviews(CORRECTNESS))
    lacking = missing(about_correctness(found_in_corpora()), judged)
    assert not lacking, "\n".join(map(as_yaml, lacking))


def test_no_review_outlives_its_report() -> None:
    current = {found.report for found in found_in_corpora()}
    assert judgements(read_reviews(CORRECTNESS)).keys() <= current


def test_few_correctness_reports_are_wrong() -> None:
    judged = judgements(read_reviews(CORRECTNESS))
    assert rate(about_correctness(found_in_corpora()), judged).wrong < 0.05


def test_the_sample_of_performance_reports_is_reviewed() -> None:
    judged = judgements(read_reviews(PERFORMANCE))
    lacking = missing(sampled(found_in_corpora()), judged)
    assert not lacking, "\n".join(map(as_yaml, lacking))


def test_most_performance_reports_are_right() -> None:
    judged = judgements(read_reviews(PERFORMANCE))
    assert rate(sampled(found_in_corpora()), judged).right >= 0.85


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "make precision"
