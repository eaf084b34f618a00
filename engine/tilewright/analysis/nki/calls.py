"""Calls of an NKI kernel: what each creates, reads, writes and returns."""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import ceil, isfinite

from tilewright.analysis.nki.affine import Affine, Symbol, SymbolKind, opaque, quotient
from tilewright.analysis.nki.catalogue import (
    CREATORS,
    DTYPE_BYTES,
    FUNCTIONS,
    ISA,
    KEYWORD_DST,
    NL,
    Function,
    Result,
)
from tilewright.analysis.nki.dtypes import FLOATS, element_type, promoted
from tilewright.analysis.nki.expressions import as_integer, as_mask, buffer_of, dtype_name, run
from tilewright.analysis.nki.flow import Call
from tilewright.analysis.nki.model import LOOPS, Mask, Memory, Origin, Shape, View
from tilewright.analysis.nki.shapes import result_shape, shape_of
from tilewright.analysis.nki.state import State, whole
from tilewright.analysis.nki.values import (
    UNKNOWN,
    Items,
    Literal,
    Many,
    Named,
    Partition,
    Stretch,
    Value,
)
from tilewright.source.model import NkiFlavour

_PURE = frozenset(
    (
        *("print", "range", "enumerate", "zip", "len", "list", "tuple", "isinstance", "int"),
        *("float", "str", "bool", "sorted", "dict", "set", "getattr", "hasattr", "abs", "sum"),
        *("type", "round"),
    )
)
_CEILING = frozenset({"math.ceil", "numpy.ceil"})


def apply(state: State, call: Call) -> Value:
    """The value of a call; what it does is recorded in ``state``."""
    if call.name in CREATORS:
        return _created(state, call)
    if call.name == NL + "broadcast_to":
        given = _bound(call, ("src", "shape"))
        if isinstance(owner := given.get("src"), View):
            return _broadcast(state, call, owner, shape_of(given.get("shape")))
    function = FUNCTIONS.get(call.name)
    if function is not None:
        return _instruction(state, call, function)
    helper = state.helpers.get(call.dotted or "")
    if helper is not None and state.follow is not None:
        value = state.follow(state, call, helper)
        if value is not None:
            return value
    return _small(state, call)


def method(state: State, call: Call, owner: View, name: str) -> Value:
    """``tile.broadcast_to(shape)``, ``tensor.reshape(shape)`` and others."""
    given = call.positional[0] if call.positional else call.keywords.get("shape", UNKNOWN)
    shape = shape_of(Items(call.positional)) if len(call.positional) > 1 else shape_of(given)
    if name == "broadcast_to":
        return _broadcast(state, call, owner, shape)
    if name == "reshape":
        return View(owner.storage, None, shape, owner.dtype, node=call.node)
    if name == "astype":
        return View(owner.storage, None, owner.shape, dtype_name(given), node=call.node)
    places = _views([*call.positional, *call.keywords.values()])
    if places:
        state.operation("collect", call.node, tuple(places))
    if name == "ap":
        shape = _pattern(call.keywords.get("pattern", given))
        return View(owner.storage, None, shape, owner.dtype, node=call.node)
    if name in ("view", "permute", "expand_dims", "squeeze", "bitcast", "indirect"):
        return View(owner.storage, None, None, owner.dtype, node=call.node)
    return _unknown(state, call, (owner,))


def _pattern(value: Value) -> Shape | None:
    """The shape that an access pattern reads: the counts of its pairs of step and count."""
    if not isinstance(value, Items) or len(value.values) < 2:
        return None
    pairs = [pair.values for pair in value.values if isinstance(pair, Items)]
    counts = [pair[1] for pair in pairs if len(pair) == 2]
    return shape_of(Items(tuple(counts))) if len(counts) == len(value.values) else None


def _broadcast(state: State, call: Call, owner: View, shape: Shape | None) -> View:
    """The same values seen in a larger shape."""
    view = View(owner.storage, None, shape, owner.dtype, node=call.node, broadcast=True)
    state.operation(NL + "broadcast_to", call.node, (owner,), result=view)
    return view


def _created(state: State, call: Call) -> Value:
    short = call.name.rpartition(".")[2]
    arguments = (
        _bound(call, ("shape", "fill_value", "dtype", "buffer"))
        if short == "full"
        else (
            _bound(
                call, ("a", "dtype") if short.endswith("_like") else ("shape", "dtype", "buffer")
            )
        )
    )
    like = arguments.get("a", arguments.get("x"))
    if isinstance(like, View):
        arguments = {"shape": Items(like.shape) if like.shape else UNKNOWN, **arguments}
    shape, partition = _declared(state, arguments.get("shape", UNKNOWN))
    memory, shared = _buffer(arguments.get("buffer"))
    dtype = dtype_name(arguments.get("dtype", UNKNOWN))
    if dtype is None and isinstance(like, View) and "dtype" not in arguments:
        dtype = like.dtype
    made = state.storage(
        _target_name(state),
        shape,
        memory,
        dtype=dtype,
        partition=0 if memory is Memory.HBM else partition,
        origin=Origin.CREATED,
        zeroed=short not in ("ndarray", "empty_like"),
        shared=shared,
        node=call.node,
    )
    return whole(made, call.node)


def _buffer(value: Value | None) -> tuple[Memory | None, bool]:
    if value is None or value == Literal(None):
        return Memory.SBUF, False
    found = buffer_of(value)
    if found is None:
        return None, False
    memory, shared = found
    assert isinstance(memory, Memory)
    return memory, shared


def _declared(state: State, value: Value) -> tuple[Shape | None, int]:
    if not isinstance(value, Items):
        return (shape_of(value), 0)
    marked = [place for place, side in enumerate(value.values) if isinstance(side, Partition)]
    sides = Items(
        tuple(side.size if isinstance(side, Partition) else _integer(side) for side in value.values)
    )
    return shape_of(sides), marked[0] if marked else 0


def _integer(value: Value) -> Value:
    number = as_integer(value)
    return UNKNOWN if number is None else number


def _target_name(state: State) -> str:
    statement = state.statement
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            return target.id
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    return "tile"


def _bound(call: Call, parameters: tuple[str, ...]) -> dict[str, Value]:
    return {**dict(zip(parameters, call.positional, strict=False)), **call.keywords}


def _expressions(call: Call, parameters: tuple[str, ...]) -> dict[str, ast.expr]:
    given = dict(zip(parameters, call.node.args, strict=False))
    given.update({k.arg: k.value for k in call.node.keywords if k.arg is not None})
    return given


def destination_first(state: State, dotted: str, keywords: Iterable[str]) -> bool:
    """Whether a call is written for the newer package: ``dst`` before the other arguments."""
    if not dotted.startswith(ISA) or dotted in KEYWORD_DST:
        return dotted.startswith(ISA) and state.flow.flavour is NkiFlavour.NKI
    return "dst" in keywords or state.flow.flavour is NkiFlavour.NKI


def _instruction(state: State, call: Call, function: Function) -> Value:
    to_dst = destination_first(state, call.name, call.keywords)
    parameters = ("dst", *function.parameters) if to_dst else function.parameters
    if to_dst and call.name == ISA + "memset":
        parameters = ("dst", "value")
    arguments = _bound(call, parameters)
    given = _expressions(call, parameters)
    tiles = {n: v for n in function.tiles if isinstance(v := arguments.get(n), View)}
    written = {n: v for n in ("dst", *function.writes) if isinstance(v := arguments.get(n), View)}
    others = _views(v for n, v in arguments.items() if n not in tiles and n not in written)
    result = None if to_dst else _result(state, call, function, arguments, list(tiles.values()))
    accumulates = call.name == ISA + "nc_matmul" and to_dst
    state.operation(
        call.name,
        call.node,
        (*tiles.values(), *others),
        tuple(written.values()),
        operands={**tiles, **written},
        values={n: v for n, v in arguments.items() if not isinstance(v, View)},
        given=given,
        result=result,
        accumulates=accumulates or call.name == NL + "loop_reduce",
        mask=as_mask(arguments.get("mask", Literal(None))),
    )
    return UNKNOWN if result is None else result


def _views(values: Iterable[Value]) -> list[View]:
    found: list[View] = []
    for value in values:
        if isinstance(value, View):
            found.append(value)
        elif isinstance(value, Items):
            found += _views(value.values)
        elif isinstance(value, Many) and value.sample is not None:
            found += _views([value.sample])
    return found


def _result(
    state: State,
    call: Call,
    function: Function,
    arguments: dict[str, Value],
    tiles: list[View],
) -> View | None:
    if function.result is Result.NOTHING:
        return None
    constant: str | None = None
    if function.result is Result.FILL:
        shape, _ = _declared(state, arguments.get("shape", UNKNOWN))
    elif function.memory is Memory.HBM:
        shape, constant = _constant(state, call, arguments)
    else:
        shape = result_shape(state, function.result, tiles, arguments)
    memory = function.memory
    if call.name == ISA + "nc_transpose" and _engine(arguments) == "tensor":
        memory = Memory.PSUM
    made = state.storage(
        _target_name(state),
        shape,
        memory,
        dtype=_dtype(call.name, function, arguments, tiles) or constant,
        origin=Origin.CONSTANT if memory is Memory.HBM else Origin.RESULT,
        zeroed=True,
        node=call.node,
    )
    view = whole(made, call.node)
    return replace(view, broadcast=True) if function.result is Result.BROADCAST else view


def _constant(
    state: State, call: Call, arguments: Mapping[str, Value]
) -> tuple[Shape | None, str | None]:
    """Shape and type of ``shared_identity_matrix(n)``, and of what a function of numpy makes."""
    side = as_integer(arguments.get("n", UNKNOWN))
    if side is not None:
        return (side, side), None
    node = call.node.args[0] if call.node.args else call.argument("constant")
    made = next((one for one in reversed(state.flow.calls) if one.node is node), None)
    if made is None or made.dotted is None:
        return None, None
    dtype = dtype_name(made.keywords.get("dtype", UNKNOWN))
    match made.dotted.removeprefix("numpy."):
        case "identity" | "eye":
            given = _bound(made, ("n", "M"))
            side = as_integer(given.get("n", given.get("N", UNKNOWN)))
            return (None if side is None or "M" in given else (side, side)), dtype
        case "zeros" | "ones" | "full" | "empty":
            return shape_of(_bound(made, ("shape",)).get("shape")), dtype
    return None, None


def _engine(arguments: Mapping[str, Value]) -> str | None:
    value = arguments.get("engine")
    if isinstance(value, Named):
        return value.dotted.rpartition(".")[2].removesuffix("_engine")
    return None


def _dtype(
    name: str, function: Function, arguments: dict[str, Value], tiles: list[View]
) -> str | None:
    """The element type of a result: ``nl`` promotes numbers too, ``nisa`` only tiles."""
    stated = arguments.get("dtype")
    if stated is not None and stated != Literal(None):
        return dtype_name(stated)
    if function.result in (Result.MATMUL, Result.HIGH_MATMUL):
        return "float32"
    if function.result is not Result.ELEMENTWISE:
        return tiles[0].dtype if tiles else None
    if not name.startswith(NL):
        return promoted([tile.dtype for tile in tiles])
    return promoted([element_type(arguments[side]) for side in ("x", "y") if side in arguments])


def _small(state: State, call: Call) -> Value:
    """Numbers, index arrays and shapes; anything else is a call of the unknown."""
    name, values = call.name, call.positional
    numbers = [as_integer(value) for value in values]
    known = [number for number in numbers if number is not None]
    all_known = len(known) == len(values)
    match name.removeprefix(NL):
        case "arange" if all_known and 1 <= len(known) <= 2:
            return (
                run(Affine.from_value(0), known[0]) if len(known) == 1 else run(known[0], known[1])
            )
        case "ds":
            given = _bound(call, ("start", "size"))
            start, size = (as_integer(given.get(n, UNKNOWN)) for n in ("start", "size"))
            return Stretch(start, size)
        case "par_dim" if len(known) == 1:
            return Partition(known[0])
        case "program_id" | "num_programs":
            return _program(state, name.removeprefix(NL), values, call)
        case "program_ndim":
            return opaque(("program_ndim",), "nl.program_ndim()")
        case "min" | "max" if all_known and len(known) >= 2 and not call.keywords:
            return _extreme(state, name, known)
        case "len" if len(values) == 1 and isinstance(values[0], Items):
            return Affine.from_value(len(values[0].values))
    return _rounded(state, call, known)


def _rounded(state: State, call: Call, known: list[Affine]) -> Value:
    """A number in another type, or a quotient rounded up."""
    if len(call.positional) == 1 and (dtype := _converted_to(call)) is not None:
        return _converted(call.positional[0], dtype)
    if call.name in _CEILING and len(call.positional) == 1:
        (value,) = call.positional
        if isinstance(value, Literal) and isinstance(value.value, float):
            return Affine.from_value(ceil(value.value)) if isfinite(value.value) else UNKNOWN
        return _ceiling(known)
    if call.name.rpartition(".")[2] in ("cdiv", "div_ceil", "ceil_div") and len(known) == 2:
        return quotient(known[0], known[1], up=True)
    return _unknown(state, call, ())


def _converted_to(call: Call) -> str | None:
    """The type of ``np.float32(c)`` and ``np.dtype(np.float32).type(c)``; None of other calls."""
    short = call.name.rpartition(".")[2]
    if call.name.startswith("numpy.") and short in DTYPE_BYTES:
        return short
    match call.node.func:
        case ast.Attribute(
            attr="type",
            value=ast.Call(func=ast.Attribute(attr="dtype"), args=[ast.Attribute(attr=name)]),
        ) if name in DTYPE_BYTES:
            return name
        case ast.Attribute(attr="type", value=ast.Call(func=ast.Attribute(attr="dtype"))):
            return ""
    return None


def _converted(value: Value, dtype: str) -> Value:
    """A number in another type; one that may be a size stays an integer."""
    number = value.number if isinstance(value, Affine) else None
    if number is not None and dtype in FLOATS:
        return Literal(float(number), dtype)
    if isinstance(value, Literal) and isinstance(value.value, float):
        return Literal(value.value, dtype)
    return value


def _ceiling(known: list[Affine]) -> Value:
    if not known:
        return UNKNOWN
    symbol = known[0].symbol
    key = symbol.key if symbol is not None else None
    if isinstance(key, tuple) and len(key) == 3 and key[0] == "/":
        return quotient(key[1], key[2], up=True)
    return known[0]


def _extreme(state: State, name: str, known: list[Affine]) -> Value:
    numbers = [state.flow.number(value) for value in known]
    exact = [number for number in numbers if number is not None]
    if len(exact) == len(numbers):
        return Affine.from_value(min(exact) if name == "min" else max(exact))
    return opaque((name, *known), f"{name}(...)", *known)


def _program(state: State, name: str, values: tuple[Value, ...], call: Call) -> Value:
    given = values[0] if values else call.keywords.get("axis", Affine.from_value(0))
    axis = state.flow.number(given) if isinstance(given, Affine) else None
    if axis is None:
        return opaque((name, id(call.node)), f"nl.{name}(...)")
    key = (name, axis)
    kind = SymbolKind.PROGRAM if name == "program_id" else SymbolKind.OTHER
    symbol = Symbol(key, kind, f"nl.{name}({axis})")
    if name == "program_id":
        state.flow.program[axis] = symbol
    return Affine.from_value(symbol)


def _unknown(state: State, call: Call, owners: tuple[View, ...]) -> Value:
    touched = [*owners, *_views([*call.positional, *call.keywords.values()])]
    if touched and call.name not in _PURE and call.name not in LOOPS:
        state.flow.complete = False
        state.operation("call", call.node, tuple(touched), tuple(touched), mask=Mask(None))
    return UNKNOWN
