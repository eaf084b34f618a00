"""Instructions of the Vector and Scalar engines that fewer or cheaper ones replace."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.nki.instructions.shared import (
    computing,
    dims,
    found,
    free_size,
    full_dims,
    interpreted,
    is_loop_running,
    only_use,
    producer,
    see,
    shown,
    writes_of,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nki import Flow, Index, Memory, Operation, View
from tilewright.analysis.nki.affine import Affine
from tilewright.analysis.nki.catalogue import DTYPE_BYTES, FUNCTIONS, ISA, NL, Result
from tilewright.analysis.nki.model import IndexKind
from tilewright.analysis.nki.state import Literal, Named
from tilewright.source.model import Module

_FEW = 32
_LONG = 128
_STRIDE_BYTES = 16
_COMMUTATIVE = ("add", "multiply", "maximum", "minimum")
_ELEMENTWISE = (Result.SAME, Result.ELEMENTWISE, Result.REDUCE)


@detector("nki_broadcast_tensor_tensor")
def broadcast_tensor_tensor(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        for operation in computing(flow):
            if operation.name != ISA + "tensor_tensor":
                continue
            for name in ("data1", "data2"):
                view = operation.operands.get(name)
                if view is not None and view.broadcast and _is_column(flow, view):
                    text = (
                        f"{view.storage.name} holds one value for each partition; tensor_scalar "
                        f"takes it as it is and reads one tile, where tensor_tensor reads two."
                    )
                    yield found(module, kernel, operation.statement, text)


def _is_column(flow: Flow, view: View) -> bool:
    sides, spread = flow.numbers(view.storage.shape), full_dims(flow, view)
    if sides is None or spread is None or len(sides) != 2 or view.storage.partition:
        return False
    return sides[1] == 1 and sides[0] == spread[0] and free_size(spread) > 1


def one_use(flow: Flow, view: View | None) -> Operation | None:
    """The single instruction that makes a tile that nothing but one other reads, if it is so."""
    if view is None or only_use(flow, view) is None:
        return None
    made = producer(flow, view)
    if made is None or made.mask is not None:
        return None
    return made


def function_of(operation: Operation, name: str) -> str | None:
    """The last part of a function given as an operand: ``exp`` of ``nl.exp`` or ``np.exp``."""
    value = operation.values.get(name)
    return value.dotted.rpartition(".")[2] if isinstance(value, Named) else None


def _single(operation: Operation) -> bool:
    """A tensor_scalar with one operation, operands in the written order or in any."""
    if operation.name != ISA + "tensor_scalar":
        return False
    second = operation.values.get("op1", Literal(None))
    one = second == Literal(None) and "operand1" not in operation.operands
    turned = operation.values.get("reverse0", Literal(False))
    return one and (turned == Literal(False) or function_of(operation, "op0") in _COMMUTATIVE)


@detector("nki_unfused_activation")
def unfused_activation(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        for operation in flow.operations:
            if operation.name != ISA + "activation":
                continue
            made = one_use(flow, operation.operands.get("data"))
            part = None if made is None else _foldable(flow, made, operation)
            if made is not None and part is not None:
                text = (
                    f"The Scalar engine computes op(data * scale + bias) in one pass; this "
                    f"{function_of(made, 'op0')} before it is that {part} and takes a pass of the "
                    f"Vector engine."
                )
                place = see(module, "folds into the activation", made.node)
                yield found(module, kernel, operation.statement, text, place)


def _foldable(flow: Flow, made: Operation, activation: Operation) -> str | None:
    if not _single(made) or made.loops != activation.loops:
        return None
    operand = made.operands.get("operand0")
    per_partition = operand is not None and dims(flow, operand) is not None
    if operand is not None and not per_partition:
        return None
    scaled = not _is_default(activation, "scale", 1.0)
    biased = not _has_no_bias(flow, activation)
    op = function_of(made, "op0")
    if op == "multiply" and not scaled:
        return "scale"
    if op in ("add", "subtract") and per_partition and not biased and not scaled:
        return "bias"
    return None


def _has_no_bias(flow: Flow, activation: Operation) -> bool:
    """No bias is given, or a tile of zeros, as some releases need."""
    bias = activation.operands.get("bias")
    if bias is None:
        return _is_default(activation, "bias", None)
    made = producer(flow, bias)
    if made is None or made.name != ISA + "memset":
        return False
    return made.values.get("value") in (Affine.of(0), Literal(0.0))


def _is_default(operation: Operation, name: str, default: float | None) -> bool:
    if name in operation.operands:
        return False
    value = operation.values.get(name)
    if value is None or value == Literal(default):
        return True
    return isinstance(value, Affine) and default is not None and value.number == default


@detector("nki_unfused_tensor_scalar")
def unfused_tensor_scalar(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        for operation in flow.operations:
            if not _single(operation):
                continue
            made = one_use(flow, operation.operands.get("data"))
            if made is not None and _single(made) and made.loops == operation.loops:
                text = (
                    f"{function_of(made, 'op0')} and {function_of(operation, 'op0')} are two "
                    f"passes over the tile; one tensor_scalar with op0 and op1 makes both."
                )
                place = see(module, "the first pass", made.node)
                yield found(module, kernel, operation.statement, text, place)


@detector("nki_unfused_reduction")
def unfused_reduction(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        for operation in flow.operations:
            made = _summed(flow, operation)
            if made is not None:
                text = (
                    f"The Scalar engine adds up what {function_of(made, 'op')} gives while it "
                    f"computes it (activation_reduce); this reduction is another pass of the "
                    f"Vector engine over the same tile."
                )
                place = see(module, "the activation", made.node)
                yield found(module, kernel, operation.statement, text, place)


def _summed(flow: Flow, operation: Operation) -> Operation | None:
    if operation.name == ISA + "tensor_reduce":
        adds = function_of(operation, "op") == "add"
        data = operation.operands.get("data")
    elif operation.name == NL + "sum":
        adds, data = True, operation.operands.get("x")
    else:
        return None
    made = producer(flow, data) if data is not None else None
    if not adds or data is None or made is None or made.name != ISA + "activation":
        return None
    sides = dims(flow, data)
    if sides is None or len(sides) != 2 or not _same_tile(made, data):
        return None
    reduces = "reduce_op" in made.given or "reduce_res" in made.given
    return None if reduces or made.mask is not None or made.loops != operation.loops else made


def _same_tile(made: Operation, data: View) -> bool:
    target = made.result if made.result is not None else made.operands.get("dst")
    return target is not None and target.shape == data.shape


@detector("nki_sqrt_then_reciprocal")
def sqrt_then_reciprocal(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        for operation in flow.operations:
            made = one_use(flow, _inverted(operation))
            if made is None or not _is_sqrt(made):
                continue
            text = "A square root and then its reciprocal are two instructions; rsqrt is one."
            place = see(module, "the square root", made.node)
            yield found(module, kernel, operation.statement, text, place)


def _inverted(operation: Operation) -> View | None:
    if operation.name in (ISA + "reciprocal", NL + "reciprocal"):
        return operation.operands.get("data", operation.operands.get("x"))
    if operation.name == NL + "divide" and "x" not in operation.operands:
        value = operation.values.get("x")
        number = value.number if isinstance(value, Affine) else getattr(value, "value", None)
        return operation.operands.get("y") if number == 1 else None
    return None


@detector("nki_sigmoid_by_hand")
def sigmoid_by_hand(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        for operation in flow.operations:
            view = _inverted(operation)
            added = one_use(flow, view)
            plus = _incremented(added) if added is not None else None
            made = one_use(flow, plus)
            if made is None or not _is_exp_of_negative(flow, made):
                continue
            text = (
                "1 / (1 + exp(-x)) takes three instructions over the tile; the Scalar engine "
                "computes sigmoid, and silu for x times it, in one."
            )
            yield found(module, kernel, operation.statement, text, see(module, "exp", made.node))


def _incremented(operation: Operation) -> View | None:
    """The tile that 1 is added to."""
    if _single(operation) and function_of(operation, "op0") == "add":
        return operation.operands.get("data") if _is_one(operation.values.get("operand0")) else None
    if operation.name == NL + "add":
        for tile, number in (("x", "y"), ("y", "x")):
            if _is_one(operation.values.get(number)):
                return operation.operands.get(tile)
    return None


def _is_one(value: object) -> bool:
    return value in (Affine.of(1), Literal(1.0))


def _is_exp_of_negative(flow: Flow, operation: Operation) -> bool:
    if operation.name == ISA + "activation":
        scale = operation.values.get("scale")
        negative = scale in (Literal(-1.0), Affine.of(-1))
        plain = negative and _has_no_bias(flow, operation)
        return plain and function_of(operation, "op") == "exp"
    given = operation.given.get("x")
    if operation.name != NL + "exp" or given is None:
        return False
    return isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.USub)


def _is_sqrt(operation: Operation) -> bool:
    if operation.name == NL + "sqrt":
        return True
    return operation.name == ISA + "activation" and function_of(operation, "op") == "sqrt"


@detector("nki_few_partitions")
def few_partitions(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        for operation in computing(flow):
            function = FUNCTIONS.get(operation.name)
            running = any(is_loop_running(flow, loop) for loop in operation.loops)
            if function is None or function.result not in _ELEMENTWISE or not running:
                continue
            views = [operation.operands[n] for n in function.tiles if n in operation.operands]
            sides = [full_dims(flow, view) for view in views]
            known = [side for side in sides if side is not None]
            if len(known) != len(sides) or not known or "copy" in operation.short:
                continue
            partitions, free = max(s[0] for s in known), max(free_size(s) for s in known)
            if partitions <= _FEW and free >= _LONG and partitions * free >= 4096:
                text = (
                    f"{operation.short} works on {partitions} partitions with {free} elements in "
                    f"each; the engine has 128 lanes and the time goes by the elements in one."
                )
                yield found(module, kernel, operation.statement, text)


@detector("nki_broadcast_in_loop")
def broadcast_in_loop(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        for operation in flow.operations:
            if operation.name != NL + "broadcast_to" or not operation.loops:
                continue
            loop, view = operation.loops[-1], operation.reads[0]
            if loop in view.storage.loops or not is_loop_running(flow, loop):
                continue
            symbols = {s for i in view.indices or () if i.base is not None for s in i.base.symbols}
            changed = any(loop in w.loops for w in writes_of(flow).get(view.storage, ()))
            if view.indices is None or loop.symbol in symbols or changed or loop.symbol is None:
                continue
            one, many = dims(flow, view), dims(flow, operation.result)
            if one and many and one[0] == 1 and many[0] not in (None, 1):
                text = (
                    f"{shown(module, view)} is spread over {many[0]} partitions in every iteration "
                    f"over {loop.symbol.name}, each time by a pass of the Tensor engine."
                )
                yield found(module, kernel, operation.statement, text)


@detector("nki_strided_free_access")
def strided_free_access(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in interpreted(module):
        for operation in computing(flow):
            for view in operation.reads:
                stride = _stride(flow, view)
                size = DTYPE_BYTES.get(view.dtype or "", 0)
                if stride is not None and size and stride * size > _STRIDE_BYTES:
                    text = (
                        f"Neighbouring elements of {shown(module, view)} are {stride * size} bytes "
                        f"apart in a partition; from a stride of 16 bytes on, the memory feeds an "
                        f"engine at half its rate."
                    )
                    yield found(module, kernel, operation.statement, text)
                    break


def _stride(flow: Flow, view: View) -> int | None:
    """Elements between neighbours along the innermost dimension that is walked."""
    shape = view.storage.shape
    if view.indices is None or shape is None or view.memory is not Memory.SBUF:
        return None
    below, stride = 1, None
    for axis in range(len(shape) - 1, view.storage.partition, -1):
        index = view.indices[axis] if axis < len(view.indices) else None
        step, extent = _walk(flow, index, shape[axis])
        if step is None or extent is None:
            return None
        if extent > 1:
            stride = below * step if extent >= 64 else None
            break
        side = flow.number(shape[axis])
        if side is None:
            return None
        below *= side
    return stride


def _walk(flow: Flow, index: Index | None, side: Affine) -> tuple[int | None, int | None]:
    """Step and extent of the indices of one dimension."""
    if index is None or index.kind is IndexKind.FULL:
        return 1, flow.number(side)
    if index.kind is IndexKind.POINT:
        return 1, 1
    lanes = list(index.lanes)
    if len(lanes) != 1 or index.base is None:
        return None, None
    coefficient = index.base.coefficient(lanes[0])
    return (None if coefficient is None else coefficient.number), flow.number(lanes[0].extent)
