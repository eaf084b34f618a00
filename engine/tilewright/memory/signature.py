"""What a file computes, in terms that stay the same while it is optimized."""

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.values import Value, walk
from tilewright.memory.model import Signature
from tilewright.rewrites.tiles import TileKind
from tilewright.source.model import Kernel, Language, Module
from tilewright.targets.model import ArgumentFacts

_CLASSES = {
    "exp": "exp", "exp2": "exp", "sigmoid": "exp", "softmax": "exp", "tanh": "exp",
    "log": "log", "log2": "log", "log1p": "log", "sqrt": "sqrt", "sqrt_rn": "sqrt",
    "rsqrt": "sqrt", "sin": "trigonometric", "cos": "trigonometric", "erf": "erf",
    "where": "select", "maximum": "extremum", "minimum": "extremum", "abs": "extremum",
}  # fmt: skip
"""Functions that rewrites exchange for each other are one class."""
_REDUCTIONS = {"sum", "max", "min", "argmax", "argmin", "reduce", "associative_scan", "cumsum"}
_PACKAGES = ("triton.language.", "nki.")


def signature_of(module: Module, context: AnalysisContext) -> Signature:
    """The signature of a file: of all its kernels, and of the launches that are known."""
    values = [value for kernel in module.kernels for value in _values(module, kernel)]
    tensors = _tensors(context)
    reductions = sorted(set(_reductions(values)))
    dot = any(value.op == "dot" or value.is_call("triton.language.dot") for value in values)
    return Signature(
        language=str(next(iter(module.kernels)).language) if module.kernels else "",
        dot=dot,
        reductions=tuple(reductions),
        elementwise=tuple(sorted(set(_elementwise(values)))),
        launches=len(context.launches) or len(module.launches),
        dtypes=tuple(sorted({argument.type.lstrip("*") for argument in tensors})),
        rank=max((len(a.shape) for a in tensors if a.shape is not None), default=None),
        chip=str(context.target) if context.target else "",
        tiles=(_tiles(dot=dot, reduces=bool(reductions)),),
        extents=_largest(tensors),
    )


def _values(module: Module, kernel: Kernel) -> Iterator[Value]:
    """Everything a kernel computes, each once."""
    if kernel.language is not Language.TRITON:
        return
    flow = flow_of(module, kernel)
    yield from dict.fromkeys(v for root in list(flow.values.values()) for v in walk(root))


def _reductions(values: Iterable[Value]) -> Iterator[str]:
    """The reductions, each with whether it is along one axis or over all."""
    for value in values:
        name = _function(value)
        if name in _REDUCTIONS:
            positional = len(value.positional) > 1
            whole = not positional and value.keyword("axis") is None
            yield f"{name}:{'all' if whole else 'axis'}"


def _elementwise(values: Iterable[Value]) -> Iterator[str]:
    for value in values:
        found = _CLASSES.get(_function(value) or "")
        if found is not None:
            yield found


def _function(value: Value) -> str | None:
    """The last part of the name of a function of the language, or of one of its libraries."""
    if value.op not in ("call", "method") or not isinstance(value.detail, str):
        return None
    known = value.op == "method" or value.detail.startswith(_PACKAGES)
    library = value.detail.rpartition(".")[2]
    return library if known or library in ("tanh", "erf", "rsqrt") else None


def _tensors(context: AnalysisContext) -> list[ArgumentFacts]:
    return [
        argument
        for launch in context.launches
        for argument in launch.arguments
        if argument.kind == "tensor"
    ]


def _tiles(*, dot: bool, reduces: bool) -> str:
    if dot:
        return TileKind.DOT.value
    return (TileKind.ROW if reduces else TileKind.ELEMENTWISE).value


def _largest(tensors: Sequence[ArgumentFacts]) -> tuple[int, ...]:
    """The extents of every tensor of the highest rank, of the largest one first met."""
    shapes = [argument.shape for argument in tensors if argument.shape]
    return max(shapes, key=lambda shape: (len(shape), prod(shape)), default=())


def related(one: Signature, other: Signature, *, schedules: bool = False) -> bool:
    """Whether what was learned on one problem is worth trying on another.

    The operations have to be equal, and the extents have the same ratios or agree in two places;
    of ``schedules``, equal kinds of tiles are enough.
    """
    if one.operations != other.operations:
        return False
    if schedules and one.tiles == other.tiles:
        return True
    return _same_ratios(one.extents, other.extents) or _agree(one.extents, other.extents)


def _same_ratios(one: Sequence[int], other: Sequence[int]) -> bool:
    if len(one) != len(other) or not one:
        return False
    return all(a * other[0] == b * one[0] for a, b in zip(one, other, strict=True))


def _agree(one: Sequence[int], other: Sequence[int]) -> bool:
    """Two equal extents at equal places."""
    return sum(a == b for a, b in zip(one, other, strict=False)) >= 2
