"""Detectors of the memory stage: what the addresses say about the hardware's work."""

from collections.abc import Iterator

from tilewright.analysis.detectors.common import triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.values import Flow, walk
from tilewright.source.host import provably_stride_one
from tilewright.source.model import Module


@detector("stride_one_runtime")
def stride_one_runtime(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A stride that is 1 at every launch, handed over as a run-time integer."""
    for kernel, flow in triton_kernels(module):
        launches = module.launches_of(kernel.name)
        if not launches:
            continue
        factors = _address_factors(flow)
        for parameter in kernel.parameters:
            if parameter.is_constexpr or parameter.name not in factors:
                continue
            if all(provably_stride_one(module, launch, parameter.name) for launch in launches):
                yield Finding(
                    parameter.range,
                    f"{parameter.name} is 1 at every launch in this file; as a tl.constexpr it is "
                    "known to be 1 also where the JIT does not specialize arguments.",
                    kernel.name,
                    related=tuple(
                        Related("1 here", module.index.range_of(launch.arguments[parameter.name]))
                        for launch in launches
                    ),
                    data={"parameter": parameter.name},
                )


def _address_factors(flow: Flow) -> set[str]:
    """Parameters that an address multiplies something by."""
    return {
        str(operand.detail)
        for access in flow.accesses
        for value in walk(access.pointer)
        if value.is_binary("Mult")
        for operand in value.operands
        if operand.op == "param"
    }
