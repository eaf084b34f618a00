"""What several detectors ask of host graphs: tensors, sizes, guards, how a kernel reads them."""

import ast
import math
from collections.abc import Iterator
from functools import lru_cache

from tilewright.analysis.detectors.common import DOTS, TL
from tilewright.analysis.flow import flow_of
from tilewright.analysis.host_graph.build import host_graph_of, launching_functions
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, Use, UseKind
from tilewright.analysis.host_graph.operations import LIKE, SHAPE_ATTRIBUTES, SHAPE_METHODS
from tilewright.analysis.host_graph.wrappers import graphs_through_calls
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.tiles import tiles_of
from tilewright.analysis.values import Access, Flow, Value, values_within, walk
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.node_memo import per_node

_POINTWISE_OPS = frozenset(
    {"binary", "unary", "compare", "bool", "cast", "select", "expand", "load", "tuple", "const"}
)
_POINTWISE_CALLS = frozenset(
    TL + name
    for name in (
        *("exp", "exp2", "log", "log2", "sqrt", "sqrt_rn", "rsqrt", "abs", "sigmoid", "sin", "cos"),
        *("erf", "maximum", "minimum", "where", "fma", "clamp", "floor", "ceil", "cast", "div_rn"),
    )
)
_MOST_ADDENDS = 64
_FEW_ELEMENTS = 1 << 16
"""Elements below which a tensor is not worth a word: reading it takes less than a launch."""
_NUMBERS = frozenset({"int", "float", "bool"})
_SHAPED = frozenset({"empty", "zeros", "ones", "new_empty", "new_zeros", "view", "reshape"})
_OF_NUMBERS = frozenset({".bit_length", ".bit_count", ".is_integer"})
_MEASURING = (
    *("bench", "test", "profile", "main", "run_bench", "perf", "check", "verify", "calibrate"),
    *("mode_calibrate", "warmup", "tune"),
)
_MEASURES = ("_test", "_tests", "_bench", "_benchmark", "_unittest")
_TIMING = frozenset({"elapsed_time", "perf_counter", "perf_counter_ns", "do_bench", "time"})
_ONCE = ("_version", "hasattr", "is None", "not self.", "cache", "_cached", "initialized")


def graphs(module: Module) -> Iterator[tuple[str, HostGraph, list[Launch]]]:
    """Functions that launch this file's kernels and are neither tests nor benchmarks."""
    for name, launches in launching_functions(module).items():
        if not is_measuring(name) and not times_launches(module.host_functions[name]):
            yield name, host_graph_of(module, name), launches


def graphs_with_wrappers(module: Module) -> Iterator[tuple[str, HostGraph, list[Launch]]]:
    """As ``graphs``, and functions that call those; a call counts as the launches behind it."""
    for name, (graph, launches) in graphs_through_calls(module).items():
        if not is_measuring(name) and not times_launches(graph.node):
            yield name, graph, launches


def is_measuring(function: str) -> bool:
    """Whether a function tests or times, by its name."""
    name = function.rpartition(".")[2].lower().lstrip("_")
    return name.startswith(_MEASURING) or name.endswith(_MEASURES)


@per_node
def times_launches(function: ast.FunctionDef) -> bool:
    """Whether a function asks a clock, or for the time between events."""
    return any(n.attr in _TIMING for n in nodes_like(function, ast.Attribute)) or any(
        n.id in _TIMING for n in nodes_like(function, ast.Name)
    )


def is_once(graph: HostGraph, branches: tuple[int, ...]) -> bool:
    """Whether a place runs at the first call only: ``if self._packed is None``."""
    tests = (ast.unparse(graph.guards[b].test) for b in branches if b in graph.guards)
    return any(mark in test for test in tests for mark in _ONCE)


def asks_dtype(graph: HostGraph, branches: tuple[int, ...]) -> bool:
    """Whether a place runs only for some element types."""
    tests = (ast.unparse(graph.guards[b].test) for b in branches if b in graph.guards)
    return any("dtype" in test or "is_floating_point" in test for test in tests)


def launch_uses(uses: list[Use]) -> list[Use]:
    return [use for use in uses if use.kind is UseKind.LAUNCH]


def is_tensor(graph: HostGraph, value: HostValue, depth: int = 0) -> bool:
    """Whether a value surely is a tensor: torch made it, or it is asked or accessed as one."""
    if value.origin is Origin.ALLOCATED:
        return True
    if value.is_number or depth > 8 or _is_declared_number(graph, value):
        return False
    if value.origin is Origin.COMPUTED and value.operation.startswith("torch."):
        return True
    for use in graph.direct_uses(value):
        if use.kind is UseKind.SHAPE and _shape_query(use.node) in SHAPE_ATTRIBUTES | SHAPE_METHODS:
            return True
        role = use.role
        if role is not None and role.is_sure and (role.reads or role.writes):
            return True
        result = use.result
        # What a method is given besides its tensor may be a number: ``x.sum(dim)``.
        is_method = result is not None and result.operation.startswith(".")
        if result is not None and is_method and result.sources[0] is value:
            return result.operation not in _OF_NUMBERS
    if value.origin is Origin.COMPUTED:
        return any(is_tensor(graph, source, depth + 1) for source in value.sources)
    return value.origin is Origin.VIEW and is_tensor(graph, value.sources[0], depth + 1)


@per_node
def extents_in(function: ast.FunctionDef) -> frozenset[str]:
    """Names that a function takes for extents: in the shapes of what it allocates or views."""
    return frozenset(
        name
        for call in nodes_like(function, ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _SHAPED
        for argument in call.args
        for name in _counted_names(argument)
    )


def _counted_names(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _counted_names(part)
        case ast.BinOp(left=left, right=right):
            yield from _counted_names(left)
            yield from _counted_names(right)


def _is_declared_number(graph: HostGraph, value: HostValue) -> bool:
    """Whether it is a parameter whose annotation is a Python number's."""
    if value.origin is not Origin.PARAMETER:
        return False
    args = graph.node.args
    return any(
        a.arg == value.operation and a.annotation is not None and _names_numbers(a.annotation)
        for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)
    )


def _names_numbers(annotation: ast.expr) -> bool:
    names = {n.id for n in ast.walk(annotation) if isinstance(n, ast.Name)}
    return bool(names & _NUMBERS) and names <= _NUMBERS | {"Optional", "Union"}


def _shape_query(node: ast.expr | ast.stmt) -> str | None:
    """``shape`` for ``x.shape``, ``size`` for ``x.size(0)``."""
    named = node.func if isinstance(node, ast.Call) else node
    return named.attr if isinstance(named, ast.Attribute) else None


def spans_the_problem(value: HostValue) -> bool:
    """Whether an allocation is as large as an operand: like one, or with two extents or more.

    Where it states all of them as numbers, these say how large it is.
    """
    if value.operation in LIKE or shape_of_another(value):
        return True
    stated = extents(value)
    numbers = [e.value for e in stated if isinstance(e, ast.Constant) and type(e.value) is int]
    is_small = len(numbers) == len(stated) and math.prod(numbers) < _FEW_ELEMENTS
    return len(stated) > 1 and not is_small


def shape_of_another(value: HostValue) -> bool:
    """``torch.empty(x.shape)``, ``torch.empty_like(x)``: as large as another tensor."""
    if value.operation in LIKE:
        return True
    node = value.node
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    return (isinstance(first, ast.Attribute) and first.attr == "shape") or (
        isinstance(first, ast.Call)
        and isinstance(first.func, ast.Attribute)
        and first.func.attr == "size"
        and not first.args
    )


def extents(value: HostValue) -> list[ast.expr]:
    """The extents an allocation states, () where it states none."""
    node = value.node
    if not isinstance(node, ast.Call) or value.operation in LIKE:
        return []
    if node.args and isinstance(node.args[0], ast.Tuple | ast.List):
        return list(node.args[0].elts)
    if value.operation.rpartition(".")[2] in ("full", "new_full", "arange"):
        return []
    return list(node.args)


def stated_dtype(module: Module, value: HostValue) -> str | None:
    """The element type an allocation asks for: "torch.float32"."""
    if isinstance(value.node, ast.Call):
        for keyword in value.node.keywords:
            if keyword.arg == "dtype":
                return module.names.resolve(keyword.value)
    return None


def is_pointwise_in(module: Module, kernel: Kernel, parameter: str) -> bool:
    """Whether a kernel loads a parameter once, element for element with what it stores.

    No reduction, product or address depends on the loaded tile, and some store writes at the
    offsets it was loaded from.
    """
    return _pointwise(module, kernel.name, parameter, flow_of(module, kernel))


def _pointwise(module: Module, kernel: str, parameter: str, flow: Flow) -> bool:
    loads = [a for a in flow.loads if a.base == parameter]
    if len(loads) != 1 or flow.may_write_unknown or loads[0].loops != _store_loops(flow):
        return False
    loaded = loads[0].result
    if loaded is None or any(loaded is part for part in _fixed_to_tiles(flow)):
        return False
    offset = offset_of(loads[0])
    return offset is not None and any(
        store.kind == "store" and same_offsets(offset, offset_of(store)) for store in flow.writes
    )


def is_elementwise(module: Module, kernel: Kernel) -> bool:
    """Whether a kernel stores one tile, computed element by element from tiles at its offsets.

    There is no loop, atomic, reduction or product; tiles may also be of one number.
    """
    flow = flow_of(module, kernel)
    writes = flow.writes
    if len(writes) != 1 or writes[0].kind != "store" or flow.loops or flow.may_write_unknown:
        return False
    stored, offset = writes[0].result, offset_of(writes[0])
    if stored is None or offset is None:
        return False
    if not all(_is_leaf(v) for v in values_within(stored, lambda value: value.op != "load")):
        return False
    return any(same_offsets(offset, offset_of(load)) for load in flow.loads)


def _is_leaf(value: Value) -> bool:
    """Whether a value is arithmetic on elements, or a number that it takes."""
    return (
        value.op in _POINTWISE_OPS
        or value.op in ("param", "global", "program_id", "arange")
        or value.is_call(*_POINTWISE_CALLS)
    )


def is_loaded_once(module: Module, kernel: Kernel, parameter: str) -> bool:
    """Whether each element behind a parameter is loaded by one program, and by it once.

    In a loop it is where the address moves on in each turn, and no program has a share of it: a
    product, or an index that is divided, reads elements again.
    """
    flow = flow_of(module, kernel)
    loads = [a for a in flow.loads if a.base == parameter]
    if len(loads) != 1 or flow.may_write_unknown:
        return False
    parts = list(walk(loads[0].pointer))
    if loads[0].loops and not _moves_on(flow, loads[0], parts):
        return False
    used = {v.detail for v in flow.values.values() if v.op == "program_id"}
    where = {v.detail for v in parts if v.op == "program_id"}
    return bool(where) and used <= where


def _moves_on(flow: Flow, load: Access, parts: list[Value]) -> bool:
    """Whether each iteration of the loops around a load has an address of its own, if known."""
    indices = {v.detail for v in parts if v.op == "loop_index"}
    is_divided = any(v.is_binary("FloorDiv", "Mod") for v in parts)
    is_indirect = any(v.op in ("load", "phi", "opaque") for v in parts)
    has_product = any(True for _ in flow.calls(*DOTS))
    return set(load.loops) <= indices and not (is_divided or is_indirect or has_product)


def is_only_reduced_in(module: Module, kernel: Kernel, parameter: str) -> bool:
    """Whether a kernel sums, or takes the extreme of, each tile of a parameter and no more."""
    flow = flow_of(module, kernel)
    loads = [a for a in flow.loads if a.base == parameter]
    if len(loads) != 1 or loads[0].result is None or flow.may_write_unknown:
        return False
    tiles = tiles_of(module, kernel)
    tile = tiles.facts_of(loads[0].pointer).shape
    reductions = [v for _, v, _ in flow.calls(*(TL + name for name in ("sum", "max", "min")))]
    if not tile or not any(loads[0].result in walk(reduction) for reduction in reductions):
        return False
    written = [
        tiles.facts_of(a.result).shape if a.result is not None else None for a in flow.writes
    ]
    return all(shape is not None and len(shape) < len(tile) for shape in written)


def _store_loops(flow: Flow) -> tuple[int, ...]:
    return flow.writes[0].loops if flow.writes else ()


@lru_cache(maxsize=64)
def _fixed_to_tiles(flow: Flow) -> frozenset[Value]:
    """Loads that a reduction, a product, a loop or an address is computed from."""
    found: set[Value] = set()
    for access in flow.accesses:
        found.update(walk(access.pointer))
        if access.mask is not None:
            found.update(walk(access.mask))
    stored = {flow.values.get(access.node) for access in flow.accesses}
    for value in set(flow.values.values()) - stored:
        if value.op not in _POINTWISE_OPS and not value.is_call(*_POINTWISE_CALLS):
            found.update(walk(value))
    return frozenset(v for v in found if v.op == "load")


def offset_of(access: Access) -> tuple[Value, ...] | None:
    """The addends of an address next to its base; None where the base is not one of them, and
    where there are more than a person writes."""
    addends: list[Value] = []
    pending = [access.pointer]
    while pending and len(addends) <= _MOST_ADDENDS:
        value = pending.pop()
        # A value that is added to itself again and again has as many as it has paths.
        if value.is_binary("Add"):
            pending.extend(reversed(value.operands))
        else:
            addends.append(value)
    rest = tuple(a for a in addends if not (a.op == "param" and a.detail == access.base))
    return rest if not pending and len(rest) == len(addends) - 1 else None


def same_offsets(one: tuple[Value, ...] | None, two: tuple[Value, ...] | None) -> bool:
    """Whether two sums are the same up to which stride parameters they multiply with."""
    if one is None or two is None or len(one) != len(two):
        return False
    left = list(two)
    for part in one:
        match = next((other for other in left if _alike(part, other)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _alike(one: Value, two: Value) -> bool:
    if one is two:
        return True
    if one.is_binary("Mult") and two.is_binary("Mult"):
        a, b = _without_strides(one), _without_strides(two)
        return len(a) == len(b) == 1 and a[0] is b[0]
    return False


def _without_strides(product: Value) -> list[Value]:
    return [v for v in product.operands if v.op != "param"]


def base_of(value: Value) -> str | None:
    """The parameter a loaded tile comes from."""
    return pointer_base(value.operands[0]) if value.op == "load" else None
