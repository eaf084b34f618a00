"""Comments that silence an issue go where they work and leave the code as it is."""

import ast
from dataclasses import replace

import pytest

from tilewright.analysis.model import Issue
from tilewright.analysis.suppression import visible_issues
from tilewright.knowledge.base import taxonomy
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright_server.ignoring import Scope, ignoring

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def dot_kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + offs[:, None] * K + offs[None, :] + k)
        b = tl.load(b_ptr + offs[:, None] * BLOCK + offs[None, :] + k)
        acc += tl.dot(a, b)
    tl.store(c_ptr + offs[:, None] * BLOCK + offs[None, :], acc)
"""
DOT = "        acc += tl.dot(a, b)\n"
MARK = "# tilewright: ignore[dot_accumulator]"


def _found(text: str) -> tuple[Module, Issue]:
    module = parse_module(text, "k.py")
    (node,) = (n for n in ast.walk(module.tree) if isinstance(n, ast.AugAssign))
    place = module.index.range_of(node)
    kind = taxonomy()["dot_accumulator"]
    return module, Issue(kind.id, kind.stage, kind.severity, "", "dot_kernel", place)


def _with_issue(text: str) -> tuple[Module, list[Issue]]:
    module, issue = _found(text)
    return module, [issue]


def _silenced(text: str, scope: Scope = Scope.LINE) -> str:
    """The text after the comment was put in, which has to work."""
    new = ignoring(*_found(text), scope)
    assert new is not None
    assert visible_issues(*_with_issue(new)) == ()
    return new


@pytest.mark.parametrize(
    ("line", "silenced"),
    [
        (DOT, f"        acc += tl.dot(a, b)  {MARK}\n"),
        (
            "        acc += tl.dot(a, b)  # the sum\n",
            f"        acc += tl.dot(a, b)  # the sum  {MARK}\n",
        ),
        (
            "        acc += tl.dot(a, b)  # tilewright: ignore[missing_tma]\n",
            "        acc += tl.dot(a, b)  # tilewright: ignore[missing_tma, dot_accumulator]\n",
        ),
        (
            "        # tilewright: ignore[missing_tma]  because\n" + DOT,
            "        # tilewright: ignore[missing_tma, dot_accumulator]  because\n" + DOT,
        ),
        (
            "        acc += tl.dot(\n            a, b)\n",
            f"        acc += tl.dot(  {MARK}\n            a, b)\n",
        ),
        (
            "        acc += \\\n            tl.dot(a, b)\n",
            f"        {MARK}\n        acc += \\\n            tl.dot(a, b)\n",
        ),
        (
            f"        acc += tl.dot(a, b)  # {'x' * 60}\n",
            f"        {MARK}\n        acc += tl.dot(a, b)  # {'x' * 60}\n",
        ),
    ],
)
def test_comment_on_the_line(line: str, silenced: str) -> None:
    assert _silenced(KERNEL.replace(DOT, line)) == KERNEL.replace(DOT, silenced)


def test_line_ends_are_kept() -> None:
    text = KERNEL.replace("tl.dot(a, b)", f"tl.dot(a, b)  # {'x' * 60}").replace("\n", "\r\n")
    new = _silenced(text)
    assert "\n" not in new.replace("\r\n", "")


def test_comment_in_the_kernel() -> None:
    new = _silenced(KERNEL, Scope.KERNEL)
    assert new == KERNEL.replace("@triton.jit\n", f"@triton.jit  {MARK}\n")
    other = KERNEL.replace("@triton.jit\n", "@triton.jit  # tilewright: ignore[missing_tma]\n")
    both = "ignore[missing_tma, dot_accumulator]"
    assert _silenced(other, Scope.KERNEL) == other.replace("ignore[missing_tma]", both)


def test_no_comment_where_none_works() -> None:
    module, issue = _found(KERNEL)
    unknown = replace(issue, id="no_such_issue")
    assert ignoring(module, unknown, Scope.LINE) is None


def test_a_file_is_marked_at_its_top_behind_what_must_stand_first() -> None:
    first = "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n"
    new = _silenced(first + KERNEL, Scope.FILE)
    assert new == f"{first}# tilewright: ignore-file[dot_accumulator]\n{KERNEL}"
    marked = f"# tilewright: ignore-file[odd_exp]\n{KERNEL}"
    assert _silenced(marked, Scope.FILE) == marked.replace("odd_exp", "odd_exp, dot_accumulator")
