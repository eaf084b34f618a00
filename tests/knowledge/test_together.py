"""Taxonomy, detectors and rewrites name the same issues."""

from tilewright.analysis.detectors import registered
from tilewright.compiled.rules import RULES
from tilewright.knowledge.base import taxonomy
from tilewright.rewrites import all_rewrites


def test_every_detector_finds_an_issue_of_the_taxonomy() -> None:
    assert set(registered()) <= set(taxonomy())


def test_the_taxonomy_says_which_issues_are_detected() -> None:
    said = {issue.id for issue in taxonomy().values() if issue.detector}
    assert said == set(registered())


def test_every_issue_of_the_compiled_tier_has_its_rule_and_no_other_has() -> None:
    assert {issue.id for issue in taxonomy().values() if issue.tier == "compiled"} == set(RULES)


def test_every_rewrite_fixes_an_issue_of_the_taxonomy() -> None:
    assert {rewrite.issue for rewrite in all_rewrites()} <= set(taxonomy())


def test_a_rewrite_does_to_results_what_its_issue_says() -> None:
    for rewrite in all_rewrites():
        assert taxonomy()[rewrite.issue].numerics in (rewrite.numerics.value, "corrects"), (
            rewrite.name
        )
