"""Copies in another layout or order that the host makes only for one kernel to read once."""

import ast

from tilewright.analysis.detectors.host_code.facts import is_loaded_once
from tilewright.analysis.flow import flow_of
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, Use, UseKind
from tilewright.analysis.host_graph.operations import short
from tilewright.analysis.tiles import ONE, tiles_of
from tilewright.source.model import Launch, Module

_JOINS = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack"})
_REORDERS = {
    "roll": "rolled", "flip": "reversed", "pad": "padded", "repeat": "repeated",
    "tile": "repeated", "repeat_interleave": "repeated", "index_select": "gathered",
    "gather": "gathered", "take_along_dim": "gathered",
}  # fmt: skip
_TURNS = frozenset({"t", "T", "mT", "transpose", "permute", "swapaxes", "movedim"})
_PARTS = frozenset({"chunk", "split", "narrow", "tensor_split"})


def copied_for(module: Module, graph: HostGraph, value: HostValue, use: Use) -> str | None:
    """What a copy is that one kernel reads, where it could read what was there before."""
    name, kernel = short(value.operation), use.launch.kernel if use.launch else ""
    if value.origin is not Origin.COMPUTED or use.launch is None:
        return None
    if name in _JOINS and _reads_once(module, use):
        return _joined(kernel)
    if name in _REORDERS and _reads_once(module, use):
        return (
            f"A {_REORDERS[name]} copy is written for {kernel} to read it back once; the kernel "
            "can compute where each element stands in the tensor that is there."
        )
    if name != "contiguous" or not value.sources:
        return None
    if _is_part_of_rows(value.sources[0]) and _reads_rows(module, use):
        return (
            f"Rows of this part are dense already, and {kernel} reads it once: with the row "
            "stride of the whole tensor as an argument it needs no copy."
        )
    if _keeps_last_axis(value.sources[0], graph, value) and _reads_once(module, use):
        return (
            f"{kernel} is given the strides of this tensor, and its last axis is dense without "
            "the copy too: the view itself can be passed."
        )
    if _is_turned(value.sources[0]) and _takes_all_strides(graph, value):
        return _strided(kernel) if _reads_once(module, use) else None
    return None


def _strided(kernel: str) -> str:
    return (
        f"The turned view is written out for {kernel}, which is given the strides of each axis and "
        "reads each element once: it can read the view itself, and the copy reads it no better."
    )


def _is_turned(value: HostValue) -> bool:
    """A view with axes exchanged."""
    return value.origin is Origin.VIEW and short(value.operation) in _TURNS


def _takes_all_strides(graph: HostGraph, value: HostValue) -> bool:
    """Whether the strides of two axes or more are asked, of the copy or of a view of it."""
    return any(len(set(_strides_asked(graph, member))) > 1 for member in graph.family(value))


def _joined(kernel: str) -> str:
    return (
        f"The parts are copied into one tensor for {kernel} to read it back once; given the parts, "
        "the kernel can choose where each tile comes from."
    )


def filled_by_parts(graph: HostGraph, value: HostValue) -> list[Use]:
    """The one launch that reads a buffer which the host fills slice by slice; else none."""
    if value.origin is not Origin.ALLOCATED:
        return []
    uses = graph.data_uses(value)
    fills = [u for u in uses if u.kind is UseKind.IN_PLACE]
    reads = [u for u in uses if u.kind is UseKind.LAUNCH]
    if len(fills) < 2 or len(reads) != 1 or len(fills) + len(reads) != len(uses):
        return []
    last = max(fill.place.order for fill in fills)
    is_read = reads[0].role is not None and reads[0].role.only_reads
    plain = all(_sets_slice(fill.node) and not fill.place.loops for fill in fills)
    return reads if plain and is_read and last < reads[0].place.order else []


def _sets_slice(node: ast.AST) -> bool:
    """``k[:, :n] = x`` with something that is no number."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Subscript)
        and not isinstance(node.value, ast.Constant | ast.UnaryOp)
    )


def joined_for(module: Module, use: Use) -> str | None:
    """As ``copied_for``, of a buffer that is filled by parts."""
    if use.launch is None or not _reads_once(module, use):
        return None
    return _joined(use.launch.kernel)


def _reads_once(module: Module, use: Use) -> bool:
    """Whether the kernel loads each element once, tile by tile."""
    kernel = module.kernel(use.launch.kernel) if use.launch is not None else None
    if kernel is None or not is_loaded_once(module, kernel, use.parameter or ""):
        return False
    tiles = tiles_of(module, kernel)
    loads = [a for a in flow_of(module, kernel).loads if a.base == use.parameter]
    return any(bool(tiles.facts_of(load.pointer).shape) for load in loads)


def _reads_rows(module: Module, use: Use) -> bool:
    """Whether the kernel loads each element once, by tiles that are dense along their last axis."""
    kernel = module.kernel(use.launch.kernel) if use.launch is not None else None
    if kernel is None or not _reads_once(module, use):
        return False
    tiles = tiles_of(module, kernel)
    strides = [
        tiles.facts_of(load.pointer).strides or ()
        for load in flow_of(module, kernel).loads
        if load.base == use.parameter
    ]
    # A flat range over all elements does not know of rows.
    return all(s and s[-1] == ONE for s in strides) and not _is_flat(use.launch)


def _is_flat(launch: Launch | None) -> bool:
    given = launch.arguments.values() if launch is not None else ()
    nodes = (node for argument in given for node in ast.walk(argument))
    return any(isinstance(node, ast.Attribute) and node.attr == "numel" for node in nodes)


def _is_part_of_rows(value: HostValue) -> bool:
    """A part along the last axis: of ``chunk(2, dim=-1)``, or ``x[..., :n]``."""
    if value.origin is not Origin.VIEW:
        return False
    if value.operation == "item":
        made = value.sources[0]
        return short(made.operation) in _PARTS and _is_last(made)
    if short(value.operation) == "narrow":
        return _is_last(value)
    node = value.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return False
    *before, last = node.slice.elts
    whole = all(
        (isinstance(p, ast.Slice) and p.lower is p.upper is p.step is None)
        or (isinstance(p, ast.Constant) and p.value is ...)
        for p in before
    )
    return whole and isinstance(last, ast.Slice) and last.step is None


def _is_last(value: HostValue) -> bool:
    """Whether a view is taken along axis -1."""
    node = value.node
    if not isinstance(node, ast.Call):
        return False
    given = [*node.args, *(k.value for k in node.keywords if k.arg in ("dim", "axis"))]
    return any(ast.unparse(argument) == "-1" for argument in given)


def _keeps_last_axis(view: HostValue, graph: HostGraph, copy: HostValue) -> bool:
    """Whether a transposed view has its last axis where it was, and strides go to the launch."""
    node = view.node
    if view.origin is not Origin.VIEW or short(view.operation) not in ("transpose", "permute"):
        return False
    if not isinstance(node, ast.Call):
        return False
    axes = [a.value for a in node.args if isinstance(a, ast.Constant) and type(a.value) is int]
    asked = _strides_asked(graph, copy)
    if len(axes) != len(node.args) or min(axes, default=-1) < 0 or not asked:
        return False
    if short(view.operation) == "permute":
        return axes[-1] == len(axes) - 1
    return max(axes) < max(asked)


def _strides_asked(graph: HostGraph, value: HostValue) -> list[int]:
    """The axes whose strides are asked of a tensor: ``x.stride(2)``."""
    return [
        use.node.args[0].value
        for use in graph.direct_uses(value)
        if use.kind is UseKind.SHAPE
        and isinstance(use.node, ast.Call)
        and isinstance(use.node.func, ast.Attribute)
        and use.node.func.attr == "stride"
        and len(use.node.args) == 1
        and isinstance(use.node.args[0], ast.Constant)
        and isinstance(use.node.args[0].value, int)
    ]
