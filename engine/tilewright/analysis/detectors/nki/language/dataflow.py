"""Results that are unused, and products that replace each other."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import source_of
from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    flavoured,
    nki_detector,
    older,
)
from tilewright.analysis.nki import Call, Flow, Kind, Region, Write
from tilewright.analysis.nki.model import LoopKind
from tilewright.knowledge.nki import nki_interface
from tilewright.source.model import Module, NkiFlavour

_PSUM = "nki.language.psum"
_PRODUCTS = ("nki.isa.nc_matmul", "nki.language.matmul")
_IN_ORDER = (LoopKind.SEQUENTIAL, LoopKind.PYTHON)
_WRITES_ELSEWHERE = frozenset({"dst", "reduce_res", "dst_idx", "dst_rmw_op"})


@nki_detector("nki_result_dropped", older)
def result_dropped(module: Module, flow: Flow) -> Reports:
    offers = nki_interface(NkiFlavour.NEURONXCC.value)
    for call in flow.calls:
        function = offers.functions.get(call.dotted or "")
        if function is None or function.makes != "tile" or not _is_statement(call):
            continue
        if len(call.node.args) > len(function.signatures[0].positional):
            continue
        if _WRITES_ELSEWHERE.isdisjoint(k.arg or "dst" for k in call.node.keywords):
            text = (
                f"{source_of(module, call.node.func)} returns its result as a new tile and "
                f"changes none of its arguments; this one is not kept."
            )
            yield call.node, text


def _is_statement(call: Call) -> bool:
    return isinstance(call.statement, ast.Expr) and call.statement.value is call.node


@nki_detector("nki_instruction_used_as_tile", flavoured)
def instruction_used_as_tile(module: Module, flow: Flow) -> Reports:
    offers = nki_interface(NkiFlavour.NKI.value)
    if flow.is_older:
        return
    makers = {
        id(call.node): call
        for call in flow.calls
        if (call.dotted or "").startswith("nki.isa.") and offers.makes(call.dotted) == "nothing"
    }
    for name in _operands(flow):
        binding = flow.bound.get(name)
        maker = makers.get(id(binding.value)) if binding is not None else None
        if maker is not None:
            text = (
                f"{name.id} is what {source_of(module, maker.node.func)} returned, and that "
                f"is no tile: the result is in its dst."
            )
            yield name, text


def _operands(flow: Flow) -> Iterator[ast.Name]:
    """Names that instructions are given, parts of them as well."""
    for call in flow.calls:
        if not (call.dotted or "").startswith(("nki.isa.", "nki.language.")):
            continue
        for node in (*call.node.args, *(k.value for k in call.node.keywords)):
            inner = node
            while isinstance(inner, ast.Subscript):
                inner = inner.value
            if isinstance(inner, ast.Name):
                yield inner


@nki_detector("nki_product_replaced", older)
def product_replaced(module: Module, flow: Flow) -> Reports:
    for write in flow.writes:
        loop = _replacing_loop(flow, write)
        if loop is not None and not _read_inside(flow, write, loop):
            target = source_of(module, write.target)
            text = (
                f"{target} is zeroed before the loop over {loop.index} and then replaced by "
                f"each iteration's product, so that only the last remains: += adds them up."
            )
            yield write.statement, text


def _replacing_loop(flow: Flow, write: Write) -> Region | None:
    """The loop in each turn of which a product replaces all that a zeroed PSUM tensor held."""
    base, value = write.base, write.statement.value
    if base.kind is not Kind.TENSOR or base.buffer != _PSUM or not write.path:
        return None
    if not isinstance(write.statement, ast.Assign) or not _is_product(flow, value):
        return None
    if not (isinstance(base.node, ast.Call) and ast.unparse(base.node.func).endswith("zeros")):
        return None
    region = write.path[-1]
    if region.loop is None or region.loop.kind not in _IN_ORDER or region in base.path:
        return None
    named = {n.id for n in ast.walk(write.target.slice) if isinstance(n, ast.Name)}
    moving = region.loop in flow.fact(write.target).loops or region.index in named
    return None if moving or region.index is None else region


def _is_product(flow: Flow, node: ast.expr | None) -> bool:
    return any(call.node is node for call in flow.calls_of(*_PRODUCTS))


def _read_inside(flow: Flow, write: Write, loop: Region) -> bool:
    """Whether the loop uses the tensor for anything but to write it."""
    target = {id(node) for node in ast.walk(write.target)}
    return any(
        read.binding.fact.storage is write.base.storage
        and loop in read.path
        and id(read.node) not in target
        for read in flow.reads
    )
