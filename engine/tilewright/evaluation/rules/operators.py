"""Tensor operators in host code, however spelled: methods, signs, built-ins, items."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.allowlists import (
    BUILTIN_OPERATORS,
    COMPUTING,
    FIRST_VALUES,
    METHODS,
)
from tilewright.evaluation.rules.model import Finding, Grade
from tilewright.evaluation.rules.tensors import is_limits, is_tensor, tensor_names
from tilewright.evaluation.rules.view import FUNCTIONS, View, line_of
from tilewright.problems.permissions import HOST_READS

_IN_TRITON = "the work must stay in Triton"
_SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>", ast.USub: "-", ast.Invert: "~",
}  # fmt: skip
_READING = ("item", "all", "any", "bool", "int", "float")
_COMPARING = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def operators(view: View) -> Iterator[Finding]:
    """Operators on what is certainly a tensor, and methods that only tensors have."""
    tensors: dict[int, frozenset[str]] = {}
    for node in view.host:
        if view.is_first_value(node):
            continue
        function = view.function_of(node)
        known: frozenset[str] = frozenset()
        while function is not None:
            if id(function) not in tensors:
                tensors[id(function)] = tensor_names(view, function)
            known |= tensors[id(function)]
            function = next(
                (a for a in view.enclosing_nodes(function) if isinstance(a, FUNCTIONS)), None
            )
        yield from _node_findings(view, node, known)


def _node_findings(view: View, node: ast.AST, known: frozenset[str]) -> Iterator[Finding]:
    if isinstance(node, ast.Attribute):
        yield from _attribute(view, node, known)
    elif view.is_in_nki_code(node):
        return  # tiles have signs and items too
    elif isinstance(node, ast.BinOp | ast.UnaryOp | ast.AugAssign | ast.Compare):
        yield from _signed(view, node, known)
    elif isinstance(node, ast.Subscript):
        yield from _item(view, node, known)
    elif isinstance(node, ast.Call):
        yield from _call_findings(view, node, known)


def _call_findings(view: View, node: ast.Call, known: frozenset[str]) -> Iterator[Finding]:
    """A built-in on a tensor, or ``getattr(x, "sum")``."""
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            if name in COMPUTING:
                yield _reaching(f".{name}() of a tensor", node, name)
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in BUILTIN_OPERATORS:
            if is_tensor(view, first, known):
                yield _reaching(f"{name}() of a tensor", node, name)


def _signed(view: View, node: ast.expr | ast.AugAssign, known: frozenset[str]) -> Iterator[Finding]:
    match node:
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            yield Finding("the @ operator", line_of(node), _IN_TRITON)
            return
        case ast.BinOp(left=left, op=sign, right=right):
            operands = (left, right)
        case ast.UnaryOp(op=(ast.USub() | ast.Invert()) as sign, operand=operand):
            operands = (operand, operand)
        case ast.AugAssign(target=target, op=sign, value=value):
            operands = (target, value)
        case ast.Compare(left=left, ops=[comparing], comparators=[right]):
            if isinstance(comparing, _COMPARING) and any(
                is_tensor(view, side, known) for side in (left, right)
            ):
                yield Finding("a comparison of tensors", line_of(node), _IN_TRITON)
            return
        case _:
            return
    if any(is_tensor(view, operand, known) for operand in operands):
        what = f"the {_SIGNS.get(type(sign), '?')} operator on tensors"
        yield Finding(what, line_of(node), _IN_TRITON)


def _attribute(view: View, node: ast.Attribute, known: frozenset[str]) -> Iterator[Finding]:
    name = node.attr
    if not isinstance(node.ctx, ast.Load) or _is_of_library(view, node):
        return
    if name == "data_ptr":
        yield from _address(view, node)
    elif name in COMPUTING and not is_limits(view, node.value):
        if not (name in FIRST_VALUES and view.is_constructing(node)):
            yield _reaching(f".{name}() of a tensor", node, name)
    elif name not in METHODS and is_tensor(view, node.value, known):
        yield _reaching(f"attribute .{name} of a tensor", node, name)


def _reaching(key: str, node: ast.AST, name: str) -> Finding:
    """An operator; a setting permits those that only tell the host a number or a truth."""
    allowed_by = (HOST_READS,) if name in _READING else ()
    return Finding(key, line_of(node), _IN_TRITON, allowed_by=allowed_by)


def _is_of_library(view: View, node: ast.Attribute) -> bool:
    dotted = view.dotted(node)
    return dotted is not None and dotted.partition(".")[0] in (
        {"torch", "triton", "math", "numpy", "nki"} | view.modules
    )


def _address(view: View, node: ast.AST) -> Iterator[Finding]:
    """An address may say how a tensor is aligned; as a key it tells tensors of calls apart."""
    for above in view.enclosing_nodes(node):
        if isinstance(above, ast.stmt):
            break
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mod | ast.BitAnd):
            yield Finding(
                ".data_ptr() asked for alignment", line_of(node),
                "results at other alignments must agree", Grade.EVIDENCE,
            )  # fmt: skip
            return
    yield Finding(".data_ptr() of a tensor", line_of(node), "pass the tensor itself")


def _item(view: View, node: ast.Subscript, known: frozenset[str]) -> Iterator[Finding]:
    if not is_tensor(view, node.value, known):
        return
    if not isinstance(node.ctx, ast.Load):
        yield Finding("an assignment to items of a tensor", line_of(node), _IN_TRITON)
    elif is_tensor(view, node.slice, known):
        yield Finding("items of a tensor picked by a tensor", line_of(node), _IN_TRITON)
