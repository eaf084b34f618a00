"""Kernels, launches and host functions of a file, from its pieces.

What is found in a piece is kept with it, and holds as long as what it hung on is the same.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from tilewright.source.autotuning import AutotuneReader
from tilewright.source.environment import environment_of
from tilewright.source.facts import Function, bindings_of, calls_of, facts_of
from tilewright.source.kernels import Decorators, Jitted, make_kernel, wrapped_names
from tilewright.source.launches import Meanings, Scope, attribute_meanings, meanings
from tilewright.source.model import Kernel, Launch
from tilewright.source.names import Names
from tilewright.source.text import LineIndex
from tilewright.source.tree import Piece


@dataclass(frozen=True)
class _Seen:
    """Kernels of a piece, with all they depend on beside its text and place."""

    names: Names
    wrapped: tuple[object, ...]
    asked: Mapping[str, object]
    jitted: tuple[Jitted, ...]
    kernels: tuple[Kernel, ...]


class Finder:
    """Finds the kernels and launches of one version of a file."""

    def __init__(self, index: LineIndex, pieces: Sequence[Piece], names: Names) -> None:
        facts = [facts_of(piece) for piece in pieces]
        environment = environment_of(
            (touch for part in facts for touch in part.touches),
            (f.node for part in facts for f in part.functions if f.is_top),
        )
        self._index = index
        self._pieces = pieces
        self._environment = environment
        self._decorators = Decorators(names, environment, wrapped_names(environment))
        self._names = names
        self._jitted: list[frozenset[ast.FunctionDef]] = []
        self.hosts: dict[str, ast.FunctionDef] = {}

    def kernels(self) -> tuple[Kernel, ...]:
        found: list[Kernel] = []
        for piece in self._pieces:
            seen = self._seen(piece)
            found.extend(seen.kernels)
            nodes = frozenset(jitted.function.node for jitted in seen.jitted)
            self._jitted.append(nodes)
            for function in facts_of(piece).functions:
                if not _within(function, nodes):
                    self.hosts[function.name] = function.node
        return tuple(found)

    def _seen(self, piece: Piece) -> _Seen:
        functions = facts_of(piece).functions
        wrapped = tuple(self._decorators.wrapped.get(f.node.name) for f in functions if f.is_top)
        seen = piece.memo.get("kernels")
        if isinstance(seen, _Seen) and self._holds(seen, wrapped):
            return seen
        asked: set[str] = set()
        jitted: list[Jitted] = []
        for function in functions:
            inside = frozenset(j.function.node for j in jitted)
            kernel = None if _within(function, inside) else self._decorators.jitted(function)
            asked |= self._decorators.asked(function)
            if kernel is not None:
                jitted.append(kernel)
        reader = AutotuneReader(self._index, self._names, self._environment)
        kernels = [make_kernel(j, self._index, self._decorators, reader) for j in jitted]
        known = {name: self._environment.seen(name) for name in asked | reader.asked}
        seen = _Seen(self._names, wrapped, known, tuple(jitted), tuple(kernels))
        piece.memo["kernels"] = seen
        return seen

    def _holds(self, seen: _Seen, wrapped: tuple[object, ...]) -> bool:
        return (
            seen.names is self._names
            and seen.wrapped == wrapped
            and all(self._environment.seen(name) == known for name, known in seen.asked.items())
        )

    def launches(self, kernels: tuple[Kernel, ...]) -> tuple[Launch, ...]:
        """What launches ``kernels``, in order."""
        scope = self._scope(kernels)
        found: list[Launch] = []
        for piece, jitted in zip(self._pieces, self._jitted, strict=True):
            found.extend(self._launches(piece, jitted, scope))
        return tuple(found)

    def _launches(
        self, piece: Piece, jitted: frozenset[ast.FunctionDef], scope: Scope
    ) -> tuple[Launch, ...]:
        calls = calls_of(piece, jitted)
        if not calls:
            return ()
        known = piece.memo.get("launches")
        if isinstance(known, tuple) and known[0] == scope.identity and known[1] is calls:
            launches: tuple[Launch, ...] = known[2]
            return launches
        local: dict[Function | None, Meanings] = {None: {}}
        made: list[Launch] = []
        for call in calls:
            if call.function is not None and call.function not in local:
                local[call.function] = _inner_meanings(piece, call.function, scope.top)
            made.extend(scope.launches(call, local[call.function], self._index))
        piece.memo["launches"] = (scope.identity, calls, tuple(made))
        return tuple(made)

    def _scope(self, kernels: tuple[Kernel, ...]) -> Scope:
        by_name = {kernel.name: kernel for kernel in reversed(kernels)}
        own = {name: frozenset((name,)) for name in by_name}
        own.update({a: own[k.name] for k in by_name.values() for a in k.aliases})
        constants = self._environment.constants
        bound = {name: (value,) for name, value in constants.items() if name not in own}
        top = {**own, **meanings(bound, own)}
        attributes = chain.from_iterable(facts_of(piece).attributes for piece in self._pieces)
        tables = {n: v for n, v in constants.items() if isinstance(v, ast.Dict)}
        return Scope(by_name, self._names, top, attribute_meanings(attributes, top), tables)


def _within(function: Function, kernels: frozenset[ast.FunctionDef]) -> bool:
    """Whether a function is a kernel or stands in one."""
    outer: Function | None = function
    while outer is not None:
        if outer.node in kernels:
            return True
        outer = outer.outer
    return False


def _inner_meanings(piece: Piece, function: Function, top: Meanings) -> Meanings:
    """What names stand for in a function, with those of the functions around it."""
    around = {} if function.outer is None else _inner_meanings(piece, function.outer, top)
    return {**around, **meanings(bindings_of(piece, function), {**top, **around})}
