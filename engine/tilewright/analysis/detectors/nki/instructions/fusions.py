"""Pairs of instructions that one instruction computes."""

import ast

from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    dims,
    nki_detector,
    only_use,
    producer,
    same_mask,
    see,
)
from tilewright.analysis.nki import Flow, LoopKind, Memory, Operation, View
from tilewright.analysis.nki.affine import Affine
from tilewright.analysis.nki.catalogue import ISA, NL
from tilewright.analysis.nki.values import Literal, Named
from tilewright.source.model import Module

_COMMUTATIVE = ("add", "multiply", "maximum", "minimum")


def _one_use(flow: Flow, view: View | None) -> Operation | None:
    """The single instruction that makes a tile that nothing but one other reads, if it is so."""
    if view is None or only_use(flow, view) is None:
        return None
    made = producer(flow, view)
    used = only_use(flow, view)
    if made is None or used is None or not same_mask(made.mask, used.mask):
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


@nki_detector("nki_unfused_activation")
def unfused_activation(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        if operation.name != ISA + "activation":
            continue
        made = _one_use(flow, operation.operands.get("data"))
        part = None if made is None else _foldable(flow, made, operation)
        if made is not None and part is not None:
            text = (
                f"The Scalar engine computes op(data * scale + bias) in one pass; this "
                f"{function_of(made, 'op0')} before it is that {part} and takes a pass of the "
                f"Vector engine."
            )
            place = see(module, "folds into the activation", made.node)
            yield operation.statement, text, place


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
    return made.values.get("value") in (Affine.from_value(0), Literal(0.0))


def _is_default(operation: Operation, name: str, default: float | None) -> bool:
    if name in operation.operands:
        return False
    value = operation.values.get(name)
    if value is None or value == Literal(default):
        return True
    return isinstance(value, Affine) and default is not None and value.number == default


@nki_detector("nki_unfused_tensor_scalar")
def unfused_tensor_scalar(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        if not _single(operation):
            continue
        made = _one_use(flow, operation.operands.get("data"))
        if made is not None and _single(made) and made.loops == operation.loops:
            text = (
                f"{function_of(made, 'op0')} and {function_of(operation, 'op0')} are two "
                f"passes over the tile; one tensor_scalar with op0 and op1 makes both."
            )
            place = see(module, "the first pass", made.node)
            yield operation.statement, text, place


@nki_detector("nki_unfused_tensor_tensor")
def unfused_tensor_tensor(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        made = _scaled_operand(flow, operation)
        if made is None:
            continue
        second = function_of(operation, "op") or "add"
        text = (
            f"{function_of(made, 'op0')} with one value for each partition and {second} with "
            f"a tile are two passes; scalar_tensor_tensor makes both in the time of the second."
        )
        place = see(module, "the first pass", made.node)
        yield operation.statement, text, place


def _scaled_operand(flow: Flow, operation: Operation) -> Operation | None:
    """The tensor_scalar that makes an operand of a tensor_tensor, or what is added to a tile."""
    names: tuple[str, ...] = ("data1", "data2")
    if operation.name == "assign":
        adds = is_added(operation) and not _is_carried(flow, operation)
        names = ("value",) if adds else ()
    elif operation.name != ISA + "tensor_tensor" or "engine" in operation.given:
        return None
    for name in names:
        view = operation.operands.get(name)
        made = None if view is None or view.broadcast else _one_use(flow, view)
        if made is not None and _single(made) and made.loops == operation.loops:
            return made
    return None


def is_added(operation: Operation) -> bool:
    """Whether it is ``tile += value`` in SBUF."""
    target = operation.operands.get("dst")
    adds = isinstance(operation.statement, ast.AugAssign) and operation.accumulates
    return adds and target is not None and target.memory is Memory.SBUF


def _is_carried(flow: Flow, operation: Operation) -> bool:
    """Whether an affine loop carries the sum, which it may do by += alone."""
    created = operation.operands["dst"].storage.loops
    return any(x.kind is LoopKind.AFFINE and x not in created for x in operation.loops)


@nki_detector("nki_unfused_reduction")
def unfused_reduction(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        made = _summed(flow, operation)
        if made is not None:
            text = (
                f"The Scalar engine adds up what {function_of(made, 'op')} gives while it "
                f"computes it (activation_reduce); this reduction is another pass of the "
                f"Vector engine over the same tile."
            )
            place = see(module, "the activation", made.node)
            yield operation.statement, text, place


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
    alike = same_mask(made.mask, operation.mask) and made.loops == operation.loops
    return made if alike and not reduces else None


def _same_tile(made: Operation, data: View) -> bool:
    target = made.result if made.result is not None else made.operands.get("dst")
    return target is not None and target.shape == data.shape


@nki_detector("nki_sqrt_then_reciprocal")
def sqrt_then_reciprocal(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        made = _one_use(flow, inverted(operation))
        if made is None or not is_sqrt(made):
            continue
        text = "A square root and then its reciprocal are two instructions; rsqrt is one."
        place = see(module, "the square root", made.node)
        yield operation.statement, text, place


def inverted(operation: Operation) -> View | None:
    if operation.name in (ISA + "reciprocal", NL + "reciprocal"):
        return operation.operands.get("data", operation.operands.get("x"))
    if operation.name == NL + "divide" and "x" not in operation.operands:
        value = operation.values.get("x")
        number = value.number if isinstance(value, Affine) else getattr(value, "value", None)
        return operation.operands.get("y") if number == 1 else None
    return None


@nki_detector("nki_sigmoid_by_hand")
def sigmoid_by_hand(module: Module, flow: Flow) -> Reports:
    for operation in flow.operations:
        view = inverted(operation)
        added = _one_use(flow, view)
        plus = incremented(added) if added is not None else None
        made = _one_use(flow, plus)
        if made is None or not is_exp_of_negative(flow, made):
            continue
        text = (
            "1 / (1 + exp(-x)) takes three instructions over the tile; the Scalar engine "
            "computes sigmoid, and silu for x times it, in one."
        )
        yield operation.statement, text, see(module, "exp", made.node)


def incremented(operation: Operation) -> View | None:
    """The tile that 1 is added to."""
    if _single(operation) and function_of(operation, "op0") == "add":
        return operation.operands.get("data") if _is_one(operation.values.get("operand0")) else None
    if operation.name == NL + "add":
        for tile, number in (("x", "y"), ("y", "x")):
            if _is_one(operation.values.get(number)):
                return operation.operands.get(tile)
    return None


def _is_one(value: object) -> bool:
    return value in (Affine.from_value(1), Literal(1.0))


def is_exp_of_negative(flow: Flow, operation: Operation) -> bool:
    if operation.name == ISA + "activation":
        scale = operation.values.get("scale")
        negative = scale in (Literal(-1.0), Affine.from_value(-1))
        plain = negative and _has_no_bias(flow, operation)
        return plain and function_of(operation, "op") == "exp"
    given = operation.given.get("x")
    if operation.name != NL + "exp" or given is None:
        return False
    return isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.USub)


def is_sqrt(operation: Operation) -> bool:
    if operation.name == NL + "sqrt":
        return True
    return operation.name == ISA + "activation" and function_of(operation, "op") == "sqrt"
