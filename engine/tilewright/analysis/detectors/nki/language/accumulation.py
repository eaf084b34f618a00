"""Accumulators in PSUM: zeroed in the wrong place, or added to by two instructions for one."""

import ast

from tilewright.analysis.detectors.common import source_of
from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    nki_detector,
    older,
)
from tilewright.analysis.nki import Binding, Call, Fact, Flow, Kind, Region, Write
from tilewright.source.model import Module

PSUM = "nki.language.psum"
_MATMULS = ("nki.isa.nc_matmul", "nki.language.matmul")
_ADD = "nki.language.add"


@nki_detector("nki_psum_reset_in_loop", older)
def psum_reset_in_loop(module: Module, flow: Flow) -> Reports:
    for binding in flow.bindings:
        loop = _own_loop(binding)
        if loop is None or not _adds_once(flow, binding):
            continue
        store = _overwritten(flow, binding, loop)
        if store is not None:
            text = (
                f"{binding.name} is zeroed in every iteration of the loop over {loop.index}, and "
                f"each iteration overwrites what the one before stored: only the last remains. "
                f"Zero it before the loop and store it behind."
            )
            yield binding.statement, text


def _own_loop(binding: Binding) -> Region | None:
    """The loop whose body zeroes a PSUM tensor, if the statement stands right in it."""
    node = binding.fact.node
    if binding.fact.buffer != PSUM or not isinstance(node, ast.Call) or not binding.path:
        return None
    if not (isinstance(node.func, ast.Attribute) and node.func.attr == "zeros"):
        return None
    region = binding.path[-1]
    return region if region.loop and region.closes and region.index else None


def _adds_once(flow: Flow, binding: Binding) -> bool:
    """Whether the only matmul into it stands in the same body: no inner loop accumulates."""
    adds = [path for fact, path in flow.sums if fact.storage is binding.fact]
    return adds == [binding.path]


def _overwritten(flow: Flow, binding: Binding, loop: Region) -> Call | None:
    """A store of it to a place that is the same in every iteration of the loop."""
    for call in flow.calls_of("nki.language.store"):
        if call.path != binding.path or not call.node.args:
            continue
        target = flow.fact(call.node.args[0])
        if target.kind is not Kind.VIEW or loop.loop in target.loops:
            continue
        value = call.argument("value") or (call.node.args[1] if len(call.node.args) > 1 else None)
        if value is not None and _is_of(flow, value, binding.fact):
            return call
    return None


def _is_of(flow: Flow, value: ast.expr, tensor: Fact) -> bool:
    return any(
        flow.fact(node).storage is tensor for node in ast.walk(value) if isinstance(node, ast.expr)
    )


@nki_detector("nki_accumulate_by_assignment", older)
def accumulate_by_assignment(module: Module, flow: Flow) -> Reports:
    for write in flow.writes:
        if isinstance(write.statement, ast.Assign) and _adds_to_itself(flow, write):
            target = source_of(module, write.target)
            text = (
                f"{target} = {target} + ... makes the product in a second PSUM tile and adds the "
                "two on the Vector engine; with += the Tensor engine adds while it multiplies."
            )
            yield write.statement, text


def _adds_to_itself(flow: Flow, write: Write) -> bool:
    if write.base.storage.buffer != PSUM or write.statement.value is None:
        return False
    match write.statement.value:
        case ast.BinOp(left=one, op=ast.Add(), right=two):
            pair = (one, two)
        case ast.Call(args=[one, two, *_]) as node if _named(flow, node, _ADD):
            pair = (one, two)
        case _:
            return False
    place = ast.dump(write.target.slice)
    for part, other in (pair, pair[::-1]):
        if not isinstance(part, ast.Subscript) or flow.fact(part.value) is not write.base:
            continue
        if ast.dump(part.slice) == place and _named(flow, other, *_MATMULS):
            return True
    return False


def _named(flow: Flow, node: ast.expr, *dotted: str) -> bool:
    return any(call.node is node for call in flow.calls_of(*dotted))
