"""What is known of a kernel's parameters: annotations, use in the text, captured launches."""

import json
from collections.abc import Iterator, Mapping

import tilewright.analysis.tiles.types as types
from tilewright.analysis.flow import flow_of
from tilewright.analysis.per_kernel import per_module
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.tiles.engine import UNKNOWN, constexpr
from tilewright.analysis.tiles.model import Constant, Kind, TileFacts
from tilewright.analysis.values import Flow, Value
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import ArgumentFacts, LaunchFacts

TL = "triton.language."
_SHAPED = tuple(
    TL + name for name in ("zeros", "full", "reshape", "view", "broadcast_to", "make_block_ptr")
)
_WHOLE = frozenset(
    (TL + "cdiv", "triton.cdiv", "triton.next_power_of_2", TL + "minimum", TL + "maximum", "min")
)
_BASED = (TL + "make_block_ptr", TL + "make_tensor_descriptor")


def parameter_facts(
    module: Module, kernel: Kernel, launches: tuple[LaunchFacts, ...]
) -> dict[str, TileFacts]:
    """Facts of each parameter; ``affine`` is left to the engine."""
    flow = flow_of(module, kernel)
    pointers = pointer_parameters(module, kernel)
    runs = is_launched(module, kernel) or bool(launches)
    whole = _integers(flow)
    computed = frozenset[str]() if runs else _computed_with(flow)
    found = {}
    for parameter in kernel.parameters:
        given = [launch.argument(parameter.name) for launch in launches]
        captured = [g for g in given if g is not None]
        if captured:
            found[parameter.name] = _agreed(captured)
        elif parameter.is_constexpr and not runs and parameter.name in computed - whole:
            # A caller may hand a helper a scalar where it asks for a constexpr.
            found[parameter.name] = TileFacts(Kind.UNKNOWN, ())
        elif parameter.is_constexpr:
            # 0 says that it may not be an integer: then it has no affine form.
            power = 1 if parameter.name in whole else 0
            found[parameter.name] = TileFacts(Kind.CONSTEXPR, (), types.WEAK, divisibility=power)
        elif parameter.name in pointers:
            shape = () if runs else None
            found[parameter.name] = TileFacts(Kind.POINTER, shape, base=parameter.name)
        else:
            found[parameter.name] = TileFacts(
                Kind.SCALAR if runs else Kind.UNKNOWN, () if runs else None
            )
    return found


def is_launched(module: Module, kernel: Kernel) -> bool:
    """Whether the host runs a kernel, as against a helper whose parameters may be tiles."""
    if module.has_launches(kernel.name) or kernel.autotune is not None or kernel.heuristics:
        return True
    return flow_of(module, kernel).result is None and kernel.name not in _called_names(module)


@per_module
def _called_names(module: Module) -> frozenset[str]:
    """Names that the module's kernels call."""
    names: set[str] = set()
    for kernel in module.kernels:
        flow = flow_of(module, kernel)
        names.update(source.name for source in flow.sources.values())
        names.update(str(value.detail) for _, value, _ in flow.placed if value.op == "call")
    return frozenset(names)


def pointer_parameters(module: Module, kernel: Kernel, depth: int = 0) -> frozenset[str]:
    """Parameters that are used as addresses."""
    flow = flow_of(module, kernel)
    found = {access.base for access in flow.accesses if access.base is not None}
    for _, value, _ in flow.placed:
        for candidate in _address_arguments(module, flow, value, depth):
            base = pointer_base(candidate)
            if base is not None:
                found.add(base)
    found.update(_typed_as_pointers(flow))
    return frozenset(found)


def _address_arguments(module: Module, flow: Flow, value: Value, depth: int) -> Iterator[Value]:
    """Arguments of a call that it takes as addresses."""
    if value.is_call(*_BASED):
        yield from value.positional[:1]
        base = value.keyword("base")
        if base is not None:
            yield base
        return
    name, positional, keywords = call_of(flow, value)
    helper = module.kernel(name) if name is not None and depth < 4 else None
    if helper is None:
        return
    wanted = pointer_parameters(module, helper, depth + 1)
    for parameter, given in zip(helper.parameters, positional, strict=False):
        if parameter.name in wanted:
            yield given
    for name, given in keywords.items():
        if name in wanted:
            yield given


def call_of(flow: Flow, value: Value) -> tuple[str | None, tuple[Value, ...], dict[str, Value]]:
    """Name and arguments of a call, pure or not."""
    source = flow.sources.get(value)
    if source is not None and not source.is_method:
        return source.name, source.positional, dict(source.keywords)
    if value.op != "call":
        return None, (), {}
    given = value.operands[len(value.operands) - len(value.keywords) :]
    return str(value.detail), value.positional, dict(zip(value.keywords, given, strict=True))


def _typed_as_pointers(flow: Flow) -> Iterator[str]:
    """``x_ptr.dtype.element_ty``; ``.type.element_ty`` tiles have too."""
    for value in flow.values.values():
        if value.op == "attribute" and value.detail == "element_ty":
            inner = value.operands[0]
            if inner.op == "attribute" and inner.detail == "dtype":
                inner = inner.operands[0]
            if inner.op == "param":
                yield str(inner.detail)


def _computed_with(flow: Flow) -> frozenset[str]:
    """Parameters that are operands of arithmetic."""
    return frozenset(
        str(operand.detail)
        for value in flow.values.values()
        if value.op in ("binary", "compare")
        for operand in value.operands
        if operand.op == "param"
    )


def _integers(flow: Flow) -> frozenset[str]:
    """Parameters that are integers, or the kernel would not compile."""
    found: set[str] = set()
    seen: set[Value] = set()
    pending = list(_whole_numbers(flow))
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.op == "param":
            found.add(str(value.detail))
        elif value.op in ("binary", "expand", "unary", "tuple", "phi", "after"):
            pending += value.operands
        elif value.op == "select":
            pending += value.operands[1:]
        elif value.op == "call" and value.detail in _WHOLE:
            pending += value.operands
    return frozenset(found)


def _whole_numbers(flow: Flow) -> Iterator[Value]:
    """Values that must be integers: extents, ranges, bounds of loops, addresses."""
    for value in flow.values.values():
        if value.op == "arange":
            yield from value.operands
        elif value.is_call(*_SHAPED):
            is_created = value.is_call(*_SHAPED[:2])
            yield from value.positional[:1] if is_created else value.positional[1:]
    for loop in flow.loops.values():
        yield from loop.bounds or ()
    yield from (access.pointer for access in flow.accesses)


def _agreed(given: list[ArgumentFacts]) -> TileFacts:
    """What all launches say of an argument."""
    each = [_captured(argument) for argument in given]
    first = each[0]
    if all(facts == first for facts in each):
        return first
    if any(facts.kind is not first.kind for facts in each):
        is_number = all(f.kind in (Kind.SCALAR, Kind.CONSTEXPR) for f in each)
        return TileFacts(Kind.SCALAR if is_number else Kind.UNKNOWN, ())
    dtype = first.dtype if all(f.dtype == first.dtype for f in each) else None
    shape = first.shape if all(f.shape == first.shape for f in each) else None
    if first.kind is Kind.CONSTEXPR:
        whole = all(f.affine is not None for f in each)
        return TileFacts(Kind.CONSTEXPR, (), types.WEAK, divisibility=1 if whole else 0)
    power = min(f.divisibility for f in each)
    return TileFacts(first.kind, shape, dtype, divisibility=power, base=first.base)


def _captured(argument: ArgumentFacts) -> TileFacts:
    power = 16 if argument.divisible_by_16 else 1
    if argument.type.startswith("tensordesc"):
        return _descriptor(argument)
    if argument.kind == "tensor":
        dtype = types.of_signature(argument.type)
        return TileFacts(Kind.POINTER, (), dtype, divisibility=power, base=argument.name)
    if argument.kind == "none":
        return constexpr(Constant(None))
    if argument.kind == "constexpr" or (argument.kind == "int" and argument.value == 1):
        return _stated(argument.value)
    dtype = types.of_signature(argument.type)
    return TileFacts(Kind.MASK if dtype == "i1" else Kind.SCALAR, (), dtype, divisibility=power)


def _stated(value: int | float | bool | str | None) -> TileFacts:
    """A constexpr as the worker writes it: ``triton.`` marks what is no number or string."""
    if not isinstance(value, str) or not value.startswith("triton."):
        return constexpr(Constant(value))
    kind, _, text = value.partition(":")
    if kind == "triton.dtype":
        return TileFacts(Kind.DTYPE, dtype=types.spelled(text))
    if kind == "triton.tuple":
        items = json.loads(text)
        return TileFacts(Kind.TUPLE, items=tuple(_stated(item) for item in items))
    return UNKNOWN


def _descriptor(argument: ArgumentFacts) -> TileFacts:
    """``tensordesc<fp16[64, 32]>``: the element type and the block."""
    inner = argument.type.removeprefix("tensordesc<").rstrip(">")
    dtype, _, sides = inner.rstrip("]").partition("[")
    shape = tuple(int(side) for side in sides.split(",") if side.strip().isdigit())
    return TileFacts(Kind.DESCRIPTOR, shape or None, dtype, base=argument.name)


def written(flow: Flow) -> Mapping[str | None, int]:
    """How many writes go through each base."""
    counts: dict[str | None, int] = {}
    for access in flow.writes:
        counts[access.base] = counts.get(access.base, 0) + 1
    return counts
