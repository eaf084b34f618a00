"""Which numbers of a launch are another at each call: rows of a batch, tokens, elements."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from tilewright.analysis.detectors.launch_sizes import size_passed
from tilewright.analysis.nodes import nodes_like, nodes_of
from tilewright.source.host import host_of, last_assigned, resolve
from tilewright.source.model import Launch, Module
from tilewright.source.node_memo import per_node

_COUNTS = re.compile(
    r"(batch|batches|batch_?size|bsz|n_?rows|num_?rows|rows|(n_?|num_?|total_?)tokens|tokens"
    r"|seq_?len\w*|max_?seq_?len\w*|total_seq_?len|n_?ctx|ctx_?len\w*|context_?len\w*)"
)
_HELD = re.compile(
    r"(.*_)?(w\d?|\w*weight\w*|lora\w*|\w*lookup|table|emb\w*|bias|self|lut|code|scales?|zeros?|rhs)"
    r"|mat2|(conv|ssm)_states?|w_\w+|b(_\w+)?|\w*cache\w*|cos\w*|sin\w*"
)
_WIDTHS = re.compile(
    r"(.*_)?(dim|hidden\w*|width|height|cols|columns|heads?|features?|channels?|vocab\w*"
    r"|experts?|queries|cache_lines)"
)
_BATCHES = re.compile(r"b|bs|bsz|(.*_)?batch(es)?(_?size)?|nb")
_CAPACITY = re.compile(r"max(imum)?_|capacity")
"""What a buffer that is allocated once has room for."""
_ROUNDINGS = frozenset({"next_power_of_2", "bit_length", "log2"})
_MOST_STEPS = 12
_COARSE = 64
"""A number of rows divided by this, or more, is the same for many calls."""


class Variety(IntEnum):
    """How many values a number takes while a program runs."""

    FIXED = 0
    FEW = 1
    """One for each power of two, or each some hundred rows."""
    BATCHES = 2
    """One for each number of sequences in a batch, which a trainer leaves as it is; or what only a
    name says, of a number that callers pass."""
    MANY = 3


def is_number_of_batches(name: str) -> bool:
    """Whether a number is called the size of a batch."""
    return _BATCHES.fullmatch(name.lower()) is not None


def is_width(name: str) -> bool:
    """Whether a number is called what a model fixes: features, heads, experts."""
    return _WIDTHS.fullmatch(name.lower()) is not None


@dataclass(frozen=True)
class Varying:
    """A number that follows the size of what each call is given, and how closely."""

    what: str
    variety: Variety


def varying(module: Module, launch: Launch, node: ast.expr) -> Varying | None:
    """What each call's number of rows makes of an argument; None where nothing says that it does.

    Known to change are the elements and the first of several extents of a tensor that the host
    function is given, and what is called a batch, rows, tokens or a length of sequences; a tensor
    that is held, such as a weight or a cache, has the same extents at each call.
    """
    return _varying(module, launch, node, 0)


def _varying(module: Module, launch: Launch, node: ast.expr, depth: int) -> Varying | None:
    if depth > _MOST_STEPS or _is_asserted(module, launch, node):
        return None
    own = _count(module, launch, node)
    if own is not None:
        name = node.id if isinstance(node, ast.Name) else ""
        is_batch = name == own or is_number_of_batches(name)
        return Varying(own, Variety.BATCHES if is_batch else Variety.MANY)
    stated = resolve(module, launch, node)
    if stated is not node:
        return _varying(module, launch, stated, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Div):
        return _quotient(module, launch, node, depth)
    parts = [p for part in _parts(node) if (p := _varying(module, launch, part, depth + 1))]
    if not parts:
        return None
    most = max(parts, key=lambda part: part.variety)
    is_rounded = isinstance(node, ast.Call) and (
        _callee_name(node) in _ROUNDINGS or _is_coarse(node.args[-1] if node.args else None)
    )
    return Varying(most.what, Variety.FEW if is_rounded else most.variety)


def _is_asserted(module: Module, launch: Launch, node: ast.expr) -> bool:
    """Whether the host function asserts that a number is a literal one."""
    host = host_of(module, launch)
    return isinstance(node, ast.Name) and host is not None and node.id in _literal_names(host)


@per_node
def _literal_names(function: ast.FunctionDef) -> frozenset[str]:
    """Names that assertions compare with a literal, or with another such name."""
    equal = [
        {ast.unparse(part) for part in (test.left, *test.comparators)}
        for check in nodes_like(function, ast.Assert)
        for test in ast.walk(check.test)
        if isinstance(test, ast.Compare) and all(isinstance(op, ast.Eq) for op in test.ops)
    ]
    known: set[str] = set()
    for _ in equal:
        known |= {
            part for parts in equal for part in parts if any(_is_known(p, known) for p in parts)
        }
    return frozenset(name for name in known if name.isidentifier())


def _is_known(part: str, known: set[str]) -> bool:
    return part.isdigit() or part in known


def _quotient(module: Module, launch: Launch, node: ast.BinOp, depth: int) -> Varying | None:
    """Elements by the width of a row are rows; elements by rows are a width."""
    above = _varying(module, launch, node.left, depth + 1)
    if above is None or _varying(module, launch, node.right, depth + 1) is not None:
        return None
    size = size_passed(module, launch, node.right)
    is_last = size is None or size.axis in (-1, (size.rank or 0) - 1)
    if _is_coarse(resolve(module, launch, node.right)):
        return Varying(above.what, Variety.FEW)
    return above if is_last else None


def _is_coarse(divisor: ast.expr | None) -> bool:
    match divisor:
        case ast.Constant(value=int() as number):
            return number >= _COARSE
    return False


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """What a number is computed from, where it grows with that without a bound."""
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult(), left=left, right=right):
            yield from (left, right)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            yield inner
        case ast.Call() if _callee_name(node) in {"cdiv", "int", "max", "prod"} | _ROUNDINGS:
            yield from node.args
            if _callee_name(node) == "bit_length" and isinstance(node.func, ast.Attribute):
                yield node.func.value


def _callee_name(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _count(module: Module, launch: Launch, node: ast.expr) -> str | None:
    """A number of rows, tokens or elements, as the host function takes it from its arguments."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=tensor), attr="numel"), args=[]):
            return f"{tensor}.numel()" if _is_given(module, launch, tensor) else None
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=tensor)]):
            is_tensor = _is_tensor(module, launch, tensor)
            is_known = is_tensor and _is_given(module, launch, tensor)
            return f"len({tensor})" if is_known else None
    size = size_passed(module, launch, node)
    if size is not None:
        if size.kind != "shape" or not _is_given(module, launch, size.tensor):
            return None
        is_first = size.axis == 0 and _has_more_axes(module, launch, size.tensor, size.rank)
        is_named = isinstance(node, ast.Name) and _COUNTS.fullmatch(node.id.lower())
        if isinstance(node, ast.Name) and (is_width(node.id) or _CAPACITY.match(node.id.lower())):
            return None
        return f"an extent of {size.tensor}" if is_first or is_named else None
    is_open = isinstance(node, ast.Name) and last_assigned(module, launch, node.id) is None
    if isinstance(node, ast.Name) and is_open and _COUNTS.fullmatch(node.id.lower()):
        return node.id if _is_parameter(module, launch, node.id) else None
    return None


def _is_given(module: Module, launch: Launch, tensor: str) -> bool:
    """Whether a tensor is what the host function is called with, and is none that is held."""
    if _HELD.fullmatch(tensor.lower()):
        return False
    for _ in range(_MOST_STEPS):
        found = last_assigned(module, launch, tensor)
        if found is None:
            return _is_parameter(module, launch, tensor)
        owner = found.value
        while isinstance(owner, ast.Call | ast.Attribute):
            owner = owner.func if isinstance(owner, ast.Call) else owner.value
        if found.position is not None or not isinstance(owner, ast.Name):
            return False
        if owner.id == tensor:
            # ``x = x.contiguous()``: what it was before has the same number of elements.
            return _is_parameter(module, launch, tensor)
        tensor = owner.id
    return False


def _is_parameter(module: Module, launch: Launch, name: str) -> bool:
    host = host_of(module, launch)
    if host is None:
        return False
    args = host.args
    return any(a.arg == name for a in (*args.posonlyargs, *args.args, *args.kwonlyargs))


def _is_tensor(module: Module, launch: Launch, name: str) -> bool:
    """Whether the host function asks a name for what only tensors have."""
    host = host_of(module, launch)
    return host is not None and any(
        isinstance(node, ast.Attribute)
        and node.attr in ("shape", "device", "dtype", "numel", "stride", "size", "contiguous")
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in nodes_of(host)
    )


def _has_more_axes(module: Module, launch: Launch, tensor: str, rank: int | None) -> bool:
    """Whether a tensor has a further axis, by how its shape is unpacked or asked for."""
    if rank is not None:
        return rank > 1
    host = host_of(module, launch)
    return host is not None and any(
        _asks_further(node, tensor) for node in nodes_of(host) if isinstance(node, ast.expr)
    )


def _asks_further(node: ast.expr, tensor: str) -> bool:
    """``x.shape[1]``, ``x.stride(0)``: of a vector nobody asks either."""
    match node:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=owner), attr="shape"),
            slice=ast.Constant(value=axis),
        ):
            return owner == tensor and isinstance(axis, int) and axis > 0
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=owner), attr="shape"), slice=ast.UnaryOp()
        ):
            return owner == tensor
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=owner), attr="size" | "stride"),
            args=[ast.Constant(value=axis)],
        ):
            return owner == tensor and isinstance(axis, int) and axis > 0
    return False
