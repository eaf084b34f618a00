"""One program of a kernel at chosen sizes: which elements it reads and writes."""

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tilewright.analysis.instances.hooks import End
from tilewright.analysis.instances.memory import Memory
from tilewright.analysis.instances.model import (
    UNKNOWN,
    Dotted,
    Known,
    Method,
    Open,
    Storage,
    Tensor,
    Unfollowed,
    Unknown,
    keys_of,
)
from tilewright.analysis.instances.operators import BINARY, BUILTINS, remainder, truncated
from tilewright.analysis.instances.record import Record, programs_of
from tilewright.analysis.instances.tiles import (
    BlockPointer,
    Lanes,
    Pointer,
    Tile,
    both,
    either,
    elementwise,
    joined,
    reduced,
    shape_of,
    transposed,
    with_unknown,
)
from tilewright.source.constants import ORDER
from tilewright.source.model import Kernel, Module

TL = "triton.language."
_STEPS = 12_000
_TURNS = 24
_REDUCTIONS = frozenset(("sum", "max", "min", "argmax", "argmin", "xor_sum", "reduce"))
_LIKE_FIRST = frozenset(
    ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sigmoid", "abs", "cos", "sin", "erf", "floor",
     "ceil", "cumsum", "cumprod", "softmax", "flip", "sort", "clamp", "fma", "fdiv", "div_rn",
     "associative_scan", "umulhi", "sqrt_rn", "tanh", "associative_scan")
)  # fmt: skip
_ITSELF = frozenset(("cast", "to", "multiple_of", "max_contiguous", "max_constancy", "constexpr"))
_CASTS = frozenset(("cast", "to"))
_DEMANDS = frozenset(("static_assert", "device_assert", "assume"))
_ORDERED = frozenset(("debug_barrier", "inline_asm_elementwise"))
_CHECKED = frozenset(("make_tensor_descriptor", "_experimental_make_tensor_descriptor"))

_COMPUTED: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    **BINARY,
    ast.FloorDiv: truncated,
    ast.Mod: remainder,
}


class KernelPrograms(Memory):
    """A kernel's body with the arguments of a launch, run for one program after another.

    Raises:
        Mismatch: tiles meet whose shapes do not fit.
        Infeasible: the kernel refuses the sizes.
        Unfollowed: it takes too many steps.
    """

    def __init__(
        self,
        module: Module,
        kernel: Kernel,
        arguments: Mapping[str, Known],
        grid: tuple[int, ...],
        scale: int,
        lanes: Lanes,
        pointers: frozenset[str],
    ) -> None:
        super().__init__(module, lanes, _STEPS, scale)
        self._kernel = kernel
        self.grid = (*grid, 1, 1, 1)[:3]
        self.asked: set[str] = set()
        self.pointers = pointers
        self.arguments = {name: self._argument(name, v) for name, v in arguments.items()}

    def run_all(self) -> Record:
        """Run the programs of the launch, and tell what they touch."""
        programs, self.record.is_complete = programs_of(self.grid)
        for program in programs:
            self.program, self.unsure = program, 0
            self.env = dict(self.arguments)
            self.run(self._kernel.node.body)
            if self.record.is_full:
                raise Unfollowed("too many accesses")
        self.record.close()
        return self.record

    def _argument(self, name: str, value: Known) -> Known:
        if isinstance(value, Tensor):
            return Pointer(value, value.offset)
        if isinstance(value, Open):
            is_number = name not in self.pointers
            return UNKNOWN if is_number else Pointer(Tensor(Storage(value.key, None)), 0)
        return value

    # Hooks of the evaluator.

    def operation(self, op: type[ast.operator], one: Known, two: Known) -> Known:
        if op in (ast.FloorDiv, ast.Mod) and (_is_negative(one) or _is_negative(two)):
            return UNKNOWN  # constants of the kernel divide as in Python, other numbers as in C
        return super().operation(op, one, two)

    def failed(self, node: ast.expr) -> None:
        self.record.is_complete = False

    def asked_to_round(self, value: Known) -> None:
        self.asked.update(keys_of(value))

    def divided(self, one: Known, two: Known) -> None:
        # ``row % M`` keeps indices inside.
        self.asked.update(keys_of(two))

    def computed(self, op: type[ast.operator], one: Known, two: Known) -> Known:
        if isinstance(two, Pointer) and op is ast.Add and not isinstance(one, Pointer):
            one, two = two, one
        if isinstance(one, Pointer):
            is_moved = op in (ast.Add, ast.Sub) and not isinstance(two, Pointer | Dotted)
            return Pointer(one.tensor, self.operation(op, one.offset, two)) if is_moved else UNKNOWN
        if any(isinstance(side, Unknown | Dotted | BlockPointer) for side in (one, two)):
            return UNKNOWN
        if op is ast.Mod:
            self.divided(one, two)
        function = _COMPUTED[op]
        if op is ast.BitAnd:
            return self._logical(both, one, two, "and")
        if op is ast.BitOr:
            return self._logical(either, one, two, "or")
        return self._elementwise(function, one, two, op.__name__)

    def _elementwise(
        self, function: Callable[[Any, Any], Any], one: Known, two: Known, name: str
    ) -> Tile:
        result = elementwise(function, one, two, name, self.lanes)
        self.steps -= len(result.data or ()) // 16
        return result

    def _logical(
        self, function: Callable[[Any, Any], Any], one: Known, two: Known, name: str
    ) -> Tile:
        shape = joined(shape_of(one) or (), shape_of(two) or ())
        counts = self.lanes.counts(shape)
        left, right = with_unknown(one, counts), with_unknown(two, counts)
        known = self._elementwise(function, one, two, name)
        return Tile(shape, counts, list(map(function, left, right)), known.origin)

    def compared(self, op: type[ast.cmpop], one: Known, two: Known) -> Known:
        if isinstance(one, Tile) or isinstance(two, Tile):
            if isinstance(one, Pointer | Dotted) or isinstance(two, Pointer | Dotted):
                return UNKNOWN
            return self._elementwise(ORDER[op], one, two, op.__name__)
        return UNKNOWN

    def bounds(self, node: ast.Compare, one: Known, two: Known) -> None:
        if len(node.ops) == 1 and not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            for value, other in ((one, node.comparators[0]), (two, node.left)):
                if not isinstance(other, ast.Constant):
                    self.asked_to_round(value)

    def same(self, one: Known, two: Known) -> bool | None:
        if isinstance(one, Pointer | Tile) and two is None:
            return False
        return super().same(one, two)

    def truth(self, value: Known) -> bool | None:
        if isinstance(value, Tile) and value.shape == () and value.data is not None:
            return None if value.data[0] is None else bool(value.data[0])
        return super().truth(value)

    def undecided(self, node: ast.If) -> End | None:
        self.unsure += 1
        before = dict(self.env)
        ends = [self.run(node.body)]
        self.env = before
        ends.append(self.run(node.orelse))
        self.forget([*node.body, *node.orelse])
        if all(end is None for end in ends):
            self.unsure -= 1
        return None

    def endless(self, node: ast.For | ast.While) -> None:
        self.unsure += 1
        self.forget([node])
        self.run(node.body)
        self.forget([node])
        self.unsure -= 1

    def turns(self, node: ast.For, over: Any) -> Iterator[Known]:
        for count, value in enumerate(over):
            if count >= _TURNS:
                self.record.is_complete = False
                self.forget([node])
                return
            yield value

    def member(self, owner: Known, name: str) -> Known:
        if isinstance(owner, Tile):
            if name == "shape":
                return owner.shape
            if name == "T":
                return transposed(owner, list(range(len(owner.shape)))[::-1])
        return owner if name == "value" and isinstance(owner, int) else UNKNOWN

    def item(self, node: ast.Subscript, owner: Known) -> Known:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        added = [isinstance(part, ast.Constant) and part.value is None for part in parts]
        if isinstance(owner, Pointer):
            offset = self._expanded(owner.offset, added)
            return Pointer(owner.tensor, offset)
        return self._expanded(owner, added)

    def _expanded(self, owner: Known, added: list[bool]) -> Known:
        if isinstance(owner, int) and all(added):
            shape = (1,) * len(added)
            return Tile(shape, shape, [owner])
        if not isinstance(owner, Tile):
            return UNKNOWN
        if added.count(False) > len(owner.shape):
            return UNKNOWN
        rest = iter(owner.shape)
        full = (*(1 if is_new else next(rest) for is_new in added), *rest)
        return Tile(full, self.lanes.counts(full), owner.data, hash((owner.identity(), *added)))

    # Calls.

    def call(
        self, node: ast.Call, function: Known, given: list[Known], named: dict[str, Known]
    ) -> Known:
        if isinstance(function, Method):
            return self._named(node, function.name, [function.owner, *given], named)
        if not isinstance(function, Dotted):
            self._escaped([*given, *named.values()])
            return UNKNOWN
        name = function.name
        helper = self.module.lookup.kernels.get(name) if "." not in name else None
        if helper is not None and len(self.module.lookup.named[helper.name]) == 1:
            return self._inlined(helper, given, named)
        if name in ("min", "max"):
            return self._named(node, {"min": "minimum", "max": "maximum"}[name], given, named)
        if name == "triton.cdiv" or name.endswith(".next_power_of_2"):
            return self._cdiv(node, given, named) if name == "triton.cdiv" else UNKNOWN
        if name.endswith(("program_id", "num_programs")) or name.startswith(TL):
            return self._named(node, name.rpartition(".")[2], given, named)
        if name in BUILTINS:
            return UNKNOWN
        if name.startswith("triton."):
            return self._named(node, name.rpartition(".")[2], given, named)
        self._escaped([*given, *named.values()])
        return UNKNOWN

    def _escaped(self, given: list[Known]) -> None:
        """Code that is not followed gets a pointer: it may store anywhere."""
        if any(isinstance(value, Pointer | BlockPointer | Unknown) for value in given):
            self.record.is_complete = False
            self.record.is_ordered = True

    def _inlined(self, helper: Kernel, given: list[Known], named: dict[str, Known]) -> Known:
        names = [parameter.name for parameter in helper.parameters]
        env = {**dict(zip(names, given, strict=False)), **named}
        for parameter in helper.parameters:
            if parameter.name not in env:
                default = parameter.default
                tree = None if default is None else ast.parse(default, mode="eval").body
                env[parameter.name] = UNKNOWN if tree is None else self.value(tree)
        self.depth += 1
        if self.depth > 12:
            raise Unfollowed("too deep")
        outer, self.env = self.env, env
        held, self.result = self.result, None
        unsure = self.unsure
        try:
            self.run(helper.node.body)
            return UNKNOWN if self.unsure > unsure else self.result
        finally:
            self.env, self.result, self.unsure = outer, held, unsure
            self.depth -= 1

    def _named(
        self, node: ast.Call, name: str, given: list[Known], named: dict[str, Known]
    ) -> Known:
        """A function of the language, or a method of a tile."""
        if name in ("load", "store") or name.startswith("atomic_"):
            return self._memory(node, name, given, named)
        if name in ("program_id", "num_programs"):
            axis = given[-1] if given else named.get("axis", 0)
            return (self.program if name == "program_id" else self.grid)[axis]
        if name in ("range", "static_range"):
            plain = [value for value in given if isinstance(value, int)]
            return range(*plain) if len(plain) == len(given) else UNKNOWN
        if name in _ITSELF:
            # A pointer to elements of another size counts other elements.
            return UNKNOWN if name in _CASTS and isinstance(given[0], Pointer) else given[0]
        if name in _DEMANDS:
            return self.demand(node.args[0])
        if name in _CALLS:
            return _CALLS[name](self, node, given, named)
        if name in ("make_block_ptr", "advance") or name in _CHECKED:
            return self._block(name, given, named)
        if name in ("minimum", "maximum"):
            return self._extreme(name, given)
        return self._shaped(name, given, named)

    def _memory(
        self, node: ast.Call, name: str, given: list[Known], named: dict[str, Known]
    ) -> Known:
        if isinstance(given[0], BlockPointer) and given[0].is_checked and len(given) > 1:
            moved = given[1] if isinstance(given[1], tuple | list) else ()
            if len(moved) == len(given[0].block):
                given = [self.block_at(given[0], tuple(moved)), *given[2:]]
        if name == "atomic_cas":
            # It takes a lock, or its loop stores.
            self.record.is_ordered, self.record.is_complete = True, False
            return UNKNOWN
        kind = name if name in ("load", "store") else "atomic"
        order: tuple[str, ...] = ("pointer", "value", "mask", "boundary_check")
        if kind == "load":
            order = ("pointer", "mask", "other", "boundary_check")
        if "volatile" in named:
            self.record.is_ordered = True
        return self.access(node, kind, {**dict(zip(order, given, strict=False)), **named})

    def _block(self, name: str, given: list[Known], named: dict[str, Known]) -> Known:
        if name == "advance":
            return self.advanced(given[0], given[1] if len(given) > 1 else named.get("offsets"))
        is_checked = name in _CHECKED
        order: tuple[str, ...] = ("base", "shape", "strides", "offsets", "block_shape", "order")
        if is_checked:
            order = ("base", "shape", "strides", "block_shape")
        return self.block_pointer(
            {**dict(zip(order, given, strict=False)), **named}, is_checked=is_checked
        )

    def _arange(self, node: ast.Call, given: list[Known], named: dict[str, Known]) -> Known:
        start = given[0] if given else named.get("start", UNKNOWN)
        end = given[1] if len(given) > 1 else named.get("end", UNKNOWN)
        if not isinstance(start, int) or not isinstance(end, int):
            return UNKNOWN
        extent = int(end) - int(start)
        self.demand_powers((extent,))
        lanes = self.lanes.lanes_of(extent)
        return Tile((extent,), (len(lanes),), [int(start) + lane for lane in lanes])

    def _cdiv(self, node: ast.Call, given: list[Known], named: dict[str, Known]) -> Known:
        one, two = given[0], given[1] if len(given) > 1 else named["div"]
        self.asked_to_round(one)
        if isinstance(one, int) and isinstance(two, int):
            return -(-int(one) // int(two))
        above = self.operation(ast.Sub, self.operation(ast.Add, one, two), 1)
        return self.operation(ast.FloorDiv, above, two)

    def _where(self, node: ast.Call, given: list[Known], named: dict[str, Known]) -> Known:
        condition, one, two = given[0], given[1], given[2]
        if any(isinstance(value, Unknown | Pointer) for value in given[:3]):
            return UNKNOWN
        shape = joined(joined(shape_of(condition) or (), shape_of(one) or ()), shape_of(two) or ())
        counts = self.lanes.counts(shape)
        origin = hash(("where", *(v.identity() if isinstance(v, Tile) else hash(v) for v in given)))
        choices = with_unknown(condition, counts)
        sides = zip(choices, with_unknown(one, counts), with_unknown(two, counts), strict=True)
        data = [None if c is None else (a if c else b) for c, a, b in sides]
        is_known = any(value is not None for value in data)
        return Tile(shape, counts, data if is_known else None, origin)

    def _extreme(self, name: str, given: list[Known]) -> Known:
        for value in given:
            self.asked_to_round(value)
        function: Callable[[Any, Any], Any] = min if name == "minimum" else max
        one, two = given[0], given[1]
        if isinstance(one, int | float) and isinstance(two, int | float):
            return function(one, two)
        if isinstance(one, Unknown | Pointer) or isinstance(two, Unknown | Pointer):
            return UNKNOWN
        return self._elementwise(function, one, two, name)

    def _dot(self, node: ast.Call, given: list[Known], named: dict[str, Known]) -> Known:
        one, two = given[0], given[1]
        if not isinstance(one, Tile) or not isinstance(two, Tile) or len(one.shape) < 2:
            return UNKNOWN
        shape = (*one.shape[:-1], two.shape[-1])
        return self.tile(shape, hash(("dot", one.identity(), two.identity())))

    def _trans(self, node: ast.Call, given: list[Known], named: dict[str, Known]) -> Known:
        if not isinstance(given[0], Tile):
            return UNKNOWN
        order: Known = list(given[1:]) or list(range(len(given[0].shape)))[::-1]
        if len(order) == 1 and isinstance(order[0], tuple | list):
            order = order[0]
        return transposed(given[0], list(order))

    def _full(self, node: ast.Call, given: list[Known], named: dict[str, Known]) -> Known:
        shape = given[0] if given else named.get("shape", UNKNOWN)
        if not isinstance(shape, tuple | list) or not all(isinstance(n, int) for n in shape):
            return UNKNOWN
        sizes = tuple(int(n) for n in shape)
        self.demand_powers(sizes)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        value = 0
        if name == "full":
            value = given[1] if len(given) > 1 else named.get("value", UNKNOWN)
        if not isinstance(value, int | float):
            return self.tile(sizes, id(value))
        counts = self.lanes.counts(sizes)
        return Tile(sizes, counts, [value] * math.prod(counts))

    def _shaped(self, name: str, given: list[Known], named: dict[str, Known]) -> Known:
        """Functions of which the shape alone is followed."""
        if name in _ORDERED:
            return None
        first = given[0] if given else UNKNOWN
        if not isinstance(first, Tile):
            return UNKNOWN
        origin = hash((name, *(v.identity() if isinstance(v, Tile) else id(v) for v in given)))
        if name in _LIKE_FIRST:
            return self.tile(first.shape, origin)
        if name in _REDUCTIONS:
            axis = given[1] if len(given) > 1 else named.get("axis")
            if named.get("keep_dims") or named.get("return_indices") or name == "reduce":
                return UNKNOWN
            return reduced(first, axis if isinstance(axis, int) else None, name, self.lanes)
        if name == "expand_dims" and isinstance(
            axis := given[1] if len(given) > 1 else named.get("axis"), int
        ):
            axis %= len(first.shape) + 1
            added = [i == axis for i in range(len(first.shape) + 1)]
            return self._expanded(first, added)
        if name in ("broadcast_to", "reshape", "view"):
            return self._reshaped(name, first, given[1:], named, origin)
        return UNKNOWN

    def _reshaped(
        self, name: str, tile: Tile, given: list[Known], named: dict[str, Known], origin: int
    ) -> Known:
        shape: Known = given[0] if len(given) == 1 else given or named.get("shape")
        if not isinstance(shape, tuple | list) or not all(isinstance(n, int) for n in shape):
            return UNKNOWN
        sizes = tuple(int(n) for n in shape)
        if name == "broadcast_to":
            joined(tile.shape, sizes)
            counts = self.lanes.counts(sizes)
            data = None if tile.data is None else with_unknown(tile, counts)
            return Tile(sizes, counts, data, origin)
        return self.tile(sizes, origin)


def _is_negative(value: Known) -> bool:
    return isinstance(value, int | float) and value < 0


_CALLS: Mapping[str, Callable[[KernelPrograms, ast.Call, list[Known], dict[str, Known]], Known]] = {
    "arange": KernelPrograms._arange,
    "cdiv": KernelPrograms._cdiv,
    "where": KernelPrograms._where,
    "dot": KernelPrograms._dot,
    "trans": KernelPrograms._trans,
    "permute": KernelPrograms._trans,
    "full": KernelPrograms._full,
    "zeros": KernelPrograms._full,
}
