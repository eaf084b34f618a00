"""Loops of an NKI kernel: their index, trip count, and what their bodies change."""

import ast
from collections.abc import Callable, Iterable

import tilewright.analysis.nki.expressions as ex
from tilewright.analysis.nki.affine import ZERO, Affine, Symbol, SymbolKind, quotient
from tilewright.analysis.nki.assignments import Given, assign
from tilewright.analysis.nki.evaluate import value_of
from tilewright.analysis.nki.facts import NUMBER
from tilewright.analysis.nki.model import (
    LOOPS,
    NOTHING_KNOWN,
    SYMBOLIC,
    Branch,
    Fact,
    Kind,
    Loop,
    LoopKind,
    Region,
    View,
)
from tilewright.analysis.nki.state import State
from tilewright.analysis.nki.values import UNKNOWN, Literal, Many, Value

Run = Callable[[State, Iterable[ast.stmt]], None]
_Bounds = tuple[Affine, Affine, int]
"""Start, stop and step of a range."""
_CLOSING = frozenset({LoopKind.AFFINE, LoopKind.SEQUENTIAL, LoopKind.PYTHON})


def run_for(state: State, statement: ast.For, run: Run) -> None:
    """A ``for`` loop: its body once, for any iteration."""
    value_of(state, statement.iter)
    bounds = _bounds(state, statement.iter)
    loop = _loop(state, statement, bounds)
    before = _forget(state, statement)
    fact = _index_fact(state, statement, loop)
    if isinstance(statement.target, ast.Name) and loop.symbol is not None:
        assign(state, statement.target, Given(_index(loop.symbol, bounds), fact))
    else:
        assign(state, statement.target, Given(UNKNOWN, fact))
    closes = state.flow.is_older and loop.kind in _CLOSING
    with state.inside(Region(statement, loop, closes)):
        run(state, statement.body)
    _leave_loop(state, before, loop)
    run(state, statement.orelse)


def _loop(state: State, statement: ast.For, bounds: _Bounds | None) -> Loop:
    number = state.tick()
    call = statement.iter
    dotted = state.dotted(call.func) if isinstance(call, ast.Call) else None
    kind = LOOPS.get(dotted or "", LoopKind.OTHER)
    index = statement.target.id if isinstance(statement.target, ast.Name) else None
    symbol, trip = None, None
    if kind is not LoopKind.OTHER:
        trip = _trip(state, bounds)
        key = ("loop", number, id(statement))
        symbol = Symbol(key, SymbolKind.LOOP, index or "index", trip)
    made = Loop(kind, symbol, trip, statement, index, number)
    state.flow.loops.append(made)
    return made


def _index_fact(state: State, statement: ast.For, loop: Loop) -> Fact:
    """A number while tracing, or in a loop that stays one, what depends on it."""
    older = state.flow.is_older
    if loop.kind in SYMBOLIC and (older or loop.kind is LoopKind.DYNAMIC):
        around = state.flow.fact(statement.iter).loops
        return Fact(Kind.LOOP, statement.iter, loops=frozenset({loop}) | around)
    return NOTHING_KNOWN if loop.kind is LoopKind.OTHER else NUMBER


def _bounds(state: State, call: ast.expr) -> _Bounds | None:
    if not isinstance(call, ast.Call) or call.keywords:
        return None
    ends = [ex.as_integer(state.flow.value(argument)) for argument in call.args]
    if not 1 <= len(ends) <= 3 or any(end is None for end in ends):
        return None
    known = [end for end in ends if end is not None]
    start, stop = (ZERO, known[0]) if len(known) == 1 else (known[0], known[1])
    step = known[2].number if len(known) == 3 else 1
    return None if not step else (start, stop, step)


def _trip(state: State, bounds: _Bounds | None) -> Affine | None:
    if bounds is None:
        return None
    start, stop, step = bounds
    distance = stop - start if step > 0 else start - stop
    return quotient(distance, Affine.from_value(abs(step)), up=True).substitute(state.flow.known)


def _index(symbol: Symbol, bounds: _Bounds | None) -> Value:
    if bounds is None:
        return Affine.from_value(symbol)
    start, _, step = bounds
    return start + Affine.from_value(symbol) * Affine.from_value(step)


def run_while(state: State, statement: ast.While, run: Run) -> None:
    """A ``while`` loop: its body once."""
    loop = Loop(LoopKind.OTHER, None, None, statement, None, state.tick())
    state.flow.loops.append(loop)
    before = _forget(state, statement)
    value_of(state, statement.test)
    state.flow.branches.append(Branch(statement, state.path))
    with state.inside(Region(statement, loop, closes=False)):
        run(state, statement.body)
    _leave_loop(state, before, loop)


def _forget(state: State, statement: ast.For | ast.While) -> dict[str, Value]:
    """What a loop assigns has another value in its second iteration."""
    before = dict(state.env)
    for part in ast.walk(statement):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            now = state.env.get(part.id)
            if now is not None and not _updated_in_place(statement, part.id, now):
                state.env[part.id] = UNKNOWN
                if isinstance(now, View):
                    state.operation("forget", statement, (now,))
    return before


def _updated_in_place(statement: ast.stmt, name: str, now: Value) -> bool:
    """A tensor that the loop changes only by ``name += tile`` stays that tensor."""
    if isinstance(now, Many):
        return True
    if not isinstance(now, View):
        return False
    stores = [
        part
        for part in ast.walk(statement)
        if isinstance(part, ast.Assign | ast.AnnAssign | ast.For)
        and any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
            for target in (part.targets if isinstance(part, ast.Assign) else [part.target])
            for n in ast.walk(target)
        )
    ]
    return not stores


def _leave_loop(state: State, before: dict[str, Value], loop: Loop) -> None:
    """After the loop: what did not change, and tensors; numbers may be of any iteration."""
    for name, value in list(state.env.items()):
        if name in before and before[name] is value:
            continue
        if isinstance(value, Affine):
            gone = loop.symbol is None or loop.symbol in value.symbols or name in before
            state.env[name] = UNKNOWN if gone else value
        elif name in before and not isinstance(value, Many | Literal):
            state.env[name] = UNKNOWN
            if isinstance(value, View):
                state.operation("forget", loop.node, (value,))
