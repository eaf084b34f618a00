"""Arguments are added and removed in the layout that a call has."""

import ast

import pytest

from tilewright.rewrites.calls import append_keywords, remove_keywords
from tilewright.rewrites.edit import OverlapError, Patch
from tilewright.source import parse_module


def the_call(text: str) -> tuple[Patch, ast.Call]:
    module = parse_module(text)
    statement = module.tree.body[0]
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    return Patch(module), statement.value


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()\n", "f(z=1)\n"),
        ("f(x)\n", "f(x, z=1)\n"),
        ("f((x))  # why\n", "f((x), z=1)  # why\n"),
        ("f(\n    x, y=2\n)\n", "f(\n    x, y=2, z=1\n)\n"),
        ("f(\n    x,\n    y=2,\n)\n", "f(\n    x,\n    y=2,\n    z=1,\n)\n"),
        ("f(\n    x,\n    y=2\n)\n", "f(\n    x,\n    y=2,\n    z=1\n)\n"),
        ("f(\n    x,\n    y=2,  # two\n)\n", "f(\n    x,\n    y=2,  # two\n    z=1,\n)\n"),
        (
            "f(\n    x,\n    y=(\n        2\n    ),\n)\n",
            "f(\n    x,\n    y=(\n        2\n    ),\n    z=1,\n)\n",
        ),
        ("f(x,\n  y=2)\n", "f(x,\n  y=2, z=1)\n"),
        ("f(*a, **b)\n", "f(*a, **b, z=1)\n"),
    ],
)
def test_a_keyword_is_appended(before: str, after: str) -> None:
    patch, call = the_call(before)
    append_keywords(patch, call, ["z=1"])
    assert patch.apply() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(a=1)\n", "f()\n"),
        ("f(x, a=1)\n", "f(x)\n"),
        ("f(x, a=1, b=2, c=3)\n", "f(x, c=3)\n"),
        ("f(x, a=1, c=3, b=2)\n", "f(x, c=3)\n"),
        ("f(\n    x,\n    a=1,\n    b=2,\n)\n", "f(\n    x,\n)\n"),
        ("f(\n    x,\n    b=2\n)\n", "f(\n    x,\n)\n"),
        ("f(\n    a=1,\n    c=3,  # three\n    b=2,\n)\n", "f(\n    c=3,  # three\n)\n"),
    ],
)
def test_keywords_are_removed_with_their_commas(before: str, after: str) -> None:
    patch, call = the_call(before)
    remove_keywords(patch, call, {"a", "b"})
    assert patch.apply() == after


def test_edits_of_the_same_characters_are_a_fault() -> None:
    patch, call = the_call("f(x)\n")
    patch.replace(call, "g(x)")
    patch.replace(call.args[0], "y")
    with pytest.raises(OverlapError):
        patch.apply()
