"""Preconditions that tile inference answers: extents, element types, strides, masks, aliasing."""

from collections.abc import Iterator

from tilewright.analysis.detectors.common import are_distinct
from tilewright.analysis.detectors.settings import settings_of
from tilewright.analysis.detectors.sizes import elements_of
from tilewright.analysis.flow import flow_of
from tilewright.analysis.intervals import Numbers
from tilewright.analysis.preconditions.model import Answer, Parameters, Subject, whole
from tilewright.analysis.tiles import Kind, Polynomial, TileFacts, Tiles, tiles_of
from tilewright.analysis.values import Access, Flow
from tilewright.source.host import provably_stride_one
from tilewright.targets.model import ArgumentFacts

_DOT = "triton.language.dot"
_BITS = {"fp8e4nv": 8, "fp8e5": 8, "i8": 8, "u8": 8, "fp16": 16, "bf16": 16, "fp32": 32, "fp64": 64}


def tile_elements(subject: Subject, parameters: Parameters) -> Answer:
    """Elements of the largest accumulator, or of the largest loaded tile without one."""
    tiles, flow = _tiles(subject), flow_of(subject.module, subject.kernel)
    dots = [value for _, value, _ in flow.calls(_DOT)]
    shapes = [tiles.facts_of(v).shape for v in dots or [a.pointer for a in flow.loads]]
    settings = settings_of(subject.module, subject.kernel, subject.context)
    numbers = [setting.numbers for setting in settings] or [Numbers()]
    sizes = [size for n in numbers for s in shapes if (size := elements_of(s, n)) is not None]
    if not sizes:
        return Answer(None, "no tile's extents are known")
    largest = max(sizes)
    fits = whole(parameters, "least") <= largest <= whole(parameters, "most")
    return Answer(fits, f"the largest tile has {largest} elements")


def operand_bits(subject: Subject, parameters: Parameters) -> Answer:
    """The width of what goes into ``tl.dot``."""
    tiles, flow = _tiles(subject), flow_of(subject.module, subject.kernel)
    types = {tiles.facts_of(o).dtype for _, dot, _ in flow.calls(_DOT) for o in dot.positional[:2]}
    if not types:
        return Answer(False, f"{subject.kernel.name} has no tl.dot")
    widths = {_BITS.get(name or "") for name in types}
    if None in widths:
        return Answer(None, "the element types of tl.dot's operands are not known")
    shown = " and ".join(sorted(str(name) for name in types))
    return Answer(widths == {whole(parameters, "bits")}, f"the operands are {shown}")


def rows_contiguous(subject: Subject, parameters: Parameters) -> Answer:
    """The last axis of every two-dimensional tile of addresses has stride 1."""
    tiles = _tiles(subject)
    unknown: str | None = None
    found = list(_two_dimensional(tiles, flow_of(subject.module, subject.kernel)))
    for access, facts in found:
        stride = facts.strides[-1] if facts.strides else None
        number = None if stride is None else stride.number
        if number is None and (stride is None or not _is_one(subject, stride)):
            unknown = unknown or (access.base or "an address")
        elif number not in (None, 1):
            return Answer(False, f"the last axis of {access.base} has stride {number}")
    if unknown is not None:
        return Answer(None, f"the stride of the last axis of {unknown} is not known")
    if not found:
        return Answer(None, "no two-dimensional tile of addresses was found")
    return Answer(True, "the last axis of each tile has stride 1")


def _is_one(subject: Subject, stride: Polynomial) -> bool:
    """Whether a stride is a parameter that is 1 at each launch that is known."""
    values = list(stride.values)
    if len(values) != 1 or values[0].op != "param" or stride != Polynomial.from_value(values[0]):
        return False
    name = str(values[0].detail)
    taken = [x for x in subject.context.launches if x.kernel == subject.kernel.name]
    if taken:
        arguments = [x.argument(name) for x in taken]
        return all(a is not None and a.value == 1 for a in arguments)
    launches = subject.module.launches_of(subject.kernel.name)
    return bool(launches) and all(provably_stride_one(subject.module, x, name) for x in launches)


def _two_dimensional(tiles: Tiles, flow: Flow) -> Iterator[tuple[Access, TileFacts]]:
    for access in flow.accesses:
        facts = tiles.facts_of(access.pointer)
        if facts.kind is Kind.POINTER and len(facts.shape or ()) == 2:
            yield access, facts


def rows_aligned(subject: Subject, parameters: Parameters) -> Answer:
    """Captured tensors of two axes or more have rows at multiples of so many bytes."""
    least = whole(parameters, "bytes")
    taken = [x for x in subject.context.launches if x.kernel == subject.kernel.name]
    if not taken:
        return Answer(None, "no launch of it has been captured")
    for argument in (a for x in taken for a in x.arguments if len(a.strides or ()) >= 2):
        size = _bytes(argument)
        pitches = (argument.strides or ())[:-1]
        if size is None:
            return Answer(None, f"the element type of {argument.name} is not known")
        wrong = next((p for p in pitches if p * size % least), None)
        if wrong is not None:
            return Answer(False, f"rows of {argument.name} are {wrong * size} bytes apart")
    return Answer(True, f"all rows of the captured tensors start at multiples of {least} bytes")


def _bytes(argument: ArgumentFacts) -> int | None:
    bits = _BITS.get(argument.type.lstrip("*"))
    return None if bits is None else bits // 8


def outputs_distinct(subject: Subject, parameters: Parameters) -> Answer:
    """No pointer that is written may reach what another one reads."""
    flow = flow_of(subject.module, subject.kernel)
    if flow.may_write_unknown:
        return Answer(None, "a call may write unknown memory")
    for write in flow.writes:
        for load in flow.loads:
            if not are_distinct(subject.module, subject.kernel, load.base, write.base):
                return Answer(None, f"{write.base} may overlap {load.base}")
    return Answer(True, "the host allocates every output before the launch")


def loop_without_writes(subject: Subject, parameters: Parameters) -> Answer:
    """Loops that load do not store, so that loads may move within them."""
    flow = flow_of(subject.module, subject.kernel)
    loading = {number for a in flow.loads for number in a.loops}
    for write in flow.writes:
        if loading & set(write.loops):
            return Answer(False, f"line {write.node.lineno} stores in a loop that loads")
    if any(loading & set(loops) for _, loops in flow.may_write_unknown):
        return Answer(None, "a call in the loop may write unknown memory")
    if not loading:
        return Answer(False, f"{subject.kernel.name} has no loop that loads")
    return Answer(True, "the loops only load")


def _tiles(subject: Subject) -> Tiles:
    return tiles_of(subject.module, subject.kernel, subject.context)
