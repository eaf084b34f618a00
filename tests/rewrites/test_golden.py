"""Each rewrite turns its golden ``before`` into ``after``, and refuses where it must."""

import ast
from pathlib import Path

import pytest
from rewrite_cases import EXAMPLES, HERE, example, example_context, issue_at, read_case

from tilewright.analysis import analyze
from tilewright.analysis.model import Issue
from tilewright.knowledge.stages import Stage
from tilewright.rewrites import Refusal, all_rewrites, rewrites_for
from tilewright.rewrites.launch_config import set_launch_config
from tilewright.rewrites.tiles import tunable
from tilewright.source import parse_module

BEFORE = sorted((HERE / "golden").glob("*.before.py"))
REFUSED = sorted((HERE / "refused").glob("*.py"))


@pytest.mark.parametrize("path", BEFORE, ids=lambda p: p.name.removesuffix(".before.py"))
def test_rewrite_gives_the_golden_text(path: Path) -> None:
    after = path.with_name(path.name.replace(".before.", ".after."))
    assert read_case(path).apply() == after.read_text()


@pytest.mark.parametrize("path", BEFORE, ids=lambda p: p.name.removesuffix(".before.py"))
def test_rewritten_text_parses_and_keeps_its_issue_fixed(path: Path) -> None:
    case = read_case(path)
    text = case.apply()
    assert isinstance(text, str)
    ast.parse(text)
    again = parse_module(text, str(path))
    left = [i for i in analyze(again, case.context) if i.id == case.rewrite.issue]
    assert left == []


@pytest.mark.parametrize("path", BEFORE, ids=lambda p: p.name.removesuffix(".before.py"))
def test_rewrite_finds_nothing_to_do_in_its_own_result(path: Path) -> None:
    case = read_case(path)
    after = path.with_name(path.name.replace(".before.", ".after."))
    issue = case.issue()
    again = case.rewrite.apply(read_case(after).module, issue, case.context)
    assert isinstance(again, Refusal), again


@pytest.mark.parametrize("path", REFUSED, ids=lambda p: p.stem)
def test_rewrite_refuses_and_says_why(path: Path) -> None:
    case = read_case(path)
    result = case.apply()
    assert isinstance(result, Refusal), result
    assert case.header["refuses"] in result.reason


def test_every_rewrite_has_a_golden_file_or_an_example() -> None:
    shown = {read_case(path).rewrite.name for path in BEFORE}
    assert shown == {rewrite.name for rewrite in all_rewrites()}


def test_windows_line_ends_survive() -> None:
    path = HERE / "golden" / "single_pass_row_two_pass_variance.before.py"
    after = path.with_name(path.name.replace(".before.", ".after."))
    case = read_case(path)
    module = parse_module(case.module.text.replace("\n", "\r\n"), str(path))
    text = case.rewrite.apply(module, case.issue(), case.context)
    assert text == after.read_text().replace("\n", "\r\n")


def test_text_outside_ascii_does_not_move_the_edit() -> None:
    (rewrite,) = rewrites_for("dot_accumulator")
    source = (EXAMPLES / "matmul.py").read_text()
    results = []
    for letter in ("é", "e"):
        text = source.replace("    c = torch", f"    '{letter}'; c = torch")
        text = text.replace("acc += tl.dot(", f"'{letter}'; acc += tl.dot(")
        module = parse_module(text)
        issue = issue_at(module, "dot_accumulator", "acc += tl.dot(")
        result = rewrite.apply(module, issue, example_context("matmul"))
        assert isinstance(result, str)
        results.append(result.replace("é", "e"))
    assert results[0] == results[1]
    assert "'e'; acc = tl.dot(a.to(tl.float32), b.to(tl.float32), acc)" in results[0]


@pytest.mark.parametrize("path", [*BEFORE, *sorted(EXAMPLES.glob("*.py"))], ids=lambda p: p.name)
def test_no_rewrite_breaks_a_file_it_is_pointed_at(path: Path) -> None:
    """Wherever an issue lies, the answer is text that parses or a refusal."""
    case = read_case(path)
    for kernel in case.module.kernels:
        for rewrite in all_rewrites():
            issue = Issue(rewrite.issue, Stage.ALGORITHMIC, 3, "", kernel.name, kernel.range)
            result = rewrite.apply(case.module, issue, case.context)
            if isinstance(result, Refusal):
                assert result.reason
            else:
                ast.parse(result)
                assert result != case.module.text


@pytest.mark.parametrize("cut", range(0, 2400, 60))
def test_half_typed_files_are_refused_or_rewritten_but_never_raise(cut: int) -> None:
    text = example("linear_gelu").text[:cut]
    module = parse_module(text)
    for kernel in module.kernels:
        tunable(module, kernel)
        set_launch_config(module, kernel, {"BLOCK_M": 16}, {"num_warps": 8})
        for rewrite in all_rewrites():
            issue = Issue(rewrite.issue, Stage.ALGORITHMIC, 3, "", kernel.name, kernel.range)
            rewrite.apply(module, issue, example_context("linear_gelu"))
