"""Kernels, launches and host functions of a file, from its pieces.

What is found in a piece is kept with it. It holds in later versions of the file of the same era:
those with the same around their kernels. Code that shares pieces between versions compares
``Finder.surrounding_texts``.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Any, cast

from tilewright.source.autotuning import AutotuneReader
from tilewright.source.environment import environment_of
from tilewright.source.facts import Bindings, Call, Facts, Function, bindings_of, calls_of, facts_of
from tilewright.source.kernels import Decorators, Jitted, make_kernel, moved_kernel, wrapped_names
from tilewright.source.late_launch import LATE, late_launch
from tilewright.source.model import Kernel, Language, Launch
from tilewright.source.names import Names
from tilewright.source.text import LineIndex
from tilewright.source.tree import Piece

_WRAPPERS = frozenset(
    ("torch.library.wrap_triton", "torch._library.capture_triton", "torch.library.capture_triton")
)
_OF_RUN = frozenset(("grid", "warmup"))
_WORD = re.compile(r"[^\W\d]\w*")
Meanings = Mapping[str, frozenset[str]]
"""Names of a scope with the kernels each may stand for; other names hide a kernel of theirs."""


@dataclass(frozen=True)
class Scope:
    """What names stand for at module level and, by ``Class.attribute``, on instances."""

    kernels: Mapping[str, Kernel]
    names: Names
    top: Meanings = field(default_factory=dict)
    attributes: Meanings = field(default_factory=dict)
    tables: Mapping[str, ast.Dict] = field(default_factory=dict)
    redefined: frozenset[str] = frozenset()
    """Kernels that are defined more than once, e.g. for each version of Triton."""

    def launches(self, call: Call, local: Meanings, index: LineIndex) -> Iterator[Launch]:
        """The launches that a call may be, one for each kernel."""
        target, grid, is_warmup = _parts(call.node)
        if target is None:
            return
        found = sorted(self._meanings_of(target, local, call.function))
        for name in found:
            kernel = self.kernels[name]
            launch = _launch(call, kernel, grid, index)
            if launch is not None:
                is_certain = len(found) == 1 and name not in self.redefined
                yield replace(launch, is_warmup=is_warmup, is_certain=is_certain)

    def _meanings_of(
        self, node: ast.expr, local: Meanings, function: Function | None
    ) -> frozenset[str]:
        match node:
            case ast.Name(id=name):
                return local.get(name, self.top.get(name, frozenset()))
            case ast.Call(args=[inner]) if self.names.resolve(node.func) in _WRAPPERS:
                return self._meanings_of(inner, local, function)
            case ast.IfExp():
                body = self._meanings_of(node.body, local, function)
                return body | self._meanings_of(node.orelse, local, function)
            case ast.Subscript(value=ast.Name(id=name), slice=key) if name in self.tables:
                return self._of_table(self.tables[name], key, local, function)
            case ast.Attribute(value=owner, attr=attr):
                return self._of_attribute(owner, attr, function)
        return frozenset()

    def _of_table(
        self, table: ast.Dict, key: ast.expr, local: Meanings, function: Function | None
    ) -> frozenset[str]:
        wanted = ast.dump(key) if isinstance(key, ast.Constant) else None
        values = [
            value
            for name, value in zip(table.keys, table.values, strict=True)
            if wanted is None or (name is not None and ast.dump(name) == wanted)
        ]
        return frozenset[str]().union(*(self._meanings_of(v, local, function) for v in values))

    def _of_attribute(
        self, owner: ast.expr, attr: str, function: Function | None
    ) -> frozenset[str]:
        if isinstance(owner, ast.Name) and owner.id in ("self", "cls") and function is not None:
            given = self.attributes.get(f"{function.in_class}.{attr}")
            if given is not None:
                return given
        if isinstance(owner, ast.Name) and owner.id in self.names.origins:
            return frozenset()  # Another module's, whatever its name.
        return frozenset((attr,)) if attr in self.kernels else frozenset()


def _parts(call: ast.Call) -> tuple[ast.expr | None, ast.expr | None, bool]:
    """The launched expression, the grid if it is stated, and whether it only compiles."""
    if isinstance(call.func, ast.Subscript):
        return call.func.value, call.func.slice, False
    grid = next((k.value for k in call.keywords if k.arg == "grid"), None)
    if isinstance(call.func, ast.Attribute) and grid is not None:
        return call.func.value, grid, call.func.attr == "warmup"
    return None, None, False


def _launch(call: Call, kernel: Kernel, grid: ast.expr | None, index: LineIndex) -> Launch | None:
    node = call.node
    if grid is None:
        return None
    arguments: dict[str, ast.expr] = {}
    options: dict[str, ast.expr] = {}
    complete = True
    for position, argument in enumerate(node.args):
        if isinstance(argument, ast.Starred) or position >= len(kernel.parameters):
            complete = False
            break
        arguments[kernel.parameters[position].name] = argument
    by_method = isinstance(node.func, ast.Attribute)
    for keyword in node.keywords:
        if keyword.arg is None:
            complete = False
        elif by_method and keyword.arg in _OF_RUN:
            continue
        elif kernel.parameter(keyword.arg) is not None:
            arguments[keyword.arg] = keyword.value
        else:
            options[keyword.arg] = keyword.value
    return Launch(
        kernel=kernel.name,
        range=index.range_of(node),
        grid=grid,
        arguments=arguments,
        options=options,
        host_function=None if call.function is None else call.function.name,
        is_complete=complete,
        node=node,
    )


@dataclass(frozen=True)
class _Place:
    """Where a launch stands: by the number of its call in a piece."""

    piece: Piece
    jitted: frozenset[ast.FunctionDef]
    call: int
    kernel: Kernel
    index: LineIndex

    def parts(self) -> Mapping[str, Any]:
        """The fields of the launch."""
        call = calls_of(self.piece, self.jitted)[self.call]
        launch = _launch(call, self.kernel, _parts(call.node)[1], self.index)
        found = {} if launch is None else launch.__dict__
        return {name: found[name] for name in found.keys() & LATE}


def meanings(bindings: Bindings, known: Meanings) -> Meanings:
    """What the names of a scope stand for, ``known`` being those of the scope around it.

    A name that is also given something else stands for nothing known.
    """
    found: dict[str, frozenset[str]] = {}
    for name, values in bindings.items():
        parts = [_stands_for(value, known) for value in values]
        if all(parts):
            found[name] = frozenset[str]().union(*parts)
        elif name in known:
            found[name] = frozenset()
    return found


def attribute_meanings(
    attributes: Iterable[tuple[str, ast.expr]], known: Meanings
) -> dict[str, frozenset[str]]:
    """``self.kernel = kernel`` and ``kernel = kernel`` in a class, by ``Class.attribute``."""
    found: dict[str, frozenset[str]] = {}
    for name, value in attributes:
        meant = _stands_for(value, known)
        if meant:
            found[name] = found.get(name, frozenset()) | meant
    return found


def _stands_for(value: ast.expr | None, known: Meanings) -> frozenset[str]:
    if isinstance(value, ast.Name):
        return known.get(value.id, frozenset())
    if isinstance(value, ast.IfExp):
        one, two = _stands_for(value.body, known), _stands_for(value.orelse, known)
        return one | two if one and two else frozenset()
    return frozenset()


@dataclass(frozen=True)
class _Seen:
    """The kernels of a piece, the functions they are, and all other host functions there.

    ``around`` is the text of the piece but for the body of a kernel or a plain function at module
    level, and blanks; ``function`` is the name of that plain function.
    """

    era: object
    jitted: frozenset[ast.FunctionDef]
    kernels: tuple[Kernel, ...]
    hosts: tuple[Function, ...]
    around: str
    function: str | None


@dataclass(frozen=True)
class _Movable:
    """The kernels of a piece that began in line ``first``, and which of its functions they are."""

    era: object
    first: int
    kernels: tuple[Kernel, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class _Launching:
    """The launches of a piece that began in line ``first``, and the numbers of their calls."""

    era: object
    first: int
    launches: tuple[Launch, ...]
    calls: tuple[int, ...]


class Finder:
    """Finds the kernels and launches of one version of a file.

    Args:
        facts: those of each piece.
        era: what is kept with a piece is taken if it was found in the same.
    """

    def __init__(
        self,
        index: LineIndex,
        pieces: Sequence[Piece],
        facts: Sequence[Facts],
        names: Names,
        era: object,
    ) -> None:
        environment = environment_of(
            (touch for part in facts for touch in part.touches),
            (f.node for part in facts for f in part.functions if f.is_top),
        )
        self._index = index
        self._pieces = pieces
        self._facts = facts
        self._environment = environment
        self._decorators = Decorators(names, environment, wrapped_names(environment))
        self._names = names
        self._era = era
        self._seen = [self._see(piece) for piece in pieces]

    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(kernel for seen in self._seen for kernel in seen.kernels)

    def hosts(self) -> dict[str, ast.FunctionDef]:
        """The functions that are no kernels, by qualified name."""
        return {function.name: function.node for seen in self._seen for function in seen.hosts}

    def _see(self, piece: Piece) -> _Seen:
        seen = piece.memo.get("kernels")
        if isinstance(seen, _Seen) and seen.era is self._era:
            return seen
        found = self._see_again(piece) or self._see_first(piece)
        piece.memo["kernels"] = found
        known = piece.moves.get("kernels")
        if found.kernels or not isinstance(known, _Movable) or known.era is not self._era:
            places = {f.node: place for place, f in enumerate(facts_of(piece).functions)}
            numbers = tuple(places[kernel.node] for kernel in found.kernels)
            piece.moves["kernels"] = _Movable(self._era, piece.first, found.kernels, numbers)
        return found

    def _see_again(self, piece: Piece) -> _Seen | None:
        """What was seen in the same text on other lines."""
        known = piece.moves.get("kernels")
        if not isinstance(known, _Movable) or known.era is not self._era:
            return None
        functions, lines = facts_of(piece).functions, piece.first - known.first
        kernels = []
        for kernel, number in zip(known.kernels, known.numbers, strict=True):
            moved = moved_kernel(kernel, functions[number].node, lines)
            if moved is None:
                return None
            kernels.append(moved)
        return self._new_entry(piece, frozenset(kernel.node for kernel in kernels), kernels)

    def _see_first(self, piece: Piece) -> _Seen:
        jitted: list[Jitted] = []
        functions = facts_of(piece).functions
        for function in functions:
            inside = frozenset(j.function.node for j in jitted)
            kernel = None if _is_in_kernel(function, inside) else self._decorators.jitted(function)
            if kernel is not None:
                jitted.append(kernel)
        reader = AutotuneReader(self._index, self._names, self._environment)
        kernels = [make_kernel(j, self._index, self._decorators, reader) for j in jitted]
        return self._new_entry(piece, frozenset(j.function.node for j in jitted), kernels)

    def _new_entry(
        self, piece: Piece, nodes: frozenset[ast.FunctionDef], kernels: Sequence[Kernel]
    ) -> _Seen:
        hosts = facts_of(piece).functions
        if nodes:
            hosts = tuple(function for function in hosts if not _is_in_kernel(function, nodes))
        return _Seen(self._era, nodes, tuple(kernels), hosts, *_outer_text(piece, nodes))

    def languages(self) -> frozenset[Language]:
        """The languages of the kernels."""
        return frozenset(k.language for seen in self._seen for k in seen.kernels)

    def surrounding_texts(self) -> tuple[str, ...]:
        """What kernels, and the launches in other statements, may follow from.

        The text of the file but for the bodies of its kernels at module level, of functions that
        nothing mentions there but classes, not even through others, and blanks. What is kept of
        NKI kernels may depend on all host functions.
        """
        pairs = [(s, p) for s, p in zip(self._seen, self._pieces, strict=True) if p.body]
        functions: dict[str, list[str]] = {}
        for seen, piece in pairs:
            if seen.function is not None:
                functions.setdefault(seen.function, []).append("\n".join(piece.texts).rstrip())
        said = frozenset().union(
            *(_words(s.around, s.function) for s, p in pairs if s.jitted or not _is_class(p))
        )
        used = functions if Language.NKI in self.languages() else _reached(functions, said)
        bodies = (text for name in functions if name in used for text in functions[name])
        return (*(seen.around for seen, _ in pairs), *bodies)

    def launches(self, kernels: tuple[Kernel, ...]) -> tuple[Launch, ...]:
        """What launches ``kernels``, in order."""
        scope = self._scope(kernels)
        found: list[Launch] = []
        for piece, seen in zip(self._pieces, self._seen, strict=True):
            found.extend(self._launches(piece, seen.jitted, scope))
        return tuple(found)

    def _launches(
        self, piece: Piece, jitted: frozenset[ast.FunctionDef], scope: Scope
    ) -> tuple[Launch, ...]:
        known = piece.memo.get("launches")
        if isinstance(known, _Launching) and known.era is self._era:
            return known.launches
        found = self._launched_again(piece, jitted, scope)
        found = found or self._launched_first(piece, jitted, scope)
        piece.memo["launches"] = piece.moves["launches"] = found
        return found.launches

    def _launched_again(
        self, piece: Piece, jitted: frozenset[ast.FunctionDef], scope: Scope
    ) -> _Launching | None:
        """The launches of the same text on other lines."""
        known = piece.moves.get("launches")
        if not isinstance(known, _Launching) or known.era is not self._era:
            return None
        if not known.launches:
            return known
        lines = piece.first - known.first
        launches = []
        for launch, number in zip(known.launches, known.calls, strict=True):
            at = _Place(piece, jitted, number, scope.kernels[launch.kernel], self._index)
            launches.append(late_launch(launch, lines, at.parts))
        return replace(known, first=piece.first, launches=tuple(launches))

    def _launched_first(
        self, piece: Piece, jitted: frozenset[ast.FunctionDef], scope: Scope
    ) -> _Launching:
        local: dict[Function | None, Meanings] = {None: {}}
        made: list[Launch] = []
        numbers: list[int] = []
        for number, call in enumerate(calls_of(piece, jitted)):
            if call.function is not None and call.function not in local:
                local[call.function] = _inner_meanings(piece, call.function, scope.top)
            made.extend(scope.launches(call, local[call.function], self._index))
            numbers += [number] * (len(made) - len(numbers))
        return _Launching(self._era, piece.first, tuple(made), tuple(numbers))

    def _scope(self, kernels: tuple[Kernel, ...]) -> Scope:
        by_name = {kernel.name: kernel for kernel in reversed(kernels)}
        own = {name: frozenset((name,)) for name in by_name.keys() - self._imported(kernels)}
        own.update({a: frozenset((k.name,)) for k in by_name.values() for a in k.aliases})
        constants = self._environment.constants
        bound = {name: (value,) for name, value in constants.items() if name not in own}
        top = {**own, **meanings(bound, own)}
        attributes = chain.from_iterable(part.attributes for part in self._facts)
        tables = {n: v for n, v in constants.items() if isinstance(v, ast.Dict)}
        count = Counter(kernel.name for kernel in kernels)
        redefined = frozenset(name for name, times in count.items() if times > 1)
        attributed = attribute_meanings(attributes, top)
        return Scope(by_name, self._names, top, attributed, tables, redefined)

    def _imported(self, kernels: tuple[Kernel, ...]) -> set[str]:
        """The kernels whose names an import at module level may have taken in the end.

        It stands behind the kernel, or one of the two under a condition that the other is not.
        """
        last = {kernel.name: kernel.node for kernel in kernels}
        return {
            name
            for part in self._facts
            for rank, statement in part.imports
            for alias in (statement.names if rank < 2 else ())
            if (name := alias.asname or alias.name.partition(".")[0]) in last
            and (last[name].col_offset or last[name].lineno < statement.lineno)
        }


def _outer_text(piece: Piece, kernels: frozenset[ast.FunctionDef]) -> tuple[str, str | None]:
    """The text of a piece without the body that no other statement depends on by itself.

    And the name of the plain function whose body that is.
    """
    is_kernel = kernels == frozenset(piece.body)
    if kernels and not is_kernel:
        return "\n".join(piece.texts).rstrip(), None
    known = piece.moves.get((_without_body, is_kernel))
    if known is None:
        known = piece.moves[_without_body, is_kernel] = _without_body(piece, is_kernel=is_kernel)
    return cast("tuple[str, str | None]", known)


def _without_body(piece: Piece, *, is_kernel: bool) -> tuple[str, str | None]:
    text = "\n".join(piece.texts).rstrip()
    only = piece.body[0] if len(piece.body) == 1 else None
    is_movable = isinstance(only, ast.FunctionDef) and (is_kernel or not facts_of(piece).attributes)
    if not isinstance(only, ast.FunctionDef) or not is_movable:
        return text, None
    lines, first = text.split("\n"), only.body[0]
    header = first.lineno - piece.first
    if lines[header][: first.col_offset].strip():  # The body stands on the line of the signature.
        return text, None
    return "\n".join(lines[:header]).rstrip(), None if is_kernel else only.name


def _is_class(piece: Piece) -> bool:
    return all(isinstance(statement, ast.ClassDef) for statement in piece.body)


@lru_cache(maxsize=1024)
def _words(text: str, own: str | None = None) -> frozenset[str]:
    """The names in a text; that of the function it is the head of is left out."""
    return frozenset(_WORD.findall(text)) - {own}


def _reached(functions: Mapping[str, list[str]], said: frozenset[str]) -> set[str]:
    """The functions that some names lead to."""
    found: set[str] = set()
    pending = list(said & functions.keys())
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += frozenset().union(*map(_words, functions[name])) & functions.keys()
    return found


def _is_in_kernel(function: Function, kernels: frozenset[ast.FunctionDef]) -> bool:
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
