"""The analysis gets through every file of the corpora, and stays inside each file."""

import pytest
from corpora import CORPORA, corpus, covers, files

from tilewright.analysis import AnalysisContext, analyze
from tilewright.source import parse_module
from tilewright.targets.model import Target

pytestmark = pytest.mark.slow

# Precision's tests look at the same files with other targets, and with none.
CONTEXT = AnalysisContext(Target("xpu", "bmg-g31"), (3, 6))


@pytest.mark.parametrize("package", CORPORA)
def test_every_file_parses_and_none_stops_the_analysis(package: str) -> None:
    """These are published packages: what does not parse would be our fault."""
    modules = {path: parse_module(path.read_text(), str(path)) for path in files(package)}
    broken = {str(path.relative_to(corpus(package))) for path, m in modules.items() if m.problems}
    assert broken == set()
    for path, module in modules.items():
        for issue in analyze(module, CONTEXT if module.kernels else AnalysisContext()):
            assert covers(module, issue), (path, issue)
    assert sum(len(module.kernels) for module in modules.values()) > 100
