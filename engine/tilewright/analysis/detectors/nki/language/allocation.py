"""Kernels that place their tensors themselves, and what is then no longer placed for them."""

import ast
from itertools import islice

from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    flavoured,
    nki_detector,
    older,
)
from tilewright.analysis.detectors.nki.language.arguments import is_allocation
from tilewright.analysis.detectors.registry import kernel_detector
from tilewright.analysis.nki import Call, Flow, Kind
from tilewright.source.model import Kernel, Module

_ON_CHIP = ("nki.language.sbuf", "nki.language.psum")


def _allocated(module: Module, flow: Flow) -> list[Call]:
    """The tensors of a kernel that are made at an address."""
    return [
        call
        for call in flow.calls
        if flow.fact(call.node).kind is Kind.TENSOR
        and (buffer := call.argument("buffer")) is not None
        and is_allocation(module, flow, buffer)
    ]


def _places_all(module: Module, kernel: Kernel) -> bool:
    """Whether a decorator lets the compiler place even what is made at an address."""
    decorators = (module.names.resolve(d) for d in kernel.node.decorator_list)
    return any(d == "nki.compiler.force_auto_alloc" for d in decorators)


@kernel_detector("nki_mixed_allocation", older)
def mixed_allocation(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    placed = _allocated(module, flow)
    if not placed or _places_all(module, kernel):
        return
    line = placed[0].node.lineno
    for call in flow.calls:
        fact = flow.fact(call.node)
        if fact.kind is Kind.TENSOR and fact.buffer in _ON_CHIP:
            text = (
                f"This tensor is left to the compiler to place, and the one at line {line} is "
                f"placed by hand: within a kernel the compiler places all of them or none."
            )
            yield call.node, text


@nki_detector("nki_allocated_transpose", older)
def allocated_transpose(module: Module, flow: Flow) -> Reports:
    if not _allocated(module, flow):
        return
    for call in flow.calls_of("nki.language.matmul"):
        flag = call.argument("transpose_x")
        if flag is None or (isinstance(flag, ast.Constant) and flag.value is False):
            text = (
                "Without transpose_x=True this matmul transposes its first operand on the Tensor "
                "engine, into a tile that nothing places in a kernel that places its own tensors."
            )
            yield call.node, text
    for call in flow.calls_of("nki.isa.nc_transpose"):
        engine = call.argument("engine")
        dotted = module.names.resolve(engine) if engine is not None else ""
        if engine is None or (dotted or "").endswith(("tensor_engine", "engine.tensor")):
            text = (
                "A transpose on the Tensor engine needs an identity matrix, and in a kernel "
                "that places its own tensors nothing places one: use nc_matmul with your own."
            )
            yield call.node, text


@nki_detector("nki_block_dimension", flavoured)
def block_dimension(module: Module, flow: Flow) -> Reports:
    if flow.is_older:
        return
    for call in islice(flow.calls_of("nki.language.par_dim"), 1):
        text = (
            "The nki package has no par_dim: the first dimension of a tensor on the chip is "
            "its partition, and blocks are a Python list of tensors."
        )
        yield call.node, text
