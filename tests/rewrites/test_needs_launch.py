"""A rewrite that says it needs a captured launch refuses without one; no other does for that."""

from pathlib import Path

import pytest

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.rewrites import all_rewrites, rewrites_for
from tilewright.rewrites.model import Refusal
from tilewright.source import parse_module

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_without_a_launch(path: Path) -> None:
    module = parse_module(path.read_text(), str(path))
    context = AnalysisContext()
    for issue in analyze(module, context):
        for rewrite in rewrites_for(issue.id):
            answer = rewrite.apply(module, issue, context)
            if rewrite.needs_launch:
                assert isinstance(answer, Refusal), rewrite.name
            elif isinstance(answer, Refusal):
                assert "no launch was captured" not in answer.reason, rewrite.name


def test_some_need_one() -> None:
    assert {r.issue for r in all_rewrites() if r.needs_launch} == {
        "dtype_float64",
        "dtype_precision",
        "missing_autotune",
        "multi_pass_row",
    }
