"""The detector of operands widened before a product."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.dtypes import HALVES
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.tiles import tiles_of
from tilewright.analysis.values import Value
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Module

_FP32 = ("torch.float32", "torch.float")


@detector("dtype_precision")
def precision(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Both operands of a dot cast up to fp32 from 16-bit loads."""
    for kernel, flow in triton_kernels(module):
        tiles = tiles_of(module, kernel, context)
        for node, value, _ in flow.calls(TL + "dot"):
            sources = [_upcast_load(operand) for operand in value.positional[:2]]
            if len(sources) != 2 or sources[0] is None or sources[1] is None:
                continue
            found = [tiles.of(source).dtype for source in sources if source is not None]
            if any(_is_fp32_buffer(module, kernel, source) for source in sources):
                continue
            if None in found:
                if value.keyword("input_precision") or value.keyword("allow_tf32"):
                    # Somebody thought about precision here; without types that stands.
                    continue
                sure = False
            elif found[0] in HALVES and found[0] == found[1]:
                sure = True
            else:
                continue
            yield Finding(
                module.index.range_of(node),
                _precision_message(found[0] if sure else None),
                kernel.name,
            )


def _is_fp32_buffer(module: Module, kernel: Kernel, load: Value | None) -> bool:
    """Whether the host allocates what is loaded here in fp32."""
    base = None if load is None else pointer_base(load.operands[0])
    for launch in module.launches_of(kernel.name):
        argument = launch.arguments.get(base or "")
        value = None if argument is None else resolve(module, launch, argument)
        if isinstance(value, ast.Call) and any(
            k.arg == "dtype" and module.names.resolve(k.value) in _FP32 for k in value.keywords
        ):
            return True
    return False


def _upcast_load(operand: Value) -> Value | None:
    """The load below a cast to fp32, seen through transposes."""
    value = operand
    while value.is_call(TL + "trans") or (value.op == "attribute" and value.detail == "T"):
        value = value.operands[0]
    if value.op != "cast" or value.detail != "float32":
        return None
    inner = value.operands[0]
    while inner.is_call(TL + "trans") or (inner.op == "attribute" and inner.detail == "T"):
        inner = inner.operands[0]
    return inner if inner.op == "load" else None


def _precision_message(known: str | None) -> str:
    if known is None:
        return (
            "Both operands are cast to fp32 before tl.dot; if the pointers are 16-bit, this "
            "keeps the 16-bit tensor cores idle and adds no precision."
        )
    return (
        f"Both {known} operands are cast to fp32 before tl.dot: products of two 16-bit floats "
        "are exact in the fp32 accumulator, and the 16-bit tensor cores stay idle."
    )
