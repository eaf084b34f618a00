"""Whether the length of a slice is the same in each turn of a loop: a little algebra."""

import ast
from collections import Counter
from enum import Enum

from tilewright.analysis.nki_scopes import Kind, Scopes

Polynomial = Counter[tuple[str, ...]]
_DEPTH = 12


class Extent(Enum):
    """What is known of a slice's length."""

    FIXED = "fixed"
    VARIES = "varies"


def extent_of(scopes: Scopes, node: ast.Slice) -> Extent:
    """Whether ``stop - start`` still holds a loop's index when terms have cancelled."""
    moving: set[str] = set()
    stop = _polynomial(scopes, node.upper, moving, _DEPTH) if node.upper else Counter({("",): 1})
    start = _polynomial(scopes, node.lower, moving, _DEPTH) if node.lower else Counter()
    rest = Counter(stop)
    rest.subtract(start)
    varies = any(moving & set(term) for term, times in rest.items() if times)
    return Extent.VARIES if varies else Extent.FIXED


def _polynomial(scopes: Scopes, node: ast.expr, moving: set[str], depth: int) -> Polynomial:
    match node:
        case ast.Constant(value=int(value)):
            return Counter({(): int(value)})
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()) if depth:
            left = _polynomial(scopes, node.left, moving, depth - 1)
            right = _polynomial(scopes, node.right, moving, depth - 1)
            return _combined(node.op, left, right)
        case ast.Name() if depth:
            binding = scopes.bound.get(node)
            if binding is not None and binding.value is not None:
                return _polynomial(scopes, binding.value, moving, depth - 1)
    return _atom(scopes, node, moving)


def _combined(op: ast.operator, left: Polynomial, right: Polynomial) -> Polynomial:
    if isinstance(op, ast.Mult):
        product: Polynomial = Counter()
        for one, times in left.items():
            for two, more in right.items():
                product[tuple(sorted((*one, *two)))] += times * more
        return product
    total: Polynomial = Counter(left)
    if isinstance(op, ast.Add):
        total.update(right)
    else:
        total.subtract(right)
    return total


def _atom(scopes: Scopes, node: ast.expr, moving: set[str]) -> Polynomial:
    name = ast.dump(node)
    if scopes.fact(node).kind is Kind.LOOP:
        moving.add(name)
    return Counter({(name,): 1})
