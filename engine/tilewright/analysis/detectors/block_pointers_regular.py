"""Detectors of operand tiles that are regular enough for a descriptor or a block pointer."""

from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.detectors.sizes import BYTES, polynomial_number
from tilewright.analysis.intervals import Numbers
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import Affine, Kind, Polynomial, Tiles, tiles_of
from tilewright.analysis.values import Access, Flow, Value, walk
from tilewright.source.host import provably_stride_one
from tilewright.source.model import Kernel, Module

_DESCRIPTORS = (TL + "make_tensor_descriptor", TL + "make_block_ptr")
_PITCH = 16
"""Bytes that the pitch of a descriptor's rows is a multiple of."""

_HOPPER = 90
_FIRST_WITH_DESCRIPTORS = (3, 4)
_FIRST_TO_DEPRECATE_BLOCK_POINTERS = (3, 7)


@detector("missing_tma")
def missing_tma(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Operands of a product read by addresses on a GPU that copies tiles by descriptor."""
    cost = (
        ", where the tensor memory "
        f"accelerator of {context.target} copies a whole tile by one instruction"
    )
    return _advised("tma", cost, module, context)


@detector("missing_block_pointers")
def missing_block_pointers(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """The same for Intel GPUs with a Triton that still has block pointers."""
    cost = (
        ", where a block pointer states the shape and "
        "strides that a 2-D block load of Intel GPUs needs"
    )
    return _advised("block pointer", cost, module, context)


@detector("manual_pointer_arithmetic")
def manual_pointer_arithmetic(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """The same where the chip is not known to do without, and Triton has descriptors."""
    cost = "; a tensor descriptor says shape and strides once, and chips that copy whole tiles can"
    return _advised("descriptor", cost, module, context)


def _advised(advice: str, cost: str, module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """One finding a kernel, if this is the advice for chip and version."""
    if _advice(context) != advice:
        return
    for kernel, access, others in _kernels(module, context):
        names = _names(access, others)
        text = f"{names} read by an address for each element{cost}"
        yield _finding(module, kernel, access, others, text)


def _advice(context: AnalysisContext) -> str | None:
    """Which of the three may be said, by chip and version; None where none pays."""
    version = context.triton_version
    known = version is not None and version >= _FIRST_WITH_DESCRIPTORS
    if context.target is None:
        return "descriptor" if known else None
    if context.target.backend == "cuda":
        digits = "".join(c for c in context.target.arch if c.isdigit())
        is_new = digits != "" and int(digits) >= _HOPPER
        return "tma" if is_new and (version is None or known) else None
    if context.target.backend == "xpu":
        if version is not None and version < _FIRST_TO_DEPRECATE_BLOCK_POINTERS:
            return "block pointer"
        return "descriptor"
    return None


def _names(access: Access, others: list[Access]) -> str:
    bases = list(dict.fromkeys(str(a.base) for a in (access, *others)))
    return f"{' and '.join(bases)} {'is' if len(bases) == 1 else 'are'}"


def _finding(
    module: Module, kernel: Kernel, access: Access, others: list[Access], text: str
) -> Finding:
    return Finding(
        module.index.range_of(access.node),
        f"{text}, if the pitch of its rows is a multiple of {_PITCH} bytes.",
        kernel.name,
        related=tuple(Related("and this tile", module.index.range_of(a.node)) for a in others),
    )


def _kernels(
    module: Module, context: AnalysisContext
) -> Iterator[tuple[Kernel, Access, list[Access]]]:
    """Kernels with the first regular operand load of a product's loop, and the others."""
    for kernel, flow in triton_kernels(module):
        if not any(loops for _, _, loops in flow.calls(TL + "dot")):
            continue
        if any(True for _ in flow.calls(*_DESCRIPTORS)):
            continue
        tiles = tiles_of(module, kernel, context)
        found = [
            access
            for access in _operand_loads(flow)
            if _is_regular(module, kernel, context, tiles, access)
        ]
        if found:
            yield kernel, found[0], found[1:]


def _operand_loads(flow: Flow) -> list[Access]:
    """Loads in a loop whose tile goes straight into a ``tl.dot``."""
    operands: set[Value] = set()
    for _, value, _ in flow.calls(TL + "dot"):
        for operand in value.positional[:2]:
            while operand.op == "cast" or operand.is_call(TL + "trans"):
                operand = operand.operands[0]
            operands.add(operand)
    return [a for a in flow.loads if a.loops and a.base and a.result in operands]


def _is_regular(
    module: Module, kernel: Kernel, context: AnalysisContext, tiles: Tiles, access: Access
) -> bool:
    """Whether a 2-D tile has rows of neighbours, one pitch, and no mask but its bounds."""
    facts = tiles.facts_of(access.pointer)
    if facts.kind is not Kind.POINTER or len(facts.shape or ()) != 2 or facts.affine is None:
        return False
    if not _is_bounds(access.mask) or not _is_zero(access.other):
        return False
    pitch, step = (_coefficient(facts.affine, axis) for axis in (0, 1))
    if pitch is None or step is None or not pitch.monomials:
        return False
    return _is_one(module, kernel, context, step) and _may_be_pitch(
        kernel, context, pitch, access.base or ""
    )


def _coefficient(form: Affine, axis: int) -> Polynomial | None:
    """What one step along an axis adds; None where more than a count moves along it."""
    total: Polynomial | None = None
    for term in form.terms:
        if term.axis != axis:
            continue
        if total is not None or not _is_count(term.index):
            return None
        total = term.coefficient
    return total


def _is_count(index: Value) -> bool:
    """An arange, or one that wraps at a bound, which a descriptor cuts off instead."""
    if index.op == "arange":
        return True
    return index.is_binary("Mod") and not any(v.op in ("load", "opaque") for v in walk(index))


def _is_bounds(mask: Value | None) -> bool:
    """Whether a mask is nothing but ``offsets < extent`` for one or both axes."""
    if mask is None:
        return True
    if mask.is_binary("BitAnd") or mask.op == "bool":
        return (mask.op == "binary" or mask.detail == "And") and all(map(_is_bounds, mask.operands))
    if mask.op == "expand":
        return _is_bounds(mask.operands[0])
    if mask.op != "compare" or mask.detail != "Lt":
        return False
    left, right = mask.operands
    return not any(v.op == "load" for v in walk(left)) and not any(
        v.op in ("arange", "load") for v in walk(right)
    )


def _is_zero(other: Value | None) -> bool:
    return other is None or (other.op == "const" and other.detail == 0)


def _is_one(module: Module, kernel: Kernel, context: AnalysisContext, step: Polynomial) -> bool:
    """Whether a coefficient is 1, at every launch there is."""
    if step.number is not None:
        return step.number == 1
    name = _parameter(step)
    if name is None:
        return False
    launches = [x for x in context.launches if x.kernel == kernel.name]
    given = [x.argument(name) for x in launches]
    if launches:
        return all(argument is not None and argument.value == 1 for argument in given)
    stated = module.launches_of(kernel.name)
    return bool(stated) and all(provably_stride_one(module, x, name) for x in stated)


def _parameter(step: Polynomial) -> str | None:
    monomials = list(step)
    if len(monomials) != 1 or monomials[0][1] != 1 or len(monomials[0][0]) != 1:
        return None
    factor = monomials[0][0][0]
    return str(factor.detail) if factor.op == "param" else None


def _may_be_pitch(kernel: Kernel, context: AnalysisContext, pitch: Polynomial, base: str) -> bool:
    """Whether nothing known says that rows lie otherwise than in multiples of 16 bytes."""
    for launch in context.launches:
        if launch.kernel != kernel.name:
            continue
        argument = launch.argument(base)
        width = BYTES.get(argument.type.removeprefix("*")) if argument is not None else None
        rows = polynomial_number(pitch, Numbers.of_launch(launch))
        if width is not None and rows is not None and rows * width % _PITCH != 0:
            return False
    return True
