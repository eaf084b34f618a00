"""Which lines of a kernel the launches of its file are known to compile."""

import pytest

from tilewright.analysis import AnalysisContext, analyze
from tilewright.analysis.detectors.constexpr_branches import is_compiled_by_launches
from tilewright.source import parse_module

_KERNEL = """
import triton
import triton.language as tl

WIDE = True

{tuner}
@triton.jit
def scaled(x_ptr, w_ptr, n, MODE: tl.constexpr, EVEN: tl.constexpr = True, B: tl.constexpr = 64):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at)
    if {test}:
        x = x**2.0
    else:
        x = x * 2.0
    tl.store(x_ptr + at, x)

def run(x, w, mode, {more}):
    scaled[(4,)](x, {given})
"""
_TUNER = "@triton.autotune([triton.Config({'B': 64}), triton.Config({'B': 128})], key=['n'])"


def _severity(test: str, given: str, tuner: str = "", more: str = "even=False") -> int:
    module = parse_module(_KERNEL.format(tuner=tuner, test=test, given=given, more=more))
    (found,) = (i for i in analyze(module, AnalysisContext()) if i.id == "unsupported_syntax")
    kernel = module.kernel("scaled")
    assert kernel is not None
    compiled = is_compiled_by_launches(module, kernel, found.range.line)
    assert (compiled is True) is (found.severity == 5)
    return found.severity


@pytest.mark.parametrize(
    ("test", "given", "severity"),
    [
        ("n > 3", "w, 9, MODE=1", 5),
        ("MODE == 1", "w, 9, MODE=1", 5),
        ("MODE == 1", "w, 9, MODE=2", 2),
        ("MODE == 1", "w, 9, MODE=mode", 3),
        ("MODE == 'wide'", "w, 9, MODE='wide'", 5),
        ("EVEN", "w, 9, MODE=1", 5),
        ("EVEN", "w, 9, MODE=1, EVEN=even", 3),
        ("EVEN and MODE == 1", "w, 9, MODE=1", 5),
        ("EVEN and MODE == 1", "w, 9, MODE=2", 2),
        ("w_ptr is None", "None, 9, MODE=1", 5),
        ("w_ptr is None", "w, 9, MODE=1", 3),
        ("WIDE and MODE == 1", "w, 9, MODE=1", 5),
        ("n > 3 and MODE == 1", "w, 9, MODE=2", 5),
    ],
)
def test_a_branch_that_constants_of_the_launch_decide(test: str, given: str, severity: int) -> None:
    assert _severity(test, given) == severity


@pytest.mark.parametrize(("test", "severity"), [("B == 128", 5), ("B == 256", 2)])
def test_a_branch_that_a_configuration_decides(test: str, severity: int) -> None:
    assert _severity(test, "w, 9, MODE=1", _TUNER) == severity


def test_one_launch_that_takes_the_branch_is_enough() -> None:
    given = "w, 9, MODE=2)\n    scaled[(4,)](x, w, 9, MODE=1"
    assert _severity("MODE == 1", given) == 5
