"""Detector of tensor descriptors whose strides break the alignment that they promise."""

import re
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.values import Value
from tilewright.source.model import Module
from tilewright.targets.model import LaunchFacts

_ALIGNMENT = 16


@detector("descriptor_misaligned")
def descriptor_misaligned(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Strides that are no multiple of 16 bytes at a launch, or a last one that is not 1."""
    for kernel, flow in triton_kernels(module):
        launches = [launch for launch in context.launches if launch.kernel == kernel.name]
        for node, value, _ in flow.calls(TL + "make_tensor_descriptor"):
            strides = _strides(value)
            if not strides:
                continue
            message = _last(strides) or next(
                filter(None, (_misaligned(value, strides, launch) for launch in launches)), None
            )
            if message is not None:
                yield Finding(module.index.range_of(node), message, kernel.name)


def _strides(call: Value) -> tuple[Value, ...]:
    given = call.argument(2, "strides")
    return given.operands if given is not None and given.op == "tuple" else ()


def _last(strides: tuple[Value, ...]) -> str | None:
    last = strides[-1]
    if last.op != "const" or not isinstance(last.detail, int) or last.detail == 1:
        return None
    return (
        f"The last stride of this descriptor is {last.detail}, and the hardware copies boxes whose "
        "last axis is contiguous: this does not compile."
    )


def _misaligned(call: Value, strides: tuple[Value, ...], launch: LaunchFacts) -> str | None:
    given = call.argument(0, "base")
    base = None if given is None else pointer_base(given)
    tensor = None if base is None else launch.argument(base)
    size = None if tensor is None else _bytes(tensor.type)
    if tensor is None or size is None:
        return None
    numbers = Numbers.of_launch(launch)
    for stride in strides[:-1]:
        count = number_of(stride, numbers)
        if count is not None and count * size % _ALIGNMENT:
            return (
                f"A stride of this descriptor of {tensor.name} is {count} elements, {count * size} "
                f"bytes, and descriptors promise multiples of {_ALIGNMENT} bytes."
            )
    return None


def _bytes(pointer_type: str) -> int | None:
    """Bytes of an element, of "*fp16" and the like."""
    bits = re.search(r"(\d+)", pointer_type)
    if not pointer_type.startswith("*") or bits is None:
        return None
    number = 8 if "fp8" in pointer_type else int(bits.group(1))
    return max(1, number // 8)
