"""The detector of fp64 that nothing asks for."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.dtypes import element_types
from tilewright.analysis.host_code import ON_DOUBLES
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.knowledge.model import HINT
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
    if not module.lookup.says("float64") and not module.lookup.says("double"):
        return
    for kernel, _ in triton_kernels(module):
        types = element_types(context, kernel.name)
        if "fp64" in types.values():
            continue
        sure = bool(types)
        if not sure and not _may_be_needless(module, kernel):
            continue
        for node in _stated(kernel.node.body, enters=sure):
            if isinstance(node, ast.Attribute | ast.Name) and _is_float64(module, node):
                yield Finding(
                    module.index.range_of(node),
                    _NO_FP64 if sure else _MAYBE_FP64,
                    kernel.name,
                    severity=None if sure else HINT,
                )
        if sure:
            for launch in module.launches_of(kernel.name):
                yield from _double_buffers(module, kernel, launch)


def _may_be_needless(module: Module, kernel: Kernel) -> bool:
    """Without captured types: launched here, and nothing in the file speaks of fp64 data."""
    name = kernel.name.lower()
    if "64" in name or "double" in name or any(map(module.lookup.says, ON_DOUBLES)):
        return False
    return bool(module.launches_of(kernel.name))


def _is_float64(module: Module, node: ast.Attribute | ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load) and module.names.resolve(node) == TL + "float64"


def _stated(body: list[ast.stmt], enters: bool) -> Iterator[ast.AST]:
    """Nodes outside comparisons, where a type is asked about and not used.

    Branches are left out as well, since one may be there for fp64 data; where no data is, only
    those are that a condition on a type leads to.
    """
    pending: list[ast.AST] = list(reversed(body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If | ast.IfExp) and not (enters and not _is_on_type(node.test)):
            continue
        if not isinstance(node, ast.Compare | ast.Assert):
            yield node
            pending.extend(reversed(list(ast.iter_child_nodes(node))))


def _is_on_type(test: ast.expr) -> bool:
    """Whether a condition names a type, its own or a tile's."""
    names = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(test) if isinstance(n, ast.Attribute)}
    words = ("type", "float", "fp", "double", "64", "precision")
    return any(word in name.lower() for name in names for word in words)


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
                )
