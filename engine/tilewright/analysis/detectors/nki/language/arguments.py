"""Arguments that an instruction does not take: biases, dtypes, axes, engines, PE tiles."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import finding_at, source_of
from tilewright.analysis.detectors.nki.kernels import (
    Reports,
    flavoured,
    is_number,
    nki_detector,
    older,
    resolved_expression,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nki import Call, Flow
from tilewright.knowledge.nki import NkiFile, NkiFunction, nki_interface
from tilewright.source.model import Module, NkiFlavour

_ACTIVATIONS = ("nki.isa.activation", "nki.isa.activation_reduce")
_REDUCTIONS = {
    "nki.isa.tensor_reduce": "axis",
    **{f"nki.language.{n}": "axis" for n in ("sum", "max", "min", "mean", "prod", "var", "all")},
}
_FIRST_GENERATION = ("trn1", "inf2", "gen2")
_BIAS_TYPES = frozenset({"float32", "float16", "bfloat16"})
_SUFFIX = "_engine"
_SCALAR_OPS = frozenset(
    {("multiply", "add"), ("multiply", None), ("add", None), ("mult", "add"), ("mult", None)}
)


def argument(call: Call, function: NkiFunction, name: str) -> ast.expr | None:
    """What a call passes for a parameter, by keyword or by position."""
    named = call.argument(name)
    if named is not None:
        return named
    positional = function.signatures[0].positional
    if name in positional and positional.index(name) < len(call.node.args):
        return call.node.args[positional.index(name)]
    return None


def _interface(flow: Flow) -> NkiFile:
    return nki_interface((flow.flavour or NkiFlavour.NKI).value)


def _nki_calls(flow: Flow) -> Iterator[tuple[Call, NkiFunction]]:
    functions = _interface(flow).functions
    for call in flow.calls:
        function = functions.get(call.dotted or "")
        if function is not None and not any(isinstance(a, ast.Starred) for a in call.node.args):
            yield call, function


@detector("nki_activation_bias")
def activation_bias(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in flavoured(module):
        if not flow.is_older and not _is_first_generation(context):
            continue
        for call in flow.calls_of(*_ACTIVATIONS):
            bias = call.argument("bias")
            if bias is None:
                continue
            reason = _bias_fault(module, flow, resolved_expression(flow, bias))
            if reason is not None:
                text = (
                    f"The bias of this activation {reason}; the Scalar engine reads one from a "
                    f"column of fp32, fp16 or bf16, one value for each partition."
                )
                yield finding_at(module, kernel, bias, text)


def _is_first_generation(context: AnalysisContext) -> bool:
    return context.target is not None and context.target.arch in _FIRST_GENERATION


def _bias_fault(module: Module, flow: Flow, bias: ast.expr) -> str | None:
    if is_number(bias):
        return "is a number"
    call = next((c for c in flow.calls_of("nki.isa.memset") if c.node is bias), None)
    if call is None or not flow.is_older:
        return None
    dtype = call.argument("dtype") or (call.node.args[2] if len(call.node.args) > 2 else None)
    name = (
        (module.names.resolve(dtype) or "").rpartition(".") if dtype is not None else ("", "", "")
    )
    if name[0] in ("numpy", "nki.language") and name[2] not in _BIAS_TYPES:
        return f"is of type {name[2]}"
    return None


@nki_detector("nki_dtype_64_bit", flavoured)
def dtype_64_bit(module: Module, flow: Flow) -> Reports:
    refused = _interface(flow).unsupported_dtypes
    for call, function in _nki_calls(flow):
        dtype = argument(call, function, "dtype")
        name = _dtype_name(module, dtype)
        if dtype is not None and name in refused:
            text = f"{name} is no element type of a NeuronCore, whose widest have 32 bits."
            yield dtype, text


def _dtype_name(module: Module, node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if node is None or not isinstance(node, ast.Name | ast.Attribute):
        return None
    owner, _, name = (module.names.resolve(node) or "").rpartition(".")
    return name if owner in ("numpy", "nki.language", "torch", "jax.numpy") else None


@nki_detector("nki_partition_reduction", flavoured)
def partition_reduction(module: Module, flow: Flow) -> Reports:
    for call, function in _nki_calls(flow):
        name = _REDUCTIONS.get(call.dotted or "")
        axis = argument(call, function, name) if name is not None else None
        if axis is None:
            continue
        axes = axis.elts if isinstance(axis, ast.Tuple | ast.List) else [axis]
        if any(_is_zero(part) for part in axes):
            text = (
                "Axis 0 of a tile is the partition, and the Vector engine reduces along the "
                "others alone, within each partition."
            )
            yield call.node, text


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and node.value is not False


@nki_detector("nki_engine_cannot_run", flavoured)
def engine_cannot_run(module: Module, flow: Flow) -> Reports:
    for call, function in _nki_calls(flow):
        wanted = call.argument("engine")
        engine = _engine(module, wanted)
        if wanted is None or engine is None or not function.engines:
            continue
        reason = _engine_fault(module, call, function, engine)
        if reason is not None:
            yield wanted, reason


def _engine(module: Module, node: ast.expr | None) -> str | None:
    dotted = module.names.resolve(node) if node is not None else None
    if dotted is None or not dotted.startswith("nki.isa."):
        return None
    name = dotted.rpartition(".")[2].removesuffix(_SUFFIX)
    return name if name in ("tensor", "vector", "scalar", "gpsimd", "sync", "dma") else None


def _engine_fault(module: Module, call: Call, function: NkiFunction, engine: str) -> str | None:
    name = (call.dotted or "").removeprefix("nki.isa.")
    if engine not in function.engines:
        can = " or ".join(function.engines)
        return f"The {engine} engine has no {name} instruction; it runs on {can}."
    if name != "tensor_scalar":
        return None
    first = _op(module, argument(call, function, "op0"))
    second = argument(call, function, "op1")
    if engine == "scalar" and first is not None:
        pair = (first, None if second is None else _op(module, second))
        unknown = second is not None and pair[1] is None
        if not unknown and pair not in _SCALAR_OPS:
            return (
                f"The scalar engine's tensor_scalar multiplies, adds, or multiplies and then "
                f"adds; it has no {first}{'' if pair[1] is None else ' then ' + pair[1]}."
            )
    return None


def _op(module: Module, node: ast.expr | None) -> str | None:
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    owner, _, name = (module.names.resolve(node) or "").rpartition(".")
    return name if owner in ("nki.language", "numpy") else None


@nki_detector("nki_tile_position", flavoured)
def tile_position(module: Module, flow: Flow) -> Reports:
    for call in flow.calls_of("nki.isa.nc_matmul"):
        place, size = call.argument("tile_position"), call.argument("tile_size")
        if any(k.arg is None for k in call.node.keywords):
            continue
        fault = _tile_fault(place, size)
        if fault is not None:
            yield place or size or call.node, fault


def _tile_fault(place: ast.expr | None, size: ast.expr | None) -> str | None:
    places, sizes = _pair(place), _pair(size)
    if (place is None) is not (size is None):
        one = place if place is not None else size
        if (_pair(one) or (1,)) == ():
            return None
        missing = "tile_size" if size is None else "tile_position"
        return f"{missing} is missing: a part of the PE array is chosen by both, or by neither."
    odd = next((n for n in (*(places or ()), *(sizes or ())) if n % 32), None)
    if odd is not None:
        return f"{odd} is no multiple of 32, the step in which the PE array is divided."
    if places and sizes and any(p + s > 128 for p, s in zip(places, sizes, strict=False)):
        return f"This part of the PE array ends beyond 128: it starts at {places} and has {sizes}."
    return None


def _pair(node: ast.expr | None) -> tuple[int, ...] | None:
    """A tuple of literal integers."""
    if not isinstance(node, ast.Tuple | ast.List):
        return None
    values = [e.value for e in node.elts if isinstance(e, ast.Constant)]
    if len(values) != len(node.elts):
        return None
    return tuple(v for v in values if isinstance(v, int))


@nki_detector("nki_initialised_buffer", older)
def initialised_buffer(module: Module, flow: Flow) -> Reports:
    for call in flow.calls_of(*(f"nki.language.{n}" for n in ("zeros", "ones", "full"))):
        buffer = call.argument("buffer")
        if buffer is None:
            continue
        what = _cannot_hold(module, flow, buffer)
        if what is not None:
            text = (
                f"{source_of(module, call.node.func)} cannot give {what} its values; make it "
                f"with nl.ndarray and write them."
            )
            yield call.node, text


def _cannot_hold(module: Module, flow: Flow, buffer: ast.expr) -> str | None:
    dotted = module.names.resolve(buffer) or ""
    if dotted in ("nki.language.hbm", "nki.language.shared_hbm", "nki.language.private_hbm"):
        return "a tensor in HBM"
    if is_allocation(module, flow, buffer):
        return "a tensor at an address of its own"
    return None


def is_allocation(module: Module, flow: Flow, buffer: ast.expr) -> bool:
    """Whether a buffer is an address: ``ncc.sbuf.mod_alloc(...)`` or ``alloc``."""
    call = resolved_expression(flow, buffer)
    if not isinstance(call, ast.Call):
        return False
    dotted = module.names.resolve(call.func) or ""
    return dotted.startswith("nki.compiler.") and dotted.endswith((".mod_alloc", ".alloc"))
