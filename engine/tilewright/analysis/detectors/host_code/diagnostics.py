"""Which host code runs only to find faults: for a debugger, a validator, or on the way to an end.

There a wait for the device is meant, or costs nothing that a run without a fault would notice.
So it is where a caller has its tensors on the host.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.source.model import Module
from tilewright.source.parse import module_constants

_DEBUGGING = frozenset({"debug", "debugging", "verbose", "trace", "sanity", "dbg"})
_VALIDATING = frozenset({"check", "checks", "validate", "validation", "validating", "verify"})
_VALIDATORS = ("validate", "check", "verify", "assert", "sanity")
_ENVIRONMENT = frozenset({"os.environ", "os.getenv"})
_EXITS = frozenset({"exit", "quit", "sys.exit", "os._exit"})
_ON = frozenset({"1", "true", "on", "yes"})


@dataclass(frozen=True)
class _Place:
    """A block of statements, whether it is one of several ways, and the test that leads to it."""

    block: list[ast.stmt]
    is_branch: bool
    test: ast.expr | None = None


def is_diagnostic(
    module: Module, function: ast.FunctionDef, node: ast.AST, validator: str | None = None
) -> bool:
    """Whether a node runs only while faults are looked for, or once one is found.

    ``validator`` is the function that is called there: its name says whether it is a check.
    """
    is_check = validator is not None and is_validator(validator)
    return any(
        _ends(module, place)
        or (place.test is not None and _asks_for_faults(module, function, place.test, is_check))
        or (place.test is not None and _asks_for_host(place.test))
        for place in _enclosing_blocks(function, node)
    )


def is_validator(function: str) -> bool:
    """Whether a function checks what it is given, by its name."""
    return function.rpartition(".")[2].lstrip("_").lower().startswith(_VALIDATORS)


def _enclosing_blocks(function: ast.FunctionDef, node: ast.AST) -> Iterator[_Place]:
    """The blocks that a node stands in, outer ones first."""
    place: _Place | None = _Place(function.body, False)
    while place is not None:
        yield place
        statement = next((s for s in place.block if _holds(s, node)), None)
        inner = () if statement is None else _blocks(statement)
        place = next((p for p in inner if any(_holds(s, node) for s in p.block)), None)
        if place is None and isinstance(statement, ast.Raise):
            yield _Place([statement], True)


def _blocks(statement: ast.stmt) -> Iterator[_Place]:
    """The blocks of a compound statement; none of a function's or a class's."""
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            yield _Place(body, True, test)
            yield _Place(orelse, True)
        case ast.For() | ast.While() | ast.With() | ast.Try():
            for name in ("body", "orelse", "finalbody"):
                yield _Place(getattr(statement, name, []), False)
            for handler in getattr(statement, "handlers", ()):
                yield _Place(handler.body, True)


def _holds(statement: ast.stmt, node: ast.AST) -> bool:
    first = getattr(node, "lineno", 0)
    if not statement.lineno <= first <= (statement.end_lineno or statement.lineno):
        return False
    return any(part is node for part in ast.walk(statement))


def _ends(module: Module, place: _Place) -> bool:
    """Whether a block ends with the process, or a branch in an error."""
    last = place.block[-1]
    if isinstance(last, ast.Raise):
        return place.is_branch
    return isinstance(last, ast.Expr) and module.names.is_call(last.value, *_EXITS)


def _asks_for_faults(
    module: Module, function: ast.FunctionDef, test: ast.expr, is_check: bool
) -> bool:
    """Whether a test holds only where somebody has switched a search for faults on."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_asks_for_faults(module, function, part, is_check) for part in test.values)
    if isinstance(test, ast.BoolOp | ast.UnaryOp):
        return False
    if _asks_environment(module, test):
        return True
    switch = test.left if isinstance(test, ast.Compare) else test
    if isinstance(switch, ast.Attribute):
        return _is_switch(switch.attr, is_check or _named(switch.attr, _DEBUGGING))
    if not isinstance(switch, ast.Name):
        return False
    given = module_constants(module.tree).get(switch.id)
    if given is not None and _is_off(module, given):
        return True
    is_off = is_check or _default(function, switch.id) in (False, None)
    return _is_switch(switch.id, is_off or _named(switch.id, _DEBUGGING))


def _asks_for_host(test: ast.expr) -> bool:
    """Whether a test holds for tensors of the host: ``x.is_cpu``, ``device.type == "cpu"``."""
    match test:
        case ast.Attribute(attr="is_cpu"):
            return True
        case ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value="cpu")]):
            return True
        case ast.BoolOp(op=ast.And(), values=values):
            return any(map(_asks_for_host, values))
    return False


def _is_switch(name: str, is_off: bool) -> bool:
    """Whether a name is that of a switch for debugging or validation, off unless asked for."""
    return is_off and _named(name, _DEBUGGING | _VALIDATING)


def _named(name: str, words: frozenset[str]) -> bool:
    return not words.isdisjoint(name.lower().split("_"))


def _is_off(module: Module, given: ast.expr) -> bool:
    """Whether a constant of the module is False, or what the environment says."""
    is_false = isinstance(given, ast.Constant) and given.value is False
    return is_false or _asks_environment(module, given)


def _asks_environment(module: Module, node: ast.expr) -> bool:
    """Whether the environment is asked for what is off unless it says otherwise."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.expr)]
    is_on = any(
        isinstance(p, ast.Constant) and str(p.value).lower() in _ON for p in _default_values(parts)
    )
    return not is_on and any(module.names.resolve(part) in _ENVIRONMENT for part in parts)


def _default_values(parts: list[ast.expr]) -> Iterator[ast.expr]:
    """What calls are to answer where the environment says nothing."""
    for part in parts:
        if isinstance(part, ast.Call):
            yield from (*part.args[1:2], *(k.value for k in part.keywords if k.arg == "default"))


def _default(function: ast.FunctionDef, name: str) -> object:
    """The constant that a parameter has by default; "" where it has none or is no parameter."""
    args = function.args
    named = [*args.posonlyargs, *args.args]
    pairs = list(zip(named[len(named) - len(args.defaults) :], args.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d]
    given = next((d for a, d in pairs if a.arg == name), None)
    return given.value if isinstance(given, ast.Constant) else ""


def is_final_print(function: ast.FunctionDef, node: ast.Call) -> bool:
    """Whether a print of what a function has made, and does not return, is its end and purpose."""
    last = function.body[-1]
    if not isinstance(last, ast.Expr) or last.value is not node:
        return False
    taken = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    shown = {name.id for a in node.args for name in ast.walk(a) if isinstance(name, ast.Name)}
    returns = (n for n in ast.walk(function) if isinstance(n, ast.Return | ast.Yield))
    is_print = isinstance(node.func, ast.Name) and node.func.id == "print"
    return is_print and not taken & shown and all(found.value is None for found in returns)


def is_shown(function: ast.FunctionDef, node: ast.AST) -> bool:
    """Whether a node stands in an f-string: a number for people to read, seldom in a hot path."""
    texts = (text for text in ast.walk(function) if isinstance(text, ast.JoinedStr))
    return any(inner is node for text in texts for inner in ast.walk(text))


def is_without_launch(function: ast.FunctionDef, node: ast.AST, launches: list[ast.Call]) -> bool:
    """Whether no launch runs where a node does: it stands on the other side of a conditional.

    Or behind one whose launching side returns: what is left then is the way without a kernel.
    """
    return bool(launches) and all(_exclude(function, node, launch) for launch in launches)


def _exclude(function: ast.FunctionDef, node: ast.AST, launch: ast.Call) -> bool:
    """Whether a run of the function comes to one of both only."""
    block = function.body
    while True:
        one = next((s for s in block if _holds(s, node)), None)
        two = next((s for s in block if _holds(s, launch)), None)
        if one is None or two is None:
            return False
        if one is not two:
            side = next((p for p in _blocks(two) if any(_holds(s, launch) for s in p.block)), None)
            is_left = side is not None and isinstance(side.block[-1], ast.Return | ast.Raise)
            return is_left and isinstance(two, ast.If) and one.lineno > two.lineno
        places = [place.block for place in _blocks(one) if place.block]
        sides = [[b for b in places if any(_holds(s, n) for s in b)] for n in (node, launch)]
        if not all(sides):
            return False
        if sides[0][0] is not sides[1][0]:
            return isinstance(one, ast.If)
        block = sides[0][0]
