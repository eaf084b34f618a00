"""Uses of names that a kernel's syntax alone shows."""

import ast
from collections.abc import Mapping

_ADDRESSING = ("load", "store", "make_block_ptr", "make_tensor_descriptor")
_CONVERTING = ("to", "cast", "pointer_type")


def pointed_at(node: ast.AST) -> set[str]:
    """``x`` of ``x.dtype.element_ty`` and of ``tl.make_tensor_descriptor(x, ...)``."""
    found = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(
                attr="element_ty", value=ast.Attribute(attr="dtype", value=ast.Name(id=name))
            ):
                found.add(name)
            case ast.Call(
                func=ast.Attribute(attr="make_tensor_descriptor"), args=[ast.Name(id=name), *_]
            ):
                found.add(name)
    return found


def descriptors(node: ast.AST) -> set[str]:
    """``x`` of ``x.load([...])`` and ``x.store([...], value)``."""
    found = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Attribute(attr="load" | "store", value=ast.Name(id=name))):
                found.add(name)
    return found


def addressed(node: ast.AST) -> set[str]:
    """Names that addresses are computed from, through the names that are given them."""
    given: dict[str, list[ast.expr]] = {}
    pending: set[str] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                given.setdefault(name, []).append(value)
            case ast.Call(func=ast.Attribute(attr=attr), args=[address, *_]):
                if attr in _ADDRESSING or attr.startswith("atomic_"):
                    pending |= leftmost(address)
    found: set[str] = set()
    while pending:
        name = pending.pop()
        found.add(name)
        for value in given.get(name, ()):
            pending |= leftmost(value) - found
    return found


def leftmost(node: ast.expr) -> set[str]:
    """The name that an address starts with."""
    while True:
        match node:
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                node = node.left
            case ast.Call(func=ast.Attribute(attr="to", value=inner)):
                node = inner
            case ast.Call(func=ast.Attribute(attr="multiple_of" | "cast"), args=[inner, *_]):
                node = inner
            case ast.Name(id=name):
                return {name}
            case _:
                return set()


def tested(node: ast.AST) -> frozenset[str]:
    """Names that are a condition by themselves."""
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.If | ast.IfExp | ast.While):
            found |= {n.id for n in _conditions(inner.test) if isinstance(n, ast.Name)}
    return frozenset(found)


def _conditions(test: ast.expr) -> list[ast.expr]:
    match test:
        case ast.BoolOp():
            return [part for value in test.values for part in _conditions(value)]
        case ast.UnaryOp(op=ast.Not()):
            return _conditions(test.operand)
    return [test]


def used_as_types(node: ast.AST) -> frozenset[str]:
    """Names given where an element type is wanted."""
    found = set()
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        given = [k.value for k in call.keywords if k.arg in ("dtype", "out_dtype")]
        if isinstance(call.func, ast.Attribute) and call.func.attr in _CONVERTING:
            given += call.args
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("zeros", "full"):
            given += call.args[1:]
        found |= {n.id for n in given if isinstance(n, ast.Name)}
    return frozenset(found)


def compared(node: ast.AST, tree: ast.Module) -> Mapping[str, tuple[int | float | str | bool, ...]]:
    """Names compared with constants, literal or of the module, and those constants."""
    known = _module_constants(tree)
    found: dict[str, list[int | float | str | bool]] = {}
    for inner in ast.walk(node):
        match inner:
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.Eq() | ast.NotEq()], comparators=[other]
            ):
                if isinstance(other, ast.Constant) and isinstance(other.value, int | float | str):
                    found.setdefault(name, []).append(other.value)
                for used in ast.walk(other):
                    if isinstance(used, ast.Name) and used.id in known:
                        found.setdefault(name, []).append(known[used.id])
    return {name: tuple(values) for name, values in found.items()}


def _module_constants(tree: ast.Module) -> dict[str, int | float | str]:
    """``NAME = 1`` and ``NAME: tl.constexpr = tl.constexpr(1)``."""
    found: dict[str, int | float | str] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if isinstance(value, ast.Call) and len(value.args) == 1:
            value = value.args[0]
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float | str):
            found[name] = value.value
    return found
