"""The analysis gets through the files of the corpora for an older Triton, and stays inside each."""

import pytest
from corpora import CORPORA, covers, kernel_files
from each import sample

from tilewright.analysis import AnalysisContext, analyze
from tilewright.source import parse_module
from tilewright.targets.model import Target

pytestmark = pytest.mark.slow

# Precision's tests parse every file, and look at it with other targets and with none.
CONTEXT = AnalysisContext(Target("xpu", "bmg-g31"), (3, 6))


@pytest.mark.parametrize("package", CORPORA)
def test_no_file_stops_the_analysis(package: str) -> None:
    chosen, kernels = sample(kernel_files(package), 24), 0
    for path in chosen:
        module = parse_module(path.read_text(), str(path))
        kernels += len(module.kernels)
        for issue in analyze(module, CONTEXT):
            assert covers(module, issue), (path, issue)
    assert kernels > len(chosen)
