"""The detector of strides that are always 1 but unknown to the compiler."""

import ast

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import Reports, kernel_detector
from tilewright.analysis.model import Related
from tilewright.analysis.values import Flow, walk
from tilewright.source.host import provably_stride_one
from tilewright.source.model import Kernel, Module

_INTEGERS = frozenset(
    f"{prefix}{sign}int{bits}"
    for prefix in (TL, "")
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
) | {"int", "i32", "i64", "u32", "u64", "tl.int32", "tl.int64"}


@kernel_detector("stride_one_runtime", triton_kernels)
def stride_one_runtime(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A stride that is 1 at every launch and that the JIT may not fold."""
    launches = module.launches_of(kernel.name)
    hidden = _not_folded(module, kernel) if launches else {}
    if not hidden:
        return
    factors = _address_factors(flow)
    for parameter in kernel.parameters:
        why = hidden.get(parameter.name)
        if why is None or parameter.is_constexpr or parameter.name not in factors:
            continue
        if all(provably_stride_one(module, launch, parameter.name) for launch in launches):
            text = (
                f"{parameter.name} is 1 at every launch in this file, but {why} keeps the JIT "
                "from folding it, so neighbours in the tile are no neighbours to the compiler."
            )
            given = [launch.arguments[parameter.name] for launch in launches]
            places = [Related("1 here", module.index.range_of(node)) for node in given]
            yield parameter.range, text, places


def _not_folded(module: Module, kernel: Kernel) -> dict[str, str]:
    """Parameters that stay run-time values when they equal 1, and what makes them."""
    found: dict[str, str] = {}
    arguments = kernel.node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        note = argument.annotation
        name = note.value if isinstance(note, ast.Constant) else note and module.names.resolve(note)
        if name in _INTEGERS:
            found[argument.arg] = "its annotated type"
    return found | dict.fromkeys(kernel.do_not_specialize or (), "do_not_specialize")


def _address_factors(flow: Flow) -> set[str]:
    """Parameters that an address multiplies the elements of a tile by."""
    return {
        str(operand.detail)
        for access in flow.accesses
        for value in walk(access.pointer)
        if "arange" in value.operations and value.is_binary("Mult")
        for operand in value.operands
        if operand.op == "param"
    }
