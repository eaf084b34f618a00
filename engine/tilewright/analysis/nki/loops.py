"""Loops of an NKI kernel: their index, trip count, and what their bodies change."""

import ast
from collections.abc import Callable, Iterable

import tilewright.analysis.nki.expressions as ex
from tilewright.analysis.nki.affine import ZERO, Affine, Symbol, SymbolKind, quotient
from tilewright.analysis.nki.assigning import assign
from tilewright.analysis.nki.calls import used
from tilewright.analysis.nki.evaluate import value_of
from tilewright.analysis.nki.model import LOOPS, Loop, LoopKind, View
from tilewright.analysis.nki.state import UNKNOWN, Literal, Many, State, Value

Run = Callable[[State, Iterable[ast.stmt]], None]


def run_for(state: State, statement: ast.For, run: Run) -> None:
    """A ``for`` loop: its body once, for any iteration."""
    loop = _loop(state, statement)
    around = state.loops
    before = _forget(state, statement)
    state.loops = (*around, loop)
    if isinstance(statement.target, ast.Name) and loop.symbol is not None:
        state.env[statement.target.id] = _index(state, statement, loop)
    else:
        assign(state, statement.target, UNKNOWN, statement)
    run(state, statement.body)
    state.loops = around
    _after(state, before, loop)
    run(state, statement.orelse)


def _loop(state: State, statement: ast.For) -> Loop:
    number = state.tick()
    call = statement.iter
    dotted = state.names.resolve(call.func) if isinstance(call, ast.Call) else None
    kind = LOOPS.get(dotted or "")
    if kind is None or not isinstance(call, ast.Call):
        value_of(state, call)
        made = Loop(LoopKind.OTHER, None, None, statement, number)
    else:
        trip = _trip(state, call)
        name = statement.target.id if isinstance(statement.target, ast.Name) else "index"
        symbol = Symbol(("loop", number, id(statement)), SymbolKind.LOOP, name, trip)
        made = Loop(kind, symbol, trip, statement, number)
    state.all_loops.append(made)
    return made


def _bounds(state: State, call: ast.Call) -> tuple[Affine, Affine, int] | None:
    ends = [ex.as_integer(value_of(state, argument)) for argument in call.args]
    if not 1 <= len(ends) <= 3 or call.keywords or any(end is None for end in ends):
        return None
    known = [end for end in ends if end is not None]
    start, stop = (ZERO, known[0]) if len(known) == 1 else (known[0], known[1])
    step = known[2].number if len(known) == 3 else 1
    return None if not step else (start, stop, step)


def _trip(state: State, call: ast.Call) -> Affine | None:
    bounds = _bounds(state, call)
    if bounds is None:
        return None
    start, stop, step = bounds
    distance = stop - start if step > 0 else start - stop
    return quotient(distance, Affine.of(abs(step)), up=True).substitute(state.known)


def _index(state: State, statement: ast.For, loop: Loop) -> Value:
    assert loop.symbol is not None
    assert isinstance(statement.iter, ast.Call)
    bounds = _bounds(state, statement.iter)
    if bounds is None:
        return Affine.of(loop.symbol)
    start, _, step = bounds
    return start + Affine.of(loop.symbol) * Affine.of(step)


def run_while(state: State, statement: ast.While, run: Run) -> None:
    """A ``while`` loop: its body once."""
    loop = Loop(LoopKind.OTHER, None, None, statement, state.tick())
    state.all_loops.append(loop)
    before = _forget(state, statement)
    value_of(state, statement.test)
    around, state.loops = state.loops, (*state.loops, loop)
    run(state, statement.body)
    state.loops = around
    _after(state, before, loop)


def _forget(state: State, statement: ast.For | ast.While) -> dict[str, Value]:
    """What a loop assigns has another value in its second iteration."""
    before = dict(state.env)
    for part in ast.walk(statement):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            now = state.env.get(part.id)
            if now is not None and not _updated_in_place(statement, part.id, now):
                state.env[part.id] = UNKNOWN
                if isinstance(now, View):
                    state.operations.append(used(state, "forget", statement, (now,)))
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


def _after(state: State, before: dict[str, Value], loop: Loop) -> None:
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
                state.operations.append(used(state, "forget", loop.node, (value,)))
