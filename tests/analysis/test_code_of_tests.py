"""What is said of the speed of tests: nothing of their host code, advice of their kernels."""

import pytest

from tilewright.analysis import Issue, analyze
from tilewright.analysis.code_of_tests import is_test_file
from tilewright.knowledge.stages import Stage
from tilewright.source import parse_module

_IMPORTS = """
import torch
import triton
import triton.language as tl
"""
_KERNEL = """
import torch

@triton.jit
def norm(x_ptr, y_ptr, n, B: tl.constexpr):
    row, mean, total = tl.program_id(0), 0.0, 0.0
    for start in range(0, n, B):
        x = tl.load(x_ptr + row * n + start + tl.arange(0, B))
        mean += tl.sum(x, 0) / n
    for start in range(0, n, B):
        x = tl.load(x_ptr + row * n + start + tl.arange(0, B)) - mean
        total += tl.sum(x * x, 0)
    for start in range(0, n, B):
        x = tl.load(x_ptr + row * n + start + tl.arange(0, B))
        tl.store(y_ptr + row * n + start + tl.arange(0, B), x / total)
"""
_HOST = """
{head}def {name}(x):
{indent}    y = torch.empty_like(x)
{indent}    block = triton.next_power_of_2(x.shape[1])
{indent}    norm[(x.shape[0],)](x, y, x.shape[1], B=block)
{indent}    torch.cuda.synchronize()
{indent}    return y
"""


def _found(path: str, head: str = "", name: str = "normed") -> dict[str, Issue]:
    text = _KERNEL + _HOST.format(head=head, name=name, indent="    " if head else "")
    found = analyze(parse_module(text, path))
    return {issue.id: issue for issue in found if issue.stage is not Stage.CORRECTNESS}


def test_a_kernel_that_is_shipped_has_both_issues() -> None:
    found = _found("src/norm.py")
    assert found["multi_pass_row"].severity > 1
    assert "device_host_sync" in found


@pytest.mark.parametrize(
    "path", ["test_norm.py", "norm_test.py", "tests/norm.py", "test/a/norm.py"]
)
def test_in_a_test_file_its_kernels_get_advice_and_its_host_code_nothing(path: str) -> None:
    found = _found(path)
    assert found["multi_pass_row"].severity == 1
    assert "device_host_sync" not in found


@pytest.mark.parametrize(
    "head", ["class NormTest(unittest.TestCase):\n    ", "if __name__ == '__main__':\n    "]
)
def test_host_code_of_a_test_says_nothing_and_kernels_beside_it_stay(head: str) -> None:
    found = _found("src/norm.py", head)
    assert found["multi_pass_row"].severity > 1
    assert "device_host_sync" not in found


@pytest.mark.parametrize(
    ("takes", "returned", "is_silent"),
    [
        ("", "print(y)", True),
        ("", "return y", False),
        ("", "global kept", False),
        ("rows: int, kind: str = 'sum'", "print(y)", True),
        ("rows: int", "return y", False),
        ("rows", "print(y)", False),
        ("out: torch.Tensor", "print(y)", False),
        ("*rows: int", "print(y)", False),
    ],
)
def test_a_function_that_takes_no_tensor_and_returns_nothing_is_a_demonstration(
    takes: str, returned: str, is_silent: bool
) -> None:
    host = f"""
def shown({takes}):
    x = torch.ones(64, 64)
    y = torch.empty_like(x)
    norm[(64,)](x, y, 64, B=64)
    torch.cuda.synchronize()
    {returned}
"""
    found = {issue.id for issue in analyze(parse_module(_KERNEL + host, "src/norm.py"))}
    assert ("device_host_sync" not in found) is is_silent


def test_a_class_is_a_test_by_its_methods() -> None:
    assert "device_host_sync" in _found("src/norm.py", "class TestTimeModel:\n    ")
    assert "device_host_sync" not in _found("src/norm.py", "class TestNorm:\n    ", "test_normed")


def test_wrong_results_in_a_test_stay() -> None:
    text = "@triton.jit\ndef f(x_ptr):\n    tl.store(x_ptr, undefined_here)\n"
    plain, tested = (analyze(parse_module(text, path)) for path in ("f.py", "tests/test_f.py"))
    assert plain == tested != ()


def test_far_folders_say_nothing() -> None:
    assert is_test_file("/home/tests/test/project/src/kernels/norm.py") is False


@pytest.mark.parametrize(("path", "severity"), [("src/norm.py", 5), ("tests/norm.py", 1)])
def test_a_grid_on_one_tile_is_advice_in_a_test(path: str, severity: int) -> None:
    text = """
@triton.jit
def fill(y_ptr, B: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, B), 1.0)

def filled(y):
    fill[(4,)](y, B=64)
"""
    found = {issue.id: issue for issue in analyze(parse_module(_IMPORTS + text, path))}
    assert found["grid_axis_unused"].severity == severity


@pytest.mark.parametrize(("error", "severity"), [("ValueError", 5), ("CompilationError", 1)])
def test_a_kernel_that_is_not_to_compile_gets_advice(error: str, severity: int) -> None:
    text = f"""
def test_it_is_refused():
    @triton.jit
    def kernel(y_ptr):
        tl.store(y_ptr, missing)

    with pytest.raises({error}):
        kernel[(1,)](torch.empty(1))
"""
    issues = analyze(parse_module(_IMPORTS + "import pytest\n" + text, "tests/test_errors.py"))
    assert [i.severity for i in issues if i.kernel == "kernel"] == [severity]


@pytest.mark.parametrize(
    ("path", "severity"),
    [
        ("src/norm.py", 5),
        ("src/norm_bak.py", 2),
        ("src/05-norm-backup.py", 2),
        ("debug/norm.py", 2),
        ("src/debugger/norm.py", 5),
    ],
)
def test_a_backup_has_advice_at_most(path: str, severity: int) -> None:
    text = _KERNEL.replace(
        "total = tl.program_id(0), 0.0, 0.0", "total = tl.program_id(0), 0.0, no"
    )
    found = {issue.id: issue for issue in analyze(parse_module(_IMPORTS + text, path))}
    assert found["undefined_name"].severity == severity
