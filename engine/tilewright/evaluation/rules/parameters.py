"""Parameters of an entry point: what they may become without calls of it meaning something else."""

import ast

from tilewright.evaluation.rules.model import Finding, Grade


def added(before: ast.FunctionDef, after: ast.FunctionDef) -> tuple[str, ...] | None:
    """Parameters that are new and have defaults, where the others are as they were; None where
    calls of the original could mean something else. Annotations do not count."""
    old, new = before.args, after.args
    known, now = _positional(old), _positional(new)
    is_same = now[: len(known)] == known and len(new.posonlyargs) == len(old.posonlyargs)
    named, now_named = _named(old), _named(new)
    is_same &= all(now_named.get(name) == default for name, default in named.items())
    is_same &= _name(old.vararg) == _name(new.vararg) and _name(old.kwarg) == _name(new.kwarg)
    more = (*now[len(known) :], *((n, d) for n, d in now_named.items() if n not in named))
    if not is_same or any(default is None for _, default in more):
        return None
    return tuple(name for name, _ in more)


def _positional(args: ast.arguments) -> list[tuple[str, str | None]]:
    """(name, default as text) in order."""
    names = [argument.arg for argument in (*args.posonlyargs, *args.args)]
    needed: list[str | None] = [None] * (len(names) - len(args.defaults))
    return list(zip(names, needed + [ast.unparse(one) for one in args.defaults], strict=True))


def _named(args: ast.arguments) -> dict[str, str | None]:
    pairs = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return {one.arg: None if default is None else ast.unparse(default) for one, default in pairs}


def _name(argument: ast.arg | None) -> str | None:
    return None if argument is None else argument.arg


def new_parameter(function: ast.FunctionDef, name: str) -> Finding:
    """One that nothing uses can do no more than tell who calls."""
    is_used = any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(function)
    )
    if not is_used:
        what = f"the new parameter {name} of {function.name}, which nothing uses,"
        return Finding(what, function.lineno, "leave it out")
    return Finding(
        f"the new parameter {name} of {function.name}", function.lineno,
        "it had its default in every check", Grade.EVIDENCE,
    )  # fmt: skip
