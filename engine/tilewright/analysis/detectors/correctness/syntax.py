"""Detectors of Python that the kernel compiler does not take."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

from tilewright.analysis.detectors.common import TL, nodes_of, triton_kernels
from tilewright.analysis.detectors.correctness.call_forms import refused_calls, refused_defaults
from tilewright.analysis.detectors.correctness.host_api import host_uses
from tilewright.analysis.detectors.correctness.language import (
    is_for_a_fork,
    names_with_source,
)
from tilewright.analysis.detectors.correctness.operand_types import refused_operands
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.tiles import Kind, Tiles, tiles_of
from tilewright.analysis.values import Flow, Value
from tilewright.knowledge.api import Version
from tilewright.python_syntax import descendants, is_none
from tilewright.source.model import Kernel, Module
from tilewright.source.text import Range

_NEVER: dict[type[ast.AST], str] = {
    ast.Try: "try",
    ast.TryStar: "try",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Delete: "del",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.ClassDef: "a class",
    ast.FunctionDef: "a nested function",
    ast.AsyncFunctionDef: "a nested function",
    ast.Lambda: "a lambda",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.DictComp: "a dict comprehension",
    ast.SetComp: "a set comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Await: "await",
    ast.Break: "break",
    ast.Continue: "continue",
    ast.Match: "match",
}
_SINCE: dict[type[ast.AST], tuple[str, Version]] = {
    ast.With: ("with", (3, 4)),
    ast.ListComp: ("a list comprehension", (3, 5)),
    ast.NamedExpr: ("an assignment expression", (3, 8)),
}
_ITERATORS = frozenset(("enumerate", "zip", "reversed", "sorted", "map", "filter", "list", "tuple"))
_CHAINS_SINCE = (3, 9)


@dataclass(frozen=True)
class _Refused:
    """A place and what of it the compiler refuses."""

    node: ast.expr | ast.stmt
    what: str


@detector("unsupported_syntax")
def unsupported_syntax(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Statements and expressions for which the compiler has no rule."""
    if is_for_a_fork(module):
        return
    for kernel, flow in triton_kernels(module):
        if _is_template(module, kernel):
            continue
        places: dict[str, list[Range]] = {}
        for refused in _refused(module, kernel, flow, context):
            places.setdefault(refused.what, []).append(_head(module, refused.node))
        for what, found in places.items():
            yield Finding(
                found[0],
                f"Triton's compiler takes no {what} in a kernel: this does not compile.",
                kernel.name,
                related=tuple(Related("and this", place) for place in found[1:]),
            )


def _is_template(module: Module, kernel: Kernel) -> bool:
    """Whether the text is only what another is made from, before anything is compiled.

    A quoted annotation of a local name marks a place to be filled in (lists that are unrolled
    into names), and so does a function that asks for the kernel's source.
    """
    if any(
        isinstance(node.annotation, ast.Constant)
        and isinstance(node.annotation.value, str)
        and not node.annotation.value.startswith(("tl.", "triton."))
        for node in nodes_like(kernel.node, ast.AnnAssign)
    ):
        return True
    return kernel.name in names_with_source(module)


def _refused(
    module: Module, kernel: Kernel, flow: Flow, context: AnalysisContext
) -> Iterator[_Refused]:
    version = context.triton_version
    refused = chain(refused_calls(module, kernel), refused_defaults(module, kernel, version))
    yield from (_Refused(node, what) for node, what in refused)
    yield from _of_tensors(module, kernel, flow, context)
    outside = _signature(kernel.node)
    tiles = tiles_of(module, kernel, context)
    is_tensor = partial(_is_tensor, tiles)
    found = chain(
        host_uses(module, kernel, flow, tiles, is_tensor),
        refused_operands(module, kernel, flow, tiles, is_tensor),
    )
    yield from (_Refused(node, what) for node, what in found if id(node) not in outside)
    for node in nodes_of(kernel.node):
        if node is kernel.node or id(node) in outside:
            continue
        what = _NEVER.get(type(node)) or _too_new(node, version) or _form(module, node, version)
        if what is not None and isinstance(node, ast.expr | ast.stmt):
            yield _Refused(node, what)
        elif isinstance(node, ast.For | ast.While):
            yield from _in_loop(node, flow)


def _of_tensors(
    module: Module, kernel: Kernel, flow: Flow, context: AnalysisContext
) -> Iterator[_Refused]:
    """Powers and elements of what is known at run time only: Triton's tensors have neither."""
    for power in nodes_like(kernel.node, ast.BinOp):
        if isinstance(power.op, ast.Pow):
            operands = filter(None, map(flow.values.get, (power.left, power.right)))
            if any(_is_tensor(tiles_of(module, kernel, context), operand) for operand in operands):
                yield _Refused(power, "power of a tensor (multiply, or use tl.exp2 and tl.log2)")
    for part in nodes_like(kernel.node, ast.Subscript):
        whole = None if _adds_axes(part) else flow.values.get(part.value)
        if whole is not None:
            facts = tiles_of(module, kernel, context).facts_of(whole)
            if facts.kind in (Kind.TILE, Kind.MASK) and facts.shape:
                yield _Refused(part, "index into a tile (load the part, or select it by a mask)")


def _adds_axes(part: ast.Subscript) -> bool:
    """``x[:, None]``: whole axes and new ones; or what is no read of a tensor."""
    index = part.slice
    places = index.elts if isinstance(index, ast.Tuple) else [index]
    return not isinstance(part.ctx, ast.Load) or all(map(_is_whole_or_new, places))


def _is_whole_or_new(place: ast.expr) -> bool:
    match place:
        case ast.Constant(value=None):
            return True
        case ast.Slice(lower=lower, upper=upper, step=step):
            return all(part is None or is_none(part) for part in (lower, upper, step))
        case ast.Name():  # a constant that may stand for None
            return place.id.isupper()
    return False


def _is_tensor(tiles: Tiles, value: Value) -> bool:
    kind = tiles.facts_of(value).kind
    return kind is Kind.TILE or (kind is Kind.SCALAR and _is_at_run_time(value))


def _signature(function: ast.FunctionDef) -> frozenset[int]:
    parts = [*function.decorator_list, function.args, *filter(None, [function.returns])]
    return frozenset(id(node) for part in parts for node in descendants(part))


def _too_new(node: ast.AST, version: Version | None) -> str | None:
    known = _SINCE.get(type(node))
    if known is None or version is None or version >= known[1]:
        return None
    what, (major, minor) = known
    return f"{what} before version {major}.{minor}"


def _form(module: Module, node: ast.AST, version: Version | None) -> str | None:
    match node:
        case ast.Assign() if len(node.targets) > 1:
            return "assignment to several targets at once"
        case ast.Compare() if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            return "test with in"
        case ast.Compare() if len(node.ops) > 1 and version is not None and version < _CHAINS_SINCE:
            return "chained comparison before version 3.9"
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            return "@ product (tl.dot is the function)"
        case ast.Subscript(ctx=ast.Store()):
            return "assignment to an item"
        case ast.Attribute(ctx=ast.Store()):
            return "assignment to an attribute"
        case ast.ListComp() if any(_counts(module, part.iter) for part in node.generators):
            return "list comprehension over a range (its tuples alone can be gone over)"
        case ast.For() | ast.While() if node.orelse:
            return "else of a loop"
        case ast.For():
            return _iteration(module, node)
    return None


def _iteration(module: Module, loop: ast.For) -> str | None:
    if not isinstance(loop.iter, ast.Call):
        return "loop over anything but range, tl.range and tl.static_range"
    name = loop.iter.func.id if isinstance(loop.iter.func, ast.Name) else None
    if name in _ITERATORS and name not in module.names.origins:
        return f"loop over {name}(...)"
    return None if isinstance(loop.target, ast.Name) else "loop with several targets"


def _counts(module: Module, node: ast.expr) -> bool:
    """Whether it is a range, of Python's or of Triton's."""
    called = node.func if isinstance(node, ast.Call) else None
    is_plain = isinstance(called, ast.Name) and called.id == "range"
    return is_plain or module.names.is_call(node, TL + "range", TL + "static_range")


def _in_loop(loop: ast.For | ast.While, flow: Flow) -> Iterator[_Refused]:
    """Returns under a condition that is known at run time only."""
    if any(known.node is loop and known.is_static for known in flow.loops.values()):
        return
    for statement in _conditionals(loop.body):
        test = flow.values.get(statement.test)
        if test is None or not _is_at_run_time(test):
            continue
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Return):
                yield _Refused(inner, "return inside a loop")


def _conditionals(body: list[ast.stmt]) -> Iterator[ast.If]:
    """The outermost conditionals of a loop body that stand in no inner loop."""
    yield from (statement for statement in body if isinstance(statement, ast.If))


def _is_at_run_time(value: Value) -> bool:
    """Whether a loaded value, the program id or a loop's turn surely takes part."""
    return not value.operations.isdisjoint(("load", "program_id", "loop_index"))


def _head(module: Module, node: ast.expr | ast.stmt) -> Range:
    where = module.index.range_of(node)
    if where.end_line == where.line:
        return where
    end = len(module.index.lines[where.line - 1].rstrip())
    return Range(where.line, where.column, where.line, end)
