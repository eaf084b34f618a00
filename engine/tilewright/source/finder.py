"""Kernels, launches and host functions of a file, from its pieces.

What is found in a piece is kept with it. It holds in a later version of the file if there is the
same around its kernels; code that shares pieces between versions compares ``Finder.around``.
"""

import ast
from collections.abc import Sequence
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
    """The kernels of a piece, and the functions they are."""

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
        seen = piece.memo.get("kernels")
        if isinstance(seen, _Seen):
            return seen
        jitted: list[Jitted] = []
        for function in facts_of(piece).functions:
            inside = frozenset(j.function.node for j in jitted)
            kernel = None if _within(function, inside) else self._decorators.jitted(function)
            if kernel is not None:
                jitted.append(kernel)
        reader = AutotuneReader(self._index, self._names, self._environment)
        kernels = [make_kernel(j, self._index, self._decorators, reader) for j in jitted]
        seen = _Seen(tuple(jitted), tuple(kernels))
        piece.memo["kernels"] = seen
        return seen

    def around(self) -> tuple[str, ...]:
        """The text of the file but for the bodies of its kernels at module level, and blanks."""
        return tuple(self._around(piece) for piece in self._pieces if piece.body)

    def _around(self, piece: Piece) -> str:
        seen = self._seen(piece)
        text = "\n".join(piece.texts).rstrip()
        if len(seen.jitted) != 1 or piece.body != (seen.jitted[0].function.node,):
            return text
        header = seen.jitted[0].function.node.body[0].lineno - piece.first
        return "\n".join(text.split("\n")[:header]) if header > 1 else text

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
        if isinstance(known, tuple):
            return known
        local: dict[Function | None, Meanings] = {None: {}}
        made: list[Launch] = []
        for call in calls:
            if call.function is not None and call.function not in local:
                local[call.function] = _inner_meanings(piece, call.function, scope.top)
            made.extend(scope.launches(call, local[call.function], self._index))
        piece.memo["launches"] = tuple(made)
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
