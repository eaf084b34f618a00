"""The analysis gets through every file of the corpora, and stays inside each file."""

from pathlib import Path

import pytest
from corpora import CORPORA, corpus, files

from tilewright.analysis import AnalysisContext, analyze
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.targets.model import Target

pytestmark = pytest.mark.slow

CONTEXTS = (AnalysisContext(), AnalysisContext(Target("xpu", "bmg-g31"), (3, 6)))


@pytest.mark.parametrize("package", CORPORA)
def test_no_file_stops_the_analysis(package: str) -> None:
    kernels = sum(_issues_lie_in_the_file(path) for path in files(package))
    assert kernels > 100


def _issues_lie_in_the_file(path: Path) -> int:
    """Checks one file; the number of its kernels."""
    module = parse_module(path.read_text(), str(path))
    for context in CONTEXTS if module.kernels else CONTEXTS[:1]:
        for issue in analyze(module, context):
            assert _covers(module, issue.range.line, issue.range.end_line), (path, issue)
    return len(module.kernels)


def _covers(module: Module, first: int, last: int) -> bool:
    return 1 <= first <= last <= len(module.text.splitlines()) + 1


@pytest.mark.parametrize("package", CORPORA)
def test_every_file_parses(package: str) -> None:
    """These are published packages: what does not parse would be our fault."""
    broken = {
        str(path.relative_to(corpus(package)))
        for path in files(package)
        if parse_module(path.read_text(), str(path)).problems
    }
    assert broken == set()
