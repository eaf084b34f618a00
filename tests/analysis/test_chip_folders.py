"""A literal count of programs is right where the file is for one chip, as its folder says."""

import pytest

from tilewright.analysis import AnalysisContext, analyze
from tilewright.source import parse_module

PERSISTENT = """
import triton
import triton.language as tl

@triton.jit
def fill(out_ptr, n, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        offs = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + offs, 1.0, mask=offs < n)

def run(out):
    fill[(108,)](out, out.numel(), BLOCK=1024)
"""


@pytest.mark.parametrize(
    ("path", "reported"),
    [
        ("ops/fill.py", True),
        ("gfx942.py", True),
        ("models/llama3/fill.py", True),
        ("backends/sm90/fill.py", False),
        ("kernels/gfx942/ops/fill.py", False),
        ("tuned/A100/fill.py", False),
        ("backend/_vendor/gcu300/ops/fill.py", False),
    ],
)
def test_folder_named_after_a_chip(path: str, reported: bool) -> None:
    found = {issue.id for issue in analyze(parse_module(PERSISTENT, path), AnalysisContext())}
    assert ("persistent_num_progs_hardcoded" in found) == reported
