"""Captured launches of the examples: hedges become statements, and numbers are checked."""

from pathlib import Path

from tilewright.analysis import AnalysisContext, Issue, analyze
from tilewright.source import parse_module
from tilewright.targets.model import ArgumentFacts, LaunchFacts

EXAMPLES = Path(__file__).parents[2] / "examples"


def tensor(name: str, kind: str, *shape: int) -> ArgumentFacts:
    strides = [1]
    for side in reversed(shape[1:]):
        strides.insert(0, strides[0] * side)
    return ArgumentFacts(name, "tensor", f"*{kind}", None, shape, tuple(strides), True)


def matmul_facts(m: int, n: int, k: int, kind: str = "fp16") -> AnalysisContext:
    strides = {"stride_am": k, "stride_ak": 1, "stride_bk": n, "stride_bn": 1}
    scalars = {"M": m, "N": n, "K": k, **strides, "stride_cm": n, "stride_cn": 1}
    arguments = (
        tensor("a_ptr", kind, m, k),
        tensor("b_ptr", kind, k, n),
        tensor("c_ptr", kind, m, n),
        *(ArgumentFacts(name, "int", "i32", value) for name, value in scalars.items()),
        *(ArgumentFacts(f"BLOCK_{x}", "constexpr", "constexpr", 32) for x in "MNK"),
    )
    return AnalysisContext(
        launches=(LaunchFacts("matmul_kernel", (-(-m // 32), -(-n // 32)), arguments),)
    )


def issues(context: AnalysisContext) -> dict[str, Issue]:
    module = parse_module((EXAMPLES / "matmul.py").read_text())
    return {issue.id: issue for issue in analyze(module, context)}


def test_captured_types_prove_the_needless_cast() -> None:
    hedged = issues(AnalysisContext())["dtype_precision"]
    proven = issues(matmul_facts(4096, 4096, 4096))["dtype_precision"]
    assert "if the pointers are 16-bit" in hedged.message
    assert "fp16 operands" in proven.message


def test_captured_fp32_takes_the_hedged_issue_back() -> None:
    assert "dtype_precision" not in issues(matmul_facts(256, 256, 256, "fp32"))


def test_masked_ragged_shapes_are_no_boundary_issue() -> None:
    found = issues(matmul_facts(267, 301, 83))
    assert "missing_boundary_check" not in found
    assert "int32_offset_overflow" not in found


def test_a_large_product_overflows_where_its_output_is_addressed() -> None:
    issue = issues(matmul_facts(65536, 65536, 64))["int32_offset_overflow"]
    assert "This offset into c_ptr reaches" in issue.message
    text = (EXAMPLES / "matmul.py").read_text().splitlines()
    assert "c_ptrs = " in text[issue.range.line - 1]


def test_one_row_of_tiles_needs_no_other_order() -> None:
    assert "no_swizzling" in issues(matmul_facts(4096, 4096, 4096))
    assert "no_swizzling" not in issues(matmul_facts(16, 4096, 4096))
