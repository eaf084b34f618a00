"""Statements and expressions that a name leads to, at module level or in a function."""

import ast
from collections.abc import Iterable, Iterator

Root = ast.expr | ast.stmt
_BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)


def statements_of(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a scope, those in its blocks with them; not those of inner functions."""
    for statement in body:
        yield statement
        if isinstance(statement, _BLOCKS):
            inner = (child for child in ast.iter_child_nodes(statement))
            yield from statements_of(node for node in _unpacked(inner))


def _unpacked(nodes: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    for node in nodes:
        if isinstance(node, ast.stmt):
            yield node
        elif isinstance(node, ast.ExceptHandler):
            yield from node.body


def names_in(root: ast.AST) -> set[str]:
    """Every name that is read or written below a node."""
    return {node.id for node in ast.walk(root) if isinstance(node, ast.Name)}


class Scope:
    """What gives the names of a scope their values: assignments, functions, ``name.append``."""

    def __init__(self, body: Iterable[ast.stmt]) -> None:
        self._giving: dict[str, list[ast.stmt]] = {}
        for statement in statements_of(body):
            for name in _bound_names(statement):
                self._giving.setdefault(name, []).append(statement)

    def giving(self, name: str) -> list[ast.stmt]:
        """The statements that give a name its value, in order."""
        return self._giving.get(name, [])

    def function(self, name: str) -> ast.FunctionDef | None:
        """The function that a name stands for, where it is one and nothing else."""
        found = self.giving(name)
        only = found[0] if len(found) == 1 else None
        return only if isinstance(only, ast.FunctionDef) else None


def _bound_names(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return set().union(*(_roots(target) for target in targets))
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return _roots(target)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return {name}
    return set()


def _roots(target: ast.expr) -> set[str]:
    """``a`` of ``a = ...``, ``a[0] = ...`` and ``a.b = ...``."""
    while isinstance(target, ast.Subscript | ast.Attribute | ast.Starred):
        target = target.value
    if isinstance(target, ast.Tuple | ast.List):
        return set().union(*(_roots(element) for element in target.elts))
    return {target.id} if isinstance(target, ast.Name) else set()


def reached(roots: Iterable[ast.expr], scopes: Iterable[Scope]) -> list[Root]:
    """Expressions, and every statement that gives a name in them a value, each once.

    Kernels are not entered: what they mention is their own.
    """
    known, found = tuple(scopes), list[Root]()
    pending: list[Root] = list(roots)
    seen: set[int] = set()
    while pending:
        root = pending.pop()
        if id(root) in seen:
            continue
        seen.add(id(root))
        found.append(root)
        for name in sorted(names_in(root)):
            pending += [given for scope in known for given in scope.giving(name)]
    return found
