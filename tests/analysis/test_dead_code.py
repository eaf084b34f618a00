"""What never runs by the text of a file."""

import ast

import pytest

from tilewright.analysis.dead_code import is_dead
from tilewright.source import parse_module

_FUNCTION = """
{module}
def host(x{parameter}):
    {local}
    {branch}
        first(x)
    else:
        second(x)
"""


def _dead(text: str) -> set[str]:
    """The called names on the lines of the first function that never run."""
    module = parse_module(text)
    function = next(n for n in module.tree.body if isinstance(n, ast.FunctionDef))
    calls = (n for n in ast.walk(function) if isinstance(n, ast.Call) and is_dead(module, n.lineno))
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


@pytest.mark.parametrize(
    ("branch", "dead"),
    [
        ("if True:", {"second"}),
        ("if x and False:", {"first"}),
        ("if not (x or True):", {"first"}),
        ("if FUSED:", {"second"}),
        ("if not FUSED and x:", {"first"}),
        ("if FUSED and x:", set()),
        ("if allowed:", {"first"}),
        ("if unknown:", set()),
    ],
)
def test_a_branch_that_constants_exclude(branch: str, dead: set[str]) -> None:
    text = _FUNCTION.format(
        module="FUSED = True", parameter="", local="allowed = False", branch=branch
    )
    assert _dead(text) == dead


@pytest.mark.parametrize(
    ("module", "parameter", "local"),
    [
        ("FUSED = True\nFUSED = other()", "", "pass"),
        (
            "try:\n    import a\n    FUSED = True\nexcept ImportError:\n    FUSED = False",
            "",
            "pass",
        ),
        ("FUSED = True\ndef set_it():\n    global FUSED\n    FUSED = False", "", "pass"),
        ("FUSED = True", ", FUSED=False", "pass"),
        ("FUSED = True", "", "FUSED = x.is_cuda"),
        ("FUSED = True", "", "for FUSED in x: pass"),
        ("", "", "FUSED = False\n    FUSED |= x.is_cuda"),
    ],
)
def test_a_name_that_may_hold_something_else(module: str, parameter: str, local: str) -> None:
    text = _FUNCTION.format(module="", parameter=parameter, local=local, branch="if FUSED:")
    assert _dead(f"{text}\n{module}\n") == set()


def test_what_follows_a_chosen_branch_that_leaves() -> None:
    text = "def host(x):\n    if True:\n        return first(x)\n    second(x)\n"
    assert _dead(text) == {"second"}


@pytest.mark.parametrize(
    ("statement", "leaves"),
    [
        ("assert False, 'not yet'", True),
        ("sys.exit(1)", True),
        ("while True:\n        first(x)", True),
        ("while True:\n        first(x)\n        break", False),
        ("if x:\n        return first(x)\n    else:\n        raise ValueError(x)", True),
        ("if x:\n        return first(x)", False),
        ("assert x, 'not yet'", False),
        ("sys.stdout.write(x)", False),
    ],
)
def test_what_follows_a_statement_that_leaves(statement: str, leaves: bool) -> None:
    text = f"def host(x):\n    {statement}\n    second(x)\n"
    assert _dead(text) == ({"second"} if leaves else set())


def test_what_a_constant_rules_out_at_module_level() -> None:
    module = parse_module("if False:\n    first()\nelse:\n    second()\n")
    assert [is_dead(module, line) for line in (2, 4)] == [True, False]


@pytest.mark.parametrize(
    ("above", "between", "dead"),
    [
        ("", "", {"first"}),
        ("", "def other():\n    host()\n", {"first"}),
        ("", "host(1)\n", set()),
        ("", "TABLE = {1: host}\n", set()),
        ("", "class Op:\n    def run(self):\n        host()\n", {"first"}),
        ("", "class Op:\n    run = host\n", set()),
        ("@kept\n", "", set()),
        ("", "if x:\n    pass\n", {"first"}),
    ],
)
def test_a_function_that_another_replaces(above: str, between: str, dead: set[str]) -> None:
    text = f"{above}def host(x):\n    first(x)\n{between}def host(y):\n    second(y)\n"
    assert _dead(text) == dead
