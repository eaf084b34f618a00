"""Which statements of a file that are no kernels have to do with which kernels, by name."""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress

from tilewright.analysis.wide_offsets import WIDE_ANNOTATION, WIDENED_IDS
from tilewright.python_syntax import descendants
from tilewright.source.node_memo import per_node

UNITS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FILES = 16
ON_DOUBLES = (
    *("torch.float64", "torch.double", "complex128", "FP64", "in float64"),
    *("double precision", "double-precision", "Double precision"),
)
"""Phrases of a file whose data is fp64, or that computes in fp64 on purpose."""
INTERPRETERS = ("triton_viz", "TRITON_INTERPRET")
"""A file that names one may run its kernels in Python."""
# Detectors ask whether a file says these anywhere, or a name in quotes.
_PHRASES = (
    *("globals()", "exec(", "sys.modules[", "import *", "pre_hook", "pre_run_hook", "post_hook"),
    *("float64", "double", "int8", "ALLOW_NON_CONSTEXPR_GLOBALS", "triton.__version__"),
    *INTERPRETERS,
    *WIDENED_IDS,
    *ON_DOUBLES,
    WIDE_ANNOTATION,
)
_GLOBAL = "global "
_LINES = (_GLOBAL, "Config(")
"""What counts with the rest of its line: the names that are bound, or set."""
_BITS = bytes.maketrans(b"01", b"\0\1")
_QUOTED = re.compile(r"[\"'](\w+)[\"']")
_WORD = re.compile(r"[^\W\d]\w*")
_CLASS = re.compile(r"\bclass\s+(\w+)")


def digest(text: str) -> str:
    """The identity of a text."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


@dataclass(frozen=True)
class Said:
    """What a text says that detectors look for in the whole file."""

    phrases: frozenset[str]
    quoted: frozenset[str]


@lru_cache(maxsize=1024)
def said_in(text: str) -> Said:
    """The phrases of a text, and the names that it puts in quotes."""
    phrases = {phrase for phrase in _PHRASES if phrase in text}
    for phrase in _LINES:
        if phrase in text:
            phrases.update(line for line in text.split("\n") if phrase in line)
    return Said(frozenset(phrases), frozenset(_QUOTED.findall(text)))


@lru_cache(maxsize=1024)
def words_in(text: str) -> frozenset[str]:
    """Every name in a text, strings and comments included."""
    return frozenset(_WORD.findall(text))


@dataclass(frozen=True, eq=False)
class Unit:
    """A statement at module level that is no kernel.

    Attributes:
        name: of a function or class; "" for others.
        defines: its name and those of the classes in it; the names that another statement binds.
        words: every name in its text, strings and comments included.
        said: see ``said_in``.
    """

    name: str
    is_decorated: bool
    defines: frozenset[str]
    words: frozenset[str]
    said: Said
    digest: str
    _among: list[tuple[frozenset[str], frozenset[str]]] = field(default_factory=list, repr=False)

    @property
    def may_bind_elsewhere(self) -> bool:
        """Whether it may bind names of the whole file from within a function."""
        return any(_GLOBAL in phrase for phrase in self.said.phrases)

    def mentions(self, names: frozenset[str]) -> frozenset[str]:
        """Which of some names are in its text; the last answer is kept by the set itself."""
        known = self._among[-1] if self._among else None
        if known is None or known[0] is not names:
            known = names, self.words & names
            self._among[:] = [known]
        return known[1]


@lru_cache(maxsize=1024)
def definition(text: str, name: str, is_decorated: bool) -> Unit:
    """The unit of a function or class with this text."""
    defines = frozenset((name, *_CLASS.findall(text)))
    return Unit(name, is_decorated, defines, words_in(text), said_in(text), digest(text))


@lru_cache(maxsize=1024)
def other_unit(text: str, defines: frozenset[str]) -> Unit:
    """The unit of any other statement with this text."""
    return Unit("", False, defines, words_in(text), said_in(text), digest(text))


@per_node
def bound_by(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement may bind, at any depth."""
    return frozenset(name for node in descendants(statement) for name in _names_bound_by(node))


def _names_bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.ClassDef(name=name) | ast.ExceptHandler(name=str() as name):
            yield name


class _Reach:
    """Sets of places that lead to each other; a set is a number with one bit for each place."""

    def __init__(self, to: Mapping[int, int]) -> None:
        self._to = to
        self._closed: dict[int, int] = {}

    def from_all(self, places: int) -> int:
        """Some places, those they lead to, and so on."""
        found = 0
        while places:
            found |= self._reachable_from(_lowest(places))
            places &= ~found
        return found

    def _reachable_from(self, place: int) -> int:
        known = self._closed.get(place)
        if known is not None:
            return known
        found = pending = 1 << place
        while pending:
            one = _lowest(pending)
            pending ^= 1 << one
            whole = self._closed.get(one)
            new = (self._to.get(one, 0) if whole is None else whole) & ~found
            found |= new
            # All that a place leads to in the end leads nowhere else.
            pending = pending | new if whole is None else pending & ~whole
        self._closed[place] = found
        return found


def _lowest(places: int) -> int:
    return (places & -places).bit_length() - 1


class _Mentions:
    """Which units mention which others: the same for all versions that mention the same.

    Args:
        rows: of each unit its place, what it defines, and which names of the file it says.
    """

    def __init__(self, rows: tuple[tuple[int, frozenset[str], frozenset[str]], ...]) -> None:
        self.defined: dict[str, int] = {}
        self.naming: dict[str, int] = {}
        for place, defines, says in rows:
            for name in defines:
                self.defined[name] = self.defined.get(name, 0) | 1 << place
            for name in says:
                self.naming[name] = self.naming.get(name, 0) | 1 << place
        self.names = frozenset(self.defined)
        self.down = _Reach({place: self.that_define(says) for place, _, says in rows})
        self.up = _Reach({place: self.that_name(defines) for place, defines, _ in rows})

    def that_define(self, names: Iterable[str]) -> int:
        """The units that define one of some names."""
        found = 0
        for name in names:
            found |= self.defined.get(name, 0)
        return found

    def that_name(self, names: Iterable[str]) -> int:
        """The units whose text holds one of some names of the file."""
        found = 0
        for name in names:
            found |= self.naming.get(name, 0)
        return found


_mentions = lru_cache(maxsize=_FILES)(_Mentions)


@lru_cache(maxsize=_FILES)
def _same(names: frozenset[str]) -> frozenset[str]:
    """The one object for equal sets."""
    return names


class HostCode:
    """The statements of a file that are no kernels, and which mention which others by name.

    What a kernel reads of the module level is what it names: whether a name is bound, how often,
    and to what all follows from the statements that bind it. Made by ``host_code``.
    """

    def __init__(self, units: tuple[tuple[int, Unit], ...], kernels: frozenset[str]) -> None:
        self._units = dict(units)
        defined = (unit.defines for _, unit in units)
        names = _same(kernels.union(*defined))
        self._mentions = _mentions(tuple((p, u.defines, u.mentions(names)) for p, u in units))
        self._statements = sum(1 << place for place, unit in units if not unit.name)
        self._digests: dict[int, str] = {}
        last = max(self._units, default=-1)
        self._each = [
            self._units[place].digest if place in self._units else "" for place in range(last + 1)
        ]

    def changed_since(self, before: "HostCode") -> int | None:
        """The units with another text, one bit each; None where they mention others than before."""
        if self._mentions is not before._mentions:
            return None
        pairs = zip(self._units.items(), before._units.values(), strict=True)
        return sum(1 << place for (place, now), then in pairs if now.digest != then.digest)

    def reached(self, kernels: Iterable[str], words: frozenset[str], own: Iterable[int]) -> int:
        """The units that some kernels may depend on, one bit each.

        That are the units that name them, those that mention these, and so on; and what all of
        these and the kernels mention, and so on.

        Args:
            kernels: their names.
            words: every name in their texts.
            own: places of units that count as well.
        """
        all_units = self._mentions
        above = all_units.that_name(kernels)
        for place in own:
            above |= 1 << place if place in self._units else 0
        below = all_units.that_define(words & all_units.names)
        return all_units.down.from_all(all_units.up.from_all(above) | below)

    def making(self, kernels: Iterable[str], words: frozenset[str]) -> int:
        """The units that say what the names in some kernels stand for, one bit each.

        That are those that define one of these names or are a statement that names a kernel, as
        ``fast = triton.jit(slow)`` does; and what these mention, and so on. A function that
        launches a kernel is none of them.
        """
        all_units = self._mentions
        naming = all_units.that_name(kernels) & self._statements
        return all_units.down.from_all(naming | all_units.that_define(words & all_units.names))

    def identity(self, reached: int) -> str:
        """The identity of some units."""
        found = self._digests.get(reached)
        if found is None:
            # One byte for each place, 0 or 1, the first place first.
            chosen = f"{reached:b}"[::-1].encode().translate(_BITS)
            found = self._digests[reached] = digest(" ".join(compress(self._each, chosen)))
        return found


host_code = lru_cache(maxsize=_FILES)(HostCode)
"""The host code of some units by place, and the names of the kernels; made once for the same."""
