"""Statements of a function that never run, by the text of its file alone."""

import ast
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping

from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import per_module
from tilewright.python_syntax import descendants, dotted_text, is_name
from tilewright.source.model import Module
from tilewright.source.node_memo import per_node, per_text
from tilewright.source.parse import module_constants

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_EXITS = ("exit", "quit", "sys.exit", "os._exit", "os.abort")
_Truths = Mapping[str, bool | None]
"""Names with whether they are true; None for one that is no constant."""


def is_dead(module: Module, line: int) -> bool:
    """Whether a line stands behind a statement that leaves its block, or under a constant.

    So does each line of a function that another replaces. A name is a constant if the function, or
    else the module, sets it once, to one.
    """
    body = module.named_statements.body
    place = bisect_right(body, line, key=lambda statement: statement.lineno) - 1
    if place < 0 or line > (body[place].end_lineno or 0):
        return False
    statement, offset = body[place], line - body[place].lineno
    return (
        offset in _dead_offsets(statement)
        or offset in _dead_of_module(module, statement)
        or _is_replaced(statement, body[place + 1 :])
    )


def _is_replaced(statement: ast.stmt, later: list[ast.stmt]) -> bool:
    """Whether a later function takes a plain function's name before anything reads it."""
    if not isinstance(statement, ast.FunctionDef) or statement.decorator_list:
        return False
    named = (n for n, o in enumerate(later) if getattr(o, "name", None) == statement.name)
    end = next(named, None)
    if end is None or not isinstance(later[end], ast.FunctionDef):
        return False
    parts = (part for other in later[:end] for part in _run_at_once(other))
    return not any(is_name(node, statement.name) for part in parts for node in ast.walk(part))


def _run_at_once(statement: ast.stmt) -> Iterator[ast.AST]:
    """What of a statement runs with it: not the bodies of functions, which find the last names."""
    match statement:
        case ast.FunctionDef(decorator_list=decorators):
            yield from decorators
        case ast.ClassDef(decorator_list=decorators, bases=bases, body=body):
            yield from (*decorators, *bases)
            for inner in body:
                yield from _run_at_once(inner)
        case _:
            yield statement


def _dead_of_module(module: Module, statement: ast.stmt) -> frozenset[int]:
    """What is dead in a statement by constants of the module alone, or with its own."""
    tested = _tested_names(statement)
    truths = _module_truths(module) if tested else {}
    return _offsets(statement, truths) if tested & truths.keys() else frozenset()


@per_text
def _dead_offsets(statement: ast.stmt) -> frozenset[int]:
    """The lines of a module's statement that never run, counted from its first one."""
    return _offsets(statement, {})


@per_text
def _tested_names(statement: ast.stmt) -> frozenset[str]:
    """The names in conditions of a module's statement."""
    branches = (n for n in descendants(statement) if isinstance(n, ast.If | ast.IfExp))
    names = (n for branch in branches for n in descendants(branch.test))
    return frozenset(node.id for node in names if isinstance(node, ast.Name))


def _offsets(statement: ast.stmt, outer: _Truths) -> frozenset[int]:
    found: set[int] = set()
    for function in descendants(statement):
        if isinstance(function, ast.FunctionDef):
            truths = {**outer, **_local_truths(function)}
            for dead in _dead(function.body, truths):
                found.update(range(dead.lineno, (dead.end_lineno or dead.lineno) + 1))
            found |= _dead_arms(function, truths)
    if isinstance(statement, ast.If):
        for dead in _dead([statement], outer):
            found.update(range(dead.lineno, (dead.end_lineno or dead.lineno) + 1))
    return frozenset(line - statement.lineno for line in found)


@per_module
def _module_truths(module: Module) -> _Truths:
    """The module's constants that no function declares global: ``FUSED = True``."""
    set_again = module.lookup.says("global ")
    constants = {} if set_again else module_constants(module.tree)
    found = ((name, _truth(value, {})) for name, value in constants.items())
    return {name: truth for name, truth in found if truth is not None}


@per_node
def _local_truths(function: ast.FunctionDef) -> _Truths:
    """The local names of a function, each with whether it is true, where that is a constant."""
    bound = Counter(
        node.id for node in nodes_like(function, ast.Name) if not isinstance(node.ctx, ast.Load)
    )
    bound.update(argument.arg for argument in nodes_like(function, ast.arg))
    found: dict[str, bool | None] = dict.fromkeys(bound)
    outer = {name for node in nodes_like(function, ast.Global) for name in node.names}
    outer |= {name for node in nodes_like(function, ast.Nonlocal) for name in node.names}
    for statement in function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() as value) if (
                bound[name] == 1 and name not in outer
            ):
                found[name] = _truth(value, {})
    return found


def _dead_arms(function: ast.FunctionDef, truths: _Truths) -> frozenset[int]:
    """The lines of ``x if False else y`` that only the arm which is never chosen stands on."""
    found: set[int] = set()
    for choice in nodes_like(function, ast.IfExp):
        truth = _truth(choice.test, truths)
        if truth is not None:
            arm, other = (choice.orelse, choice.body) if truth else (choice.body, choice.orelse)
            found |= _lines(arm) - _lines(other) - _lines(choice.test)
    return frozenset(found)


def _lines(node: ast.expr) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _dead(body: list[ast.stmt], truths: _Truths) -> Iterator[ast.stmt]:
    is_left = False
    for statement in body:
        if is_left:
            yield statement
            continue
        is_left = _leaves(statement)
        blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
        if isinstance(statement, ast.If):
            truth = _truth(statement.test, truths)
            if truth is not None:
                yield from blocks[truth]
                # What the chosen branch leaves, the rest of the block leaves.
                is_left = any(map(_leaves, blocks[not truth]))
                blocks[truth] = []
        for block in blocks:
            yield from _dead(block, truths)


def _leaves(statement: ast.stmt) -> bool:
    """Whether nothing behind a statement runs, whatever the values are."""
    match statement:
        case ast.Assert(test=test):
            return isinstance(test, ast.Constant) and not test.value
        case ast.Expr(value=ast.Call(func=function)):
            return dotted_text(function) in _EXITS
        case ast.If(body=body, orelse=orelse):
            return any(map(_leaves, body)) and any(map(_leaves, orelse))
        case ast.While(test=ast.Constant(value=value), body=body) if value:
            return not any(isinstance(n, ast.Break) for part in body for n in ast.walk(part))
    return isinstance(statement, _LEAVES)


def _truth(test: ast.expr, truths: _Truths) -> bool | None:
    """Whether a condition holds, where constants in it decide that."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Name(id=name):
            return truths.get(name)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            truth = _truth(operand, truths)
            return None if truth is None else not truth
        case ast.BoolOp(op=ast.And(), values=parts):
            return _joined([_truth(part, truths) for part in parts], decides=False)
        case ast.BoolOp(op=ast.Or(), values=parts):
            return _joined([_truth(part, truths) for part in parts], decides=True)
    return None


def _joined(parts: list[bool | None], *, decides: bool) -> bool | None:
    """Whether ``or`` holds, where a true part decides; or ``and``, where a false one does."""
    if decides in parts:
        return decides
    return None if None in parts else not decides
