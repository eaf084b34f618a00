"""Detectors of the block pointer stage: hints and bounds on addresses that do not do as written."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import Reports, detector, kernel_detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Access, Flow, Value
from tilewright.source.model import Kernel, Module

_MAKE = TL + "make_block_ptr"
_ADVANCE = TL + "advance"
_HINTS = (TL + "multiple_of", TL + "max_contiguous")


@detector("block_ptr_boundary_wrong")
def block_ptr_boundary_wrong(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``boundary_check`` that holds truth values or dimensions the block does not have.

    And a mask, or what its lanes would hold, in the place of it.
    """
    if context.triton_version is not None and context.triton_version >= (3, 9):
        return
    for kernel, flow in triton_kernels(module):
        for access in flow.accesses:
            yield from _masked_block(module, kernel, access)
            given = next((k.value for k in access.node.keywords if k.arg == "boundary_check"), None)
            if given is None:
                continue
            rank = _rank(access.pointer)
            positions = _positions(given)
            wrong = None if positions is None else _wrong(positions, rank)
            if wrong is not None:
                yield Finding(
                    module.index.range_of(given),
                    wrong[0],
                    kernel.name,
                )


def _masked_block(module: Module, kernel: Kernel, access: Access) -> Iterator[Finding]:
    """A mask, or ``other``, of an access through a block pointer."""
    if not is_block_pointer(access.pointer):
        return
    for name, value in (("mask", access.mask), ("other", access.other)):
        if value is not None and value.detail is not None:
            yield Finding(
                module.index.range_of(access.node),
                f"A block pointer takes no {name}: this does not compile. boundary_check= names "
                "the dimensions to check, and padding_option= what lies outside.",
                kernel.name,
            )
            return


def _positions(node: ast.expr) -> list[int | bool] | None:
    """The literal entries of a ``boundary_check``; None if one of them is no literal."""
    if isinstance(node, ast.Constant) and node.value is False:
        return None
    entries = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    values = [e.value if isinstance(e, ast.Constant) else None for e in entries]
    known = [v for v in values if isinstance(v, int)]
    return known if len(known) == len(values) else None


def _wrong(positions: list[int | bool], rank: int | None) -> tuple[str, list[int]] | None:
    """What is wrong, and the positions that were meant; None if nothing surely is."""
    if positions and all(isinstance(p, bool) for p in positions):
        meant = [place for place, is_checked in enumerate(positions) if is_checked]
        return _truth_values(positions), meant
    beyond = [p for p in positions if rank is not None and not 0 <= p < rank]
    if beyond:
        return (
            f"boundary_check names dimension {beyond[0]} of a block that has {rank}: this does "
            "not compile.",
            [p for p in positions if p not in beyond],
        )
    return None


def _truth_values(positions: list[int | bool]) -> str:
    checked = sorted({int(p) for p in positions})
    if len(checked) < len(positions):
        effect = f"position {checked[0]} is named twice, which does not compile"
    else:
        named = " and ".join(map(str, checked))
        effect = f"so dimension {named} is checked"
    written = ", ".join(map(str, positions))
    counted = ", ".join(str(int(p)) for p in positions)
    return f"boundary_check takes positions, and {written} counts as {counted}: {effect}."


def is_block_pointer(pointer: Value) -> bool:
    """Whether an address is a block pointer, advanced or not."""
    return _rank(pointer) is not None


def _rank(pointer: Value, depth: int = 0) -> int | None:
    """Dimensions of the block a block pointer was made with."""
    if depth > 20:
        return None
    if pointer.is_call(_MAKE):
        shape = pointer.argument(4, "block_shape")
        return len(shape.operands) if shape is not None and shape.op == "tuple" else None
    if pointer.op in ("phi", "after") or pointer.is_call(_ADVANCE):
        return _rank(pointer.operands[0], depth + 1) if pointer.operands else None
    return None


@kernel_detector("block_ptr_multiple_of_misuse", triton_kernels)
def block_ptr_multiple_of_misuse(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """An alignment hint on what is a number while the kernel is compiled.

    A plain assignment makes a run-time value of a number: ``start = 0``.
    """
    for node, value, _ in flow.calls(*_HINTS):
        is_number = value.positional and _is_compile_time(value.positional[0], kernel, flow)
        if is_number and node.args and not _is_assigned(node.args[0], kernel):
            hint = str(value.detail).removeprefix(TL)
            text = (
                f"tl.{hint} marks a run-time value, and {_shown(module, node)} is a number "
                "known while compiling: the call raises an error."
            )
            yield node, text


def _shown(module: Module, node: ast.Call) -> str:
    return module.index.slice(module.index.range_of(node.args[0])) if node.args else "this"


def _is_assigned(expression: ast.expr, kernel: Kernel) -> bool:
    """Whether an expression reads a name that a plain assignment of the kernel sets."""
    names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    targets = (t for assign in nodes_like(kernel.node, ast.Assign) for t in assign.targets)
    return any(isinstance(n, ast.Name) and n.id in names for t in targets for n in ast.walk(t))


def _is_compile_time(value: Value, kernel: Kernel, flow: Flow, depth: int = 0) -> bool:
    """Whether a value is a literal, a constexpr, or arithmetic on nothing else."""
    if depth > 20:
        return False
    match value.op:
        case "const":
            return isinstance(value.detail, int | float)
        case "param":
            parameter = kernel.parameter(str(value.detail))
            return parameter is not None and parameter.is_constexpr
        case "loop_index":
            loop = flow.loops.get(int(value.detail or 0))
            return loop is not None and loop.is_static
        case "binary" | "unary":
            return all(_is_compile_time(o, kernel, flow, depth + 1) for o in value.operands)
    return False
