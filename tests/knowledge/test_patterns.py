"""The patterns as data: complete, readable, each answering something that is found or rewritten."""

import ast
import re
import string
from pathlib import Path

import pytest
from each import each

from tilewright.analysis.detectors import registered
from tilewright.analysis.preconditions.match import CHECKS
from tilewright.compiled.rules import RULES
from tilewright.evaluation.constraints import constraint_violations
from tilewright.executed.issues import ISSUE_IDS
from tilewright.hardware.chips import all_chips
from tilewright.knowledge.base import (
    all_constraints,
    all_patterns,
    constraints,
    patterns_of,
    taxonomy,
)
from tilewright.knowledge.explain import explain
from tilewright.knowledge.files import knowledge_root, read_file
from tilewright.knowledge.model import UNMEASURED
from tilewright.knowledge.patterns import STATEMENTS, Pattern, PatternFile
from tilewright.knowledge.stages import Stage
from tilewright.rewrites import all_rewrites
from tilewright.source import parse_module
from tilewright.targets.model import Target

PATTERNS = list(all_patterns().values())
ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "knowledge.md").read_text(encoding="utf-8")
VENDORS = {"nvidia": ("cuda",), "amd": ("hip",), "intel": ("xpu",)}


def test_no_pattern_has_the_name_of_an_issue() -> None:
    assert not set(all_patterns()) & set(taxonomy())


@each(PATTERNS, lambda p: p.id)
def test_it_answers_what_is_found_or_rewritten(pattern: Pattern) -> None:
    used = set(registered()) | set(RULES) | {rewrite.issue for rewrite in all_rewrites()}
    used |= set(ISSUE_IDS.values())
    assert set(pattern.issues) <= set(taxonomy())
    assert set(pattern.issues) & used


@each(PATTERNS, lambda p: p.id)
def test_the_texts_serve_a_reader(pattern: Pattern) -> None:
    assert len(pattern.title) <= 60
    assert not pattern.title.endswith(".")
    assert pattern.do.strip().endswith(".")
    assert (pattern.gain == UNMEASURED) == (pattern.gain_source is None)


@each(PATTERNS, lambda p: p.id)
def test_preconditions_have_their_parameters(pattern: Pattern) -> None:
    for stated in pattern.preconditions:
        text = STATEMENTS[stated.name]
        named = {name for _, name, _, _ in string.Formatter().parse(text) if name}
        assert set(stated.parameters) == named
        assert "{" not in stated.statement


@each(PATTERNS, lambda p: p.id)
def test_the_example_parses_and_differs(pattern: Pattern) -> None:
    assert pattern.example.before.strip() != pattern.example.after.strip()
    for text in (pattern.example.before, pattern.example.after):
        ast.parse(text)
        assert not parse_module(text).problems


@each(PATTERNS, lambda p: p.id)
def test_its_languages_are_those_of_its_issues(pattern: Pattern) -> None:
    for issue in pattern.issues:
        assert set(pattern.applies_to.languages) <= set(taxonomy()[issue].applies_to.languages)


@each(PATTERNS, lambda p: p.id)
def test_its_page_and_those_of_its_issues_show_it(pattern: Pattern) -> None:
    page = explain(pattern.id)
    assert page.startswith(f"# {pattern.title}\n\n`{pattern.id}`")
    assert all(f"`{issue}`" in page for issue in pattern.issues)
    for issue in pattern.issues:
        assert f"## Pattern: {pattern.title}" in explain(issue)


def test_a_claim_of_others_is_said_to_be_one() -> None:
    page = explain("loop_over_tiles")
    assert "## Gain\n\nNot measured." in page
    assert "Claimed by others, not measured here: 0.8 to 2.0 times (Xe-Forge)" in page


def test_files_hold_what_they_are_named_for() -> None:
    for path in (knowledge_root() / "patterns").glob("*.yaml"):
        patterns = read_file(path, PatternFile).patterns
        if path.stem in VENDORS:
            assert {p.applies_to.backends for p in patterns} == {VENDORS[path.stem]}
        elif path.stem.startswith("nki"):
            assert {p.applies_to.languages for p in patterns} == {("nki",)}
        else:
            assert {p.stage.value for p in patterns} == {path.stem}


def test_every_precondition_is_answered_and_asked() -> None:
    assert set(CHECKS) == set(STATEMENTS)
    assert {each.name for p in PATTERNS for each in p.preconditions} == set(STATEMENTS)


def test_no_issue_is_an_orphan() -> None:
    used = set(registered()) | set(RULES) | {rewrite.issue for rewrite in all_rewrites()}
    used |= set(ISSUE_IDS.values())
    # What fits no other id is proposed, never found: its stage says so.
    free = {issue.id for issue in taxonomy().values() if issue.stage is Stage.DISCOVERY}
    assert set(taxonomy()) - used <= free


def test_every_constraint_is_checked_on_candidates() -> None:
    """Each applies to a chip and a version, and its check is one that the evaluation has."""
    empty = parse_module("")
    applied: set[str] = set()
    for chip in all_chips():
        for minor in range(3, 10):
            target = Target(chip.backend, chip.arch)
            assert constraint_violations(empty, empty, target, (3, minor)) == []
            applied |= {c.id for c in constraints(chip.id, (3, minor))}
    assert {c.id for c in all_constraints()} == applied


@pytest.mark.parametrize(("language", "least"), [("triton", 80), ("nki", 40)])
def test_how_much_is_known(language: str, least: int) -> None:
    entries = [*taxonomy().values(), *PATTERNS]
    entries += all_constraints() if language == "triton" else []
    assert sum(language in entry.applies_to.languages for entry in entries) >= least


def test_serious_issues_of_speed_have_a_pattern() -> None:
    costly = [
        i
        for i in taxonomy().values()
        if i.severity in (3, 4)
        and i.stage is not Stage.CORRECTNESS
        and i.applies_to.languages == ("triton",)
    ]
    assert costly
    assert not [i.id for i in costly if not patterns_of(i.id)]


def test_the_document_counts_what_is_there() -> None:
    kinds = {
        "taxonomy": taxonomy().values(),
        "patterns": PATTERNS,
        "constraints": all_constraints(),
    }
    for folder, entries in kinds.items():
        row = re.search(rf"^\| `{folder}/` .*\| (\d+) \| (\d+) \|$", DOCUMENT, re.MULTILINE)
        assert row is not None
        languages = [entry.applies_to.languages for entry in entries]
        counts = tuple(sum(name in each for each in languages) for name in ("triton", "nki"))
        assert tuple(map(int, row.groups())) == counts, folder


def test_entries_and_files_that_the_document_names_exist() -> None:
    rows = [line.split("|") for line in DOCUMENT.splitlines() if line.startswith("| ")]
    named = {i for row in rows if len(row) == 6 for i in re.findall(r"`(\w+)`", row[4])}
    constraint_ids = {c.id for c in all_constraints()}
    assert len(named) > 20
    assert named <= set(taxonomy()) | set(all_patterns()) | constraint_ids
    for path in re.findall(r"`((?:tests|engine)/[\w/]+\.py)`", DOCUMENT):
        assert (ROOT / path).is_file(), path
