"""Every detector against its golden file: the marked lines, all of them and no others."""

import pytest
from golden_coverage import shown
from snippets import Snippet, snippets

from tilewright.analysis import AnalysisContext, analyze
from tilewright.analysis.detectors import registered
from tilewright.knowledge import taxonomy
from tilewright.source import parse_module


@pytest.mark.parametrize("snippet", snippets(), ids=lambda s: s.name)
def test_marked_lines(snippet: Snippet) -> None:
    module = parse_module(snippet.text)
    assert module.problems == ()
    issues = [i for i in analyze(module, snippet.context) if i.id == snippet.issue]
    assert {i.range.line for i in issues} == snippet.expected
    assert bool(snippet.expected) is snippet.fires


@pytest.mark.parametrize("issue", sorted(registered()))
def test_each_detector_is_shown_by_three_kernels_and_spares_three(issue: str) -> None:
    found = shown(issue)
    assert found.firing >= 3
    assert found.silent >= 3


def test_detectors_and_taxonomy_agree() -> None:
    assert {i for i, kind in taxonomy().items() if kind.detector} == set(registered())


@pytest.mark.parametrize("snippet", [s for s in snippets() if s.fires], ids=lambda s: s.name)
def test_issues_carry_their_place_in_the_taxonomy(snippet: Snippet) -> None:
    module = parse_module(snippet.text)
    issues = analyze(module, snippet.context)
    assert list(issues) == sorted(issues, key=lambda i: i.range)
    for issue in issues:
        kind = taxonomy()[issue.id]
        assert (issue.stage, issue.severity) == (kind.stage, kind.severity)
        assert issue.kernel is None or module.kernel(issue.kernel) is not None
        assert module.index.slice(issue.range).strip()


def test_context_of_another_kernel_changes_nothing() -> None:
    for snippet in snippets():
        if snippet.context == AnalysisContext():
            module = parse_module(snippet.text)
            others = [c for s in snippets() for c in s.context.launches]
            named = {k.name for k in module.kernels}
            context = AnalysisContext(launches=tuple(c for c in others if c.kernel not in named))
            assert analyze(module, context) == analyze(module)
