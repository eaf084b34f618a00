"""Faults of NKI kernels as changes of their syntax trees."""

import ast
import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

Change = tuple[str, int, str, ast.Module]
SWAPPED = {
    "add": "subtract", "subtract": "add", "multiply": "add", "maximum": "minimum", "max": "min",
    "exp": "square", "sqrt": "square", "rsqrt": "sqrt", "divide": "multiply",
}  # fmt: skip
LOOPS = ("affine_range", "sequential_range", "static_range", "range")
DROPPED = ("scale", "bias", "transpose_x", "is_transpose", "reverse0", "operand1", "negate")
PAIRS = ("subtract", "divide", "nc_matmul", "matmul")


def name_of(call: ast.AST) -> str:
    function = call.func if isinstance(call, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def mutations(text: str, entry: str) -> Iterator[Change]:
    """Every change of the kernel's body: (kind, line, what, the changed tree)."""
    tree = ast.parse(text)
    body = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == entry)
    for index, node in enumerate(ast.walk(body)):
        for kind, edit in edits(node):
            changed = copy.deepcopy(tree)
            function = next(
                n for n in changed.body if isinstance(n, ast.FunctionDef) and n.name == entry
            )
            target = list(ast.walk(function))[index]
            what = edit(target)
            ast.fix_missing_locations(changed)
            yield kind, int(getattr(node, "lineno", 0)), what, changed


Edit = tuple[str, Callable[[Any], str]]


def edits(node: ast.AST) -> Iterator[Edit]:
    """The faults that a node can take."""
    if isinstance(node, ast.Call):
        yield from _call_edits(node)
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        yield "sum that replaces", _subtracts
    if isinstance(node, (ast.For, ast.FunctionDef)):
        yield from _body_edits(node)
    if isinstance(node, ast.BinOp):
        yield from _number_edits(node)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        yield from _index_edits(node)


def _call_edits(node: ast.Call) -> Iterator[Edit]:
    name = name_of(node)
    keywords = {k.arg for k in node.keywords}
    if "mask" in keywords:
        yield "dropped mask", partial(_drop, keyword="mask")
    for keyword in DROPPED:
        if keyword in keywords:
            yield "dropped argument", partial(_drop, keyword=keyword)
    yield from _declaration_edits(name)
    yield from _operand_edits(node, name, keywords)
    if name == "nc_matmul" and "dst" in keywords:
        yield "wrong accumulation flag", _overwrites
    if name in LOOPS and node.args:
        yield "off by one", _shrink


def _declaration_edits(name: str) -> Iterator[Edit]:
    if name in ("zeros", "full"):
        yield "no initial value", _uninitialized
    if name in ("memset", "full"):
        yield "wrong neutral element", _other_fill
    if name == "sequential_range":
        yield "affine where sequential is needed", _affine


def _operand_edits(node: ast.Call, name: str, keywords: set[str | None]) -> Iterator[Edit]:
    if name in PAIRS and len(node.args) >= 2:
        yield "swapped operands", _swap
    if name in ("nc_matmul", "tensor_tensor", "scalar_tensor_tensor") and len(keywords) > 2:
        yield "swapped operands", _swap_keywords
    for place, argument in enumerate((*node.args, *(k.value for k in node.keywords))):
        if isinstance(argument, ast.Attribute) and argument.attr in SWAPPED:
            yield "wrong function", partial(_other_function, place=place)


def _drop(node: ast.Call, keyword: str) -> str:
    node.keywords = [k for k in node.keywords if k.arg != keyword]
    return f"without {keyword}="


def _overwrites(node: ast.Call) -> str:
    node.keywords.append(ast.keyword("accumulate", ast.Constant(False)))
    return "accumulate=False"


def _uninitialized(node: ast.Call) -> str:
    assert isinstance(node.func, ast.Attribute)
    if node.func.attr == "full":
        node.keywords = [k for k in node.keywords if k.arg != "fill_value"]
        node.args[1:2] = [] if len(node.args) > 2 else node.args[1:2]
    node.keywords = [k for k in node.keywords if k.arg != "lazy_initialization"]
    node.func.attr = "ndarray"
    return "nl.ndarray"


def _affine(node: ast.Call) -> str:
    assert isinstance(node.func, ast.Attribute)
    node.func.attr = "affine_range"
    return "nl.affine_range"


def _shrink(node: ast.Call) -> str:
    node.args[-1] = ast.BinOp(node.args[-1], ast.Sub(), ast.Constant(1))
    return "one turn less"


def _swap(node: ast.Call) -> str:
    node.args[0], node.args[1] = node.args[1], node.args[0]
    return "first two operands exchanged"


def _swap_keywords(node: ast.Call) -> str:
    pairs = (("stationary", "moving"), ("data1", "data2"), ("data", "operand1"))
    named = {k.arg: k for k in node.keywords}
    for first, second in pairs:
        if first in named and second in named:
            a, b = named[first], named[second]
            a.value, b.value = b.value, a.value
            return f"{first} and {second} exchanged"
    return "unchanged"


def _other_function(node: ast.Call, place: int) -> str:
    count = len(node.args)
    found = node.args[place] if place < count else node.keywords[place - count].value
    assert isinstance(found, ast.Attribute)
    before, found.attr = found.attr, SWAPPED[found.attr]
    return f"{found.attr} in place of {before}"


def _other_fill(node: ast.Call) -> str:
    for keyword in node.keywords:
        if keyword.arg in ("value", "fill_value") and isinstance(keyword.value, ast.Constant):
            keyword.value = ast.BinOp(keyword.value, ast.Add(), ast.Constant(1.0))
            return "filled with one more"
    return "unchanged"


def _subtracts(node: Any) -> str:
    node.op = ast.Sub()
    return "-= in place of +="


def _body_edits(node: ast.For | ast.FunctionDef) -> Iterator[Edit]:
    for place, statement in enumerate(node.body):
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Expr) and isinstance(value, ast.Call):
            yield "dropped instruction", partial(_remove, place=place)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            yield "dropped instruction", partial(_remove, place=place)
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
            yield "sum that replaces", partial(_replace_sum, place=place)


def _remove(node: Any, place: int) -> str:
    dropped = ast.unparse(node.body[place])[:50]
    node.body[place] = ast.Pass()
    return f"without {dropped}"


def _replace_sum(node: Any, place: int) -> str:
    old = node.body[place]
    node.body[place] = ast.Assign([old.target], old.value)
    return "= in place of +="


def _number_edits(node: ast.BinOp) -> Iterator[Edit]:
    for side in ("left", "right"):
        value = getattr(node, side)
        if isinstance(value, ast.Constant) and isinstance(value.value, (int, float)):
            whole = isinstance(value.value, int)
            if isinstance(node.op, ast.Mult) and whole:
                yield "off by one", partial(_other_number, side=side, by=-1)
            elif isinstance(node.op, (ast.Add, ast.Sub)) and whole:
                yield "off by one", partial(_other_number, side=side, by=1)


def _other_number(node: Any, side: str, by: int) -> str:
    value = getattr(node, side)
    value.value += by
    return f"{value.value} in place of {value.value - by}"


def _index_edits(node: ast.Subscript) -> Iterator[Edit]:
    assert isinstance(node.slice, ast.Tuple)
    names = [i for i, e in enumerate(node.slice.elts) if isinstance(e, ast.Name)]
    for place in names:
        if isinstance(node.ctx, ast.Load):
            yield "wrong tile", partial(_first_tile, place=place)


def _first_tile(node: Any, place: int) -> str:
    before = node.slice.elts[place].id
    node.slice.elts[place] = ast.Constant(0)
    return f"index 0 in place of {before}"
