"""Texts on tensors, index arrays, loops and instructions of NKI kernels, for hovers and hints."""

from collections.abc import Iterator, Sequence
from math import prod

from tilewright.analysis.nki import Affine, Flow, Loop, Memory, Operation, View
from tilewright.analysis.nki.affine import Symbol, SymbolKind, text
from tilewright.analysis.nki.catalogue import CREATORS, DTYPE_BYTES
from tilewright.analysis.nki.model import Origin, Shape, Storage
from tilewright.analysis.nki.values import Array, Literal, Value
from tilewright.knowledge.nki import nki_note

_KIB = 1024
_LONGEST_SIDE = 24
_ENGINES = {
    "tensor": "Tensor",
    "vector": "Vector",
    "scalar": "Scalar",
    "gpsimd": "GpSimd",
    "dma": "DMA",
    "sync": "Sync",
}
_SHORT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "tfloat32": "tf32"}


def value_card(flow: Flow, title: str, value: Value) -> str | None:
    """What is known of a value; None where that is nothing."""
    match value:
        case View():
            return _view_card(flow, title, value)
        case Array():
            return _array_card(flow, title, value)
        case Affine():
            return _number_card(flow, title, value)
        case Literal(value=float() as number):
            return f"`{title}` · number `{number!r}`"
    return None


def inlay_label(flow: Flow, value: Value) -> str | None:
    """``: 128 × 512 fp32 SBUF`` for a tensor of known shape; None for all else."""
    if not isinstance(value, View):
        return None
    sides = _sides(flow, value)
    if sides is None or value.storage.origin is Origin.PARAMETER:
        return None
    dtype = f" {_SHORT.get(value.dtype, value.dtype)}" if value.dtype else ""
    memory = f" {value.memory}" if value.memory is not None else ""
    return f": {sides}{dtype}{memory}"


def use_label(live: dict[Memory, int]) -> str | None:
    """``SBUF 34 KiB · PSUM 2 KiB``, bytes of a partition; None where nothing is live."""
    parts = [f"{memory} {_size(size)}" for memory, size in live.items() if size]
    return " · ".join(parts) or None


def instruction_card(
    flow: Flow, title: str, operation: Operation, live: dict[Memory, int], costs: Sequence[str]
) -> str:
    """What an instruction does, on what, how often, and what it must keep to.

    Args:
        live: bytes of a partition at its line.
        costs: sentences of the cost model on its line.
    """
    note = nki_note(operation.name)
    engines = [_ENGINES[e] for e in note.engines] if note is not None else []
    head = f"`{title}`" + (f" · {' or '.join(engines)} engine" if engines else "")
    head = head.replace("DMA engine", "DMA")
    lines = [*_operands(flow, operation), *_times(flow, operation), *costs]
    used = use_label(live)
    if used is not None:
        lines.append(f"Live at this line, in each partition: {used}")
    lines += [f"Limit: {limit}" for limit in note.limits] if note is not None else []
    bullets = "\n".join(f"- {line}" for line in lines)
    return "\n\n".join(part for part in (head, note.does if note else "", bullets) if part)


def function_card(title: str, dotted: str) -> str | None:
    """What a function does that is no instruction; None where nothing is noted."""
    note = nki_note(dotted)
    if note is None:
        return None
    bullets = "\n".join(f"- Limit: {limit}" for limit in note.limits)
    return "\n\n".join(part for part in (f"`{title}`", note.does, bullets) if part)


def is_creation(dotted: str | None) -> bool:
    """Whether a call reserves a tensor."""
    return dotted in CREATORS


def _operands(flow: Flow, operation: Operation) -> Iterator[str]:
    for name, view in operation.operands.items():
        said = _tensor(flow, view)
        if said:
            yield f"`{name}`: {said}"
    result = operation.result
    if result is not None and (said := _tensor(flow, result)):
        yield f"gives {said}"


def _tensor(flow: Flow, view: View) -> str:
    """``128 × 512 fp32 in SBUF``; parts that are not known are left out."""
    sides = _sides(flow, view)
    parts = [f"`{sides}`" if sides else "", f"`{view.dtype}`" if view.dtype else ""]
    parts.append(f"in {view.memory}" if view.memory is not None else "")
    return " ".join(part for part in parts if part)


def _times(flow: Flow, operation: Operation) -> Iterator[str]:
    loops = [loop for loop in operation.loops if loop.index is not None]
    if not loops:
        return
    trips = [flow.number(loop.trip) for loop in loops]
    names = ", ".join(f"`{loop.index}`" for loop in loops)
    known = [trip for trip in trips if trip is not None]
    count = f"{prod(known)} times" if len(known) == len(trips) else "once an iteration"
    yield f"Runs {count}, over {names}"


def _sides(flow: Flow, view: View) -> str | None:
    """``128 × 512``, blocks before it in brackets; None where a side is not known."""
    shape = view.storage.shape if view.whole else view.shape
    if shape is None:
        return None
    sides = [_side(flow, side) for side in shape]
    if any(side is None for side in sides):
        return None
    known = [str(side) for side in sides]
    blocks = view.blocks if view.memory is not Memory.HBM else 0
    lead = f"[{' × '.join(known[:blocks])}] " if blocks else ""
    return lead + " × ".join(known[blocks:])


def _side(flow: Flow, side: Affine) -> str | None:
    number = flow.number(side)
    if number is not None:
        return str(number)
    spelled = text(side)
    return spelled if len(spelled) <= _LONGEST_SIDE else None


def _view_card(flow: Flow, title: str, view: View) -> str | None:
    said = _tensor(flow, view)
    if not said:
        return None
    storage = view.storage
    lines = []
    if not view.whole and storage.name not in ("tile", title):
        lines.append(f"Part of `{storage.name}`")
    if storage.partition and view.whole:
        lines.append(f"Blocks: {storage.partition} dimension(s) before the partition")
    size = _bytes(flow, view.storage.shape, storage) if view.whole else None
    if size is not None and storage.on_chip:
        lines.append(f"{_size(size)} of each partition for each block")
    if view.broadcast:
        lines.append("Broadcast: the values of a smaller tile")
    kind = "argument" if storage.origin is Origin.PARAMETER else "tensor"
    kind = "tile" if storage.on_chip and not view.blocks else kind
    bullets = "\n".join(f"- {line}" for line in lines)
    return f"`{title}` · {kind} {said}" + (f"\n\n{bullets}" if bullets else "")


def _bytes(flow: Flow, shape: Shape | None, storage: Storage) -> int | None:
    sides = flow.numbers(None if shape is None else shape[storage.partition + 1 :])
    if sides is None or storage.dtype is None:
        return None
    known = [side for side in sides if side is not None]
    return prod(known) * DTYPE_BYTES[storage.dtype] if len(known) == len(sides) else None


def _size(size: int) -> str:
    return f"{size / _KIB:.4g} KiB" if size >= _KIB else f"{size} B"


def _array_card(flow: Flow, title: str, array: Array) -> str | None:
    lanes = [s for s in array.value.symbols if s.kind is SymbolKind.LANE]
    low, high = array.value.interval(flow.known)
    axes = sorted({lane.axis for lane in lanes})
    if array.rank > 1 and axes:
        where = " and ".join("the partition" if a == 0 else f"free axis {a}" for a in axes)
        along = f" along {where}"
    else:
        along = ""
    span = f", values {low} to {high}" if low is not None and high is not None else ""
    return f"`{title}` · index array{along}{span}"


def _number_card(flow: Flow, title: str, value: Affine) -> str | None:
    number = flow.number(value)
    if number is not None:
        return f"`{title}` · number `{number}`"
    loop = _loop_of(flow, value.symbol)
    low, high = value.interval(flow.known)
    if loop is not None:
        span = f", {low} to {high}" if high is not None else ""
        return f"`{title}` · index of `{loop.kind}`{span}"
    spelled = text(value)
    return f"`{title}` · number `{spelled}`" if spelled not in ("", title) else None


def _loop_of(flow: Flow, symbol: Symbol | None) -> Loop | None:
    return next((one for one in flow.loops if symbol is not None and one.symbol == symbol), None)
