"""What NKI detectors ask of interpreted kernels: sizes, uses of a tile, what a name is."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, wraps
from math import prod

from tilewright.analysis.detectors.common import nki_kernels, source_of
from tilewright.analysis.detectors.registry import Reports as Reports
from tilewright.analysis.detectors.registry import kernel_detector
from tilewright.analysis.model import Related
from tilewright.analysis.nki import Flow, Kind, Operation, Storage, View, nki_flow
from tilewright.analysis.nki.catalogue import ISA, NL
from tilewright.analysis.nki.flavour import flavour_of
from tilewright.analysis.nki.model import Loop, Mask, Origin
from tilewright.source.model import Kernel, Module, NkiFlavour

NOT_INSTRUCTIONS = frozenset({"assign", "call", "collect", "forget", "return", "operator"})
MOVES = frozenset(
    {
        NL + "load",
        NL + "store",
        NL + "load_transpose2d",
        NL + "atomic_rmw",
        NL + "gather_flattened",
        NL + "broadcast_to",
        NL + "all_reduce",
        NL + "device_print",
        ISA + "dma_copy",
        ISA + "dma_transpose",
        ISA + "dma_compute",
        ISA + "local_gather",
        ISA + "nc_n_gather",
        ISA + "tensor_copy_dynamic_src",
        ISA + "tensor_copy_dynamic_dst",
        ISA + "nc_stream_shuffle",
    }
)
"""What moves data by address rather than computing lane by lane."""

DESCRIBING = frozenset({"shape", "dtype", "ndim", "size", "name"})
"""What a tensor is asked about itself, which reads none of its values."""

_DEPTH = 8


def interpreted(module: Module) -> Iterator[tuple[Kernel, Flow]]:
    """The NKI kernels of a module that are to be looked at, each interpreted."""
    for kernel in nki_kernels(module):
        yield kernel, nki_flow(module, kernel)


def flavoured(module: Module) -> Iterator[tuple[Kernel, Flow]]:
    """Those of a file that says which package it is for."""
    if flavour_of(module) is not None:
        yield from interpreted(module)


def older(module: Module) -> Iterator[tuple[Kernel, Flow]]:
    """Those for ``neuronxcc.nki``, whose loops and tiles follow rules of their own."""
    if flavour_of(module) is NkiFlavour.NEURONXCC:
        yield from interpreted(module)


def nki_detector(
    issue_id: str, kernels: Callable[[Module], Iterator[tuple[Kernel, Flow]]] = interpreted
) -> Callable[[Callable[[Module, Flow], Reports]], Callable[[Module, Flow], Reports]]:
    """Register a function of one interpreted kernel as the detector of an issue.

    Args:
        kernels: which kernels of a module it looks at.
    """

    def register(function: Callable[[Module, Flow], Reports]) -> Callable[[Module, Flow], Reports]:
        @kernel_detector(issue_id, kernels)
        @wraps(function)
        def find(module: Module, kernel: Kernel, flow: Flow) -> Reports:
            return function(module, flow)

        return function

    return register


def see(module: Module, text: str, node: ast.AST | None) -> tuple[Related, ...]:
    """Another place that belongs to a finding."""
    if not isinstance(node, ast.expr | ast.stmt):
        return ()
    return (Related(text, module.index.range_of(node)),)


def shown(module: Module, view: View, otherwise: str = "the tile") -> str:
    """What a person calls a tile: its expression if that is short, else its name."""
    if isinstance(view.node, ast.Subscript):
        text = source_of(module, view.node)
        if len(text) <= 40 and "\n" not in text:
            return text
    return view.storage.name if view.storage.name != "tile" else otherwise


def computing(flow: Flow) -> Iterator[Operation]:
    """Instructions that compute on tiles."""
    for operation in flow.operations:
        if operation.name not in NOT_INSTRUCTIONS and operation.name not in MOVES:
            yield operation


def dims(flow: Flow, view: View | None) -> tuple[int | None, ...] | None:
    """The sides of a tile as numbers, None for those that are not known."""
    return None if view is None else flow.numbers(view.shape)


def full_dims(flow: Flow, view: View | None) -> tuple[int, ...] | None:
    """The sides of a tile, if all are numbers."""
    sides = dims(flow, view)
    if sides is None:
        return None
    known = tuple(side for side in sides if side is not None)
    return known if len(known) == len(sides) else None


def free_size(sides: tuple[int, ...]) -> int:
    """Elements in each partition."""
    return prod(sides[1:])


def written_as(sides: Sequence[int | None]) -> str:
    """``(128, 512)``."""
    inner = ", ".join("?" if side is None else str(side) for side in sides)
    return f"({inner})"


def is_tensor(view: View) -> bool:
    """Whether it is a tensor for sure: an argument that is never unpacked may be a number."""
    storage = view.storage
    if storage.origin is not Origin.PARAMETER:
        return True
    return storage.shape is not None or isinstance(view.node, ast.Subscript)


def is_loop_running(flow: Flow, loop: Loop) -> bool:
    """Whether a loop may have a second iteration."""
    return flow.number(loop.trip) != 1


@lru_cache(maxsize=64)
def reads_of(flow: Flow) -> dict[Storage, tuple[Operation, ...]]:
    """Which operations read each tensor, in order."""
    return _by_storage(flow, reads=True)


@lru_cache(maxsize=64)
def writes_of(flow: Flow) -> dict[Storage, tuple[Operation, ...]]:
    """Which operations write each tensor, in order; not the one that creates it."""
    return _by_storage(flow, reads=False)


def _by_storage(flow: Flow, *, reads: bool) -> dict[Storage, tuple[Operation, ...]]:
    table: dict[Storage, list[Operation]] = defaultdict(list)
    for operation in flow.operations:
        for view in operation.reads if reads else operation.writes:
            if not table[view.storage] or table[view.storage][-1] is not operation:
                table[view.storage].append(operation)
    return {storage: tuple(operations) for storage, operations in table.items()}


@lru_cache(maxsize=64)
def results_of(flow: Flow) -> dict[Storage, Operation]:
    """The operation that returns each result."""
    return {
        operation.result.storage: operation
        for operation in flow.operations
        if operation.result is not None and operation.name != NL + "broadcast_to"
    }


def producer(flow: Flow, view: View) -> Operation | None:
    """The one instruction that makes what a tile holds, through one assignment of all of it."""
    storage = view.storage
    made = results_of(flow).get(storage)
    writes = writes_of(flow).get(storage, ())
    if made is not None:
        return made if not writes else None
    if len(writes) != 1:
        return None
    write = writes[0]
    return write.source if write.name == "assign" else write


def only_use(flow: Flow, view: View) -> Operation | None:
    """The one operation that reads a tensor, if there is one."""
    reads = reads_of(flow).get(view.storage, ())
    return reads[0] if len(reads) == 1 else None


def is_top_level(flow: Flow) -> bool:
    """Whether arguments are tensors in HBM: only what the host calls makes shared tensors."""
    return any(storage.shared for storage in flow.storages)


def parts_of(node: ast.Subscript) -> list[ast.expr]:
    """The indices of a subscript, one for each dimension it names."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def resolved_expression(flow: Flow, node: ast.expr, depth: int = _DEPTH) -> ast.expr:
    """The expression behind a name that was given one, followed through names."""
    while isinstance(node, ast.Name) and depth:
        binding = flow.bound.get(node)
        if binding is None or binding.value is None:
            return node
        node, depth = binding.value, depth - 1
    return node


def written_out(flow: Flow, node: ast.expr, depth: int = _DEPTH) -> Iterator[ast.AST]:
    """The nodes of an expression, those of the expressions behind its names included."""
    for part in ast.walk(node):
        yield part
        if isinstance(part, ast.Name) and depth:
            behind = resolved_expression(flow, part, 1)
            if behind is not part:
                yield from written_out(flow, behind, depth - 1)


def is_indirect(flow: Flow, node: ast.expr) -> bool:
    """Whether an index is read from a tile: it is known only when the kernel runs."""
    fact = flow.fact(node)
    return fact.kind is Kind.TILE or (fact.kind is Kind.VIEW and fact.is_tile)


def is_number(node: ast.expr | None) -> bool:
    """Whether a node is a literal number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return is_number(node.operand)
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )


def same_mask(one: Mask | None, two: Mask | None) -> bool:
    """Whether two instructions leave out the same elements for sure."""
    if one is None or two is None:
        return one is two
    return one.parts is not None and one.parts == two.parts
