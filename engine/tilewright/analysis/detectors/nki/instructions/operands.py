"""Operands that do not fit each other: partitions, contraction, scale and bias, destinations."""

from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    computing,
    dims,
    free_size,
    full_dims,
    is_tensor,
    nki_detector,
    shown,
    written_as,
)
from tilewright.analysis.nki import Flow, Operation, View
from tilewright.analysis.nki.catalogue import FUNCTIONS, ISA, NL, Result
from tilewright.source.model import Module

_SAME_PARTITIONS = {
    ISA + "tensor_tensor": ("data1", "data2"),
    ISA + "tensor_scalar": ("data", "operand0", "operand1"),
    ISA + "tensor_tensor_scan": ("data0", "data1", "initial"),
    ISA + "scalar_tensor_tensor": ("data", "operand0", "operand1"),
    ISA + "tensor_scalar_reduce": ("data", "operand0"),
    NL + "add": ("x", "y"),
    NL + "subtract": ("x", "y"),
    NL + "multiply": ("x", "y"),
    NL + "divide": ("x", "y"),
    NL + "maximum": ("x", "y"),
    NL + "minimum": ("x", "y"),
}
_ACTIVATIONS = (ISA + "activation", ISA + "activation_reduce")


@nki_detector("nki_partition_mismatch")
def partition_mismatch(module: Module, flow: Flow) -> Reports:
    for operation in computing(flow):
        names = _SAME_PARTITIONS.get(operation.name, ())
        counts = _counts(flow, operation, names)
        broadcasts = operation.name.startswith(NL)
        if len({c for c in counts.values() if not (broadcasts and c == 1)}) > 1:
            listed = " and ".join(f"{name} {count}" for name, count in counts.items())
            text = (
                f"The operands of {operation.short} lie on different numbers of partitions "
                f"({listed}), and an engine reads lane n of one with lane n of the other."
            )
            yield operation.statement, text


def _counts(flow: Flow, operation: Operation, names: tuple[str, ...]) -> dict[str, int]:
    found_counts = {}
    for name in names:
        view = operation.operands.get(name)
        sides = dims(flow, view)
        if view is not None and sides and not view.blocks and is_tensor(view):
            count = sides[0]
            if count is not None:
                found_counts[name] = count
    return found_counts


@nki_detector("nki_partition_broadcast_operator")
def partition_broadcast_operator(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        if not operation.operator:
            continue
        counts = _counts(flow, operation, ("x", "y"))
        if len(counts) == 2 and 1 in counts.values() and len(set(counts.values())) == 2:
            row = next(operation.operands[n] for n, count in counts.items() if count == 1)
            text = (
                f"{shown(module, row, 'one operand')} lies on one partition and the other "
                f"operand on {max(counts.values())}: operators do not spread a row over "
                f"partitions, nl functions and broadcast_to do."
            )
            yield operation.statement, text


@nki_detector("nki_matmul_contraction_mismatch")
def matmul_contraction_mismatch(module: Module, flow: Flow) -> Reports:
    for operation in computing(flow):
        pair = _contraction(flow, operation)
        if pair is not None and pair[0] != pair[1]:
            left, right = ("stationary", "moving") if operation.short == "nc_matmul" else "xy"
            text = (
                f"The contraction is {pair[0]} long in {left} and {pair[1]} in {right}; the "
                f"Tensor engine contracts along the partitions of both."
            )
            yield operation.statement, text


def _contraction(flow: Flow, operation: Operation) -> tuple[int, int] | None:
    if operation.name == ISA + "nc_matmul" and "perf_mode" not in operation.given:
        names, side = ("stationary", "moving"), 0
    elif operation.name == NL + "matmul":
        given = operation.given.get("transpose_x")
        if given is not None and not hasattr(given, "value"):
            return None
        names, side = ("x", "y"), 0 if getattr(given, "value", False) else 1
    else:
        return None
    one, two = (full_dims(flow, operation.operands.get(name)) for name in names)
    if one is None or two is None or len(one) != 2 or len(two) != 2:
        return None
    return one[side], two[0]


@nki_detector("nki_activation_operand")
def activation_operand(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        if operation.name not in _ACTIVATIONS:
            continue
        for name in ("scale", "bias"):
            text = _misfit(module, flow, operation, name)
            if text is not None:
                yield operation.statement, text


def _misfit(module: Module, flow: Flow, operation: Operation, name: str) -> str | None:
    view, data = operation.operands.get(name), operation.operands.get("data")
    if view is None or not is_tensor(view):
        return None
    sides, whole = full_dims(flow, view), full_dims(flow, data)
    if sides is not None and free_size(sides) != 1:
        return (
            f"{name} is a tile of {written_as(sides)}; the Scalar engine takes one value for each "
            f"partition, a tile of ({sides[0]}, 1)."
        )
    if sides is not None and whole is not None and sides[0] != whole[0]:
        return (
            f"{name} lies on {sides[0]} partitions and data on {whole[0]}; each partition takes "
            f"its own value."
        )
    if name == "scale" and view.dtype not in (None, "float32"):
        return f"scale is {view.dtype}, and the Scalar engine takes float32 there."
    return None


@nki_detector("nki_destination_shape_mismatch")
def destination_shape_mismatch(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        text = _assigned(flow, operation) or _destination(flow, operation)
        if text is not None:
            yield operation.statement, text


def _assigned(flow: Flow, operation: Operation) -> str | None:
    if operation.name != "assign" or "value" not in operation.operands:
        return None
    target, value = operation.operands["dst"], operation.operands["value"]
    if target.blocks or value.blocks:
        return None
    one, two = dims(flow, target), dims(flow, value)
    if one is None or two is None or len(one) != len(two) or fits(one, two):
        return None
    return (
        f"A tile of {written_as(two)} is assigned to a part of {written_as(one)}; only sides of 1 "
        f"are spread."
    )


def fits(one: tuple[int | None, ...], two: tuple[int | None, ...]) -> bool:
    """Whether values of shape ``two`` can go to a place of shape ``one``."""
    return all(a is None or b is None or a == b or b == 1 for a, b in zip(one, two, strict=True))


def _destination(flow: Flow, operation: Operation) -> str | None:
    target = operation.operands.get("dst")
    function = FUNCTIONS.get(operation.name)
    if target is None or function is None or not operation.name.startswith(ISA):
        return None
    made = full_dims(flow, target)
    wanted = _wanted(flow, operation, function.result)
    if made is None or wanted is None or target.blocks:
        return None
    if made[0] == wanted[0] and free_size(made) == free_size(wanted):
        return None
    return (
        f"dst is a tile of {written_as(made)}, and {operation.short} of these operands makes "
        f"{written_as(wanted)}."
    )


def _wanted(flow: Flow, operation: Operation, rule: Result) -> tuple[int, ...] | None:
    tiles = [v for n, v in operation.operands.items() if n not in ("dst", "reduce_res")]
    if not tiles or any(view.blocks for view in tiles) or "perf_mode" in operation.given:
        return None
    first = full_dims(flow, tiles[0])
    if first is None or len(first) < 2:
        return None
    if rule is Result.SAME and len(first) >= 2:
        return first
    if rule is Result.TRANSPOSE and len(first) == 2:
        return first[1], first[0]
    second = full_dims(flow, tiles[1]) if len(tiles) > 1 else None
    if rule is Result.ELEMENTWISE and second == first:
        return first
    if rule is Result.MATMUL and second is not None and len(first) == len(second) == 2:
        return first[1], second[1]
    return None


def differing(flow: Flow, one: View, two: View) -> tuple[str, str] | None:
    """The shapes of two parts that cannot be copied onto each other, as text."""
    a, b = dims(flow, one), dims(flow, two)
    if a is None or b is None or len(a) != len(b) or one.blocks or two.blocks:
        return None
    return None if fits(a, b) else (written_as(a), written_as(b))


@nki_detector("nki_store_shape_mismatch")
def store_shape_mismatch(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        names = {NL + "store": ("dst", "value"), ISA + "dma_copy": ("dst", "src")}
        pair = names.get(operation.name)
        if pair is None or any(name not in operation.operands for name in pair):
            continue
        target, value = (operation.operands[name] for name in pair)
        if "dst_rmw_op" in operation.given or not is_tensor(value):
            continue
        shapes = differing(flow, target, value)
        if shapes is not None:
            text = (
                f"A tile of {shapes[1]} is stored to {shown(module, target)}, a part of "
                f"{shapes[0]}."
            )
            yield operation.statement, text
