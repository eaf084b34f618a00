"""Every detector against its golden file: the marked lines, all of them and no others."""

import pytest
from each import each, sample
from golden_coverage import shown
from snippets import Snippet, analyzed, snippets

from tilewright.analysis import AnalysisContext, analyze
from tilewright.analysis.detectors import registered
from tilewright.analysis.detectors.correctness.narrow_offsets import ADVICE
from tilewright.analysis.severities import OF_LAUNCHES
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.model import POSSIBLE
from tilewright.targets.model import LaunchFacts

HEDGED = frozenset(
    (
        *("int32_offset_overflow", "missing_autotune", "reduction_tree_suboptimal"),
        *("mask_wrong_axis", "removed_api", "undefined_name"),
        *("multi_pass_row", "dtype_float64", "method_of_number"),
        *("suboptimal_autotune_configs", "suboptimal_algorithm", "lock_without_barrier"),
        *("grid_ignores_tuned_block", "redundant_computation"),
        "dtype_precision",
    )
)
"""Issues with reports that rest on what other lines do, or that say that less is lost."""


@each(snippets(), lambda s: s.name)
def test_marked_lines(snippet: Snippet) -> None:
    module, found = analyzed(snippet)
    assert module.problems == ()
    assert {i.range.line for i in found if i.id == snippet.issue} == snippet.expected
    assert bool(snippet.expected) is snippet.fires


@each(sorted(registered()))
def test_each_detector_is_shown_by_three_kernels_and_spares_three(issue: str) -> None:
    found = shown(issue)
    assert found.firing >= 3
    assert found.silent >= 3


def test_detectors_and_taxonomy_agree() -> None:
    assert {i for i, kind in taxonomy().items() if kind.detector} == set(registered())


@each([s for s in snippets() if s.fires], lambda s: s.name)
def test_issues_carry_their_place_in_the_taxonomy(snippet: Snippet) -> None:
    module, issues = analyzed(snippet)
    assert list(issues) == sorted(issues, key=lambda i: i.range)
    for issue in issues:
        kind = taxonomy()[issue.id]
        # What is likely rather than certain is reported as less severe.
        is_hedged = issue.id in HEDGED | OF_LAUNCHES or kind.some_calls
        lower = range(1, ADVICE + 1) if is_hedged else ()
        assert issue.stage is kind.stage
        assert issue.severity in (*lower, min(kind.severity, POSSIBLE), kind.severity)
        assert issue.kernel is None or module.kernel(issue.kernel) is not None
        assert module.index.slice(issue.range).strip()
        assert " None " not in issue.message, "a name that is not known"


@pytest.mark.hypothesis
@each(sample([s for s in snippets() if s.context == AnalysisContext()], 12), lambda s: s.name)
def test_context_of_another_kernel_changes_nothing(snippet: Snippet) -> None:
    module, found = analyzed(snippet)
    named = {kernel.name for kernel in module.kernels}
    others = tuple(launch for launch in _launches() if launch.kernel not in named)
    assert analyze(module, AnalysisContext(launches=others)) == found


def _launches() -> list[LaunchFacts]:
    return [launch for snippet in snippets() for launch in snippet.context.launches]
