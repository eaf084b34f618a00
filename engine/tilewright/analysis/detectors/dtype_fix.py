"""Detectors of the dtype stage: wider types than the data has."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.dtypes import HALVES, dtype_of, element_types
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.values import Value
from tilewright.source.host import host_of, resolve
from tilewright.source.model import Kernel, Launch, Module

_NO_FP64 = (
    "No argument is fp64, yet this computes in fp64, at 1/2 to 1/64 of the fp32 rate, depending "
    "on the chip."
)
_MAYBE_FP64 = (
    "This computes in fp64, at 1/2 to 1/64 of the fp32 rate, depending on the chip; unless the "
    "data is fp64, fp32 is what kernels of this kind use."
)
_DOUBLES = ("torch.float64", "torch.double")


@detector("dtype_float64")
def float64(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """fp64 asked for by name in a kernel, or in a buffer the host allocates for one."""
    for kernel, _ in triton_kernels(module):
        types = element_types(context, kernel.name)
        if "fp64" in types.values():
            continue
        sure = bool(types)
        if not sure and not _may_be_needless(module, kernel):
            continue
        for node in _unconditional(kernel.node.body):
            if isinstance(node, ast.Attribute | ast.Name) and _is_float64(module, node):
                yield Finding(
                    module.index.range_of(node),
                    _NO_FP64 if sure else _MAYBE_FP64,
                    kernel.name,
                    data={"kind": "kernel", "proven": str(sure).lower()},
                )
        if sure:
            for launch in module.launches_of(kernel.name):
                yield from _double_buffers(module, kernel, launch)


def _may_be_needless(module: Module, kernel: Kernel) -> bool:
    """Without captured types: launched here, and not called a variant for fp64 data."""
    name = kernel.name.lower()
    return bool(module.launches_of(kernel.name)) and "64" not in name and "double" not in name


def _is_float64(module: Module, node: ast.Attribute | ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load) and module.names.resolve(node) == TL + "float64"


def _unconditional(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Nodes outside conditionals and comparisons: there a type may be asked about, not used."""
    pending: list[ast.AST] = list(reversed(body))
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.If | ast.IfExp | ast.Compare | ast.Assert):
            yield node
            pending.extend(reversed(list(ast.iter_child_nodes(node))))


def _double_buffers(module: Module, kernel: Kernel, launch: Launch) -> Iterator[Finding]:
    if host_of(module, launch) is None:
        return
    for argument in launch.arguments.values():
        value = resolve(module, launch, argument)
        if not isinstance(argument, ast.Name) or not isinstance(value, ast.Call):
            continue
        for keyword in value.keywords:
            if keyword.arg == "dtype" and module.names.resolve(keyword.value) in _DOUBLES:
                yield Finding(
                    module.index.range_of(keyword.value),
                    "An fp64 buffer moves twice the bytes of an fp32 one and drags fp64 "
                    "arithmetic into the kernel.",
                    kernel.name,
                    data={"kind": "host", "name": argument.id, "proven": "true"},
                )


@detector("dtype_precision")
def precision(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Both operands of a dot cast up to fp32 from 16-bit loads."""
    for kernel, flow in triton_kernels(module):
        types = element_types(context, kernel.name)
        for node, value, _ in flow.calls(TL + "dot"):
            sources = [_upcast_load(operand) for operand in value.positional[:2]]
            if len(sources) != 2 or sources[0] is None or sources[1] is None:
                continue
            found = [dtype_of(source, types) for source in sources if source is not None]
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
                data={"proven": str(sure).lower(), "type": str(found[0] if sure else "")},
            )


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
