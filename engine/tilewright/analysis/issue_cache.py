"""What was found in kernels before: an edit re-analyses the kernel it touches and no other."""

import ast
import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from tilewright.analysis.flow import pure_helpers
from tilewright.analysis.model import AnalysisContext, Issue, Related
from tilewright.analysis.nodes import nodes_of
from tilewright.analysis.per_kernel import kept_by
from tilewright.lru import LruDict
from tilewright.source.model import Kernel, Language, Module
from tilewright.source.text import Range

K = TypeVar("K", int, str)
_KEPT = 1024
_UNITS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Detectors ask whether a file says these anywhere, or a name in quotes.
_PHRASES = (
    *("globals()", "exec(", "sys.modules[", "import *", "pre_hook", "post_hook"),
    *(
        "float64",
        "double",
        "ALLOW_NON_CONSTEXPR_GLOBALS",
        "triton.__version__",
        "torch_",
        "triton.language.extra.",
    ),
    *(f"program_id({axis}).to(tl.int64)" for axis in (0, 1, 2, "axis=0", "axis=1", "axis=2")),
)
_GLOBAL = "global "
_QUOTED = re.compile(r"[\"'](\w+)[\"']")
_Anchor = tuple[str, int]
_IN_WORDS = re.compile(r"\bline \d")
_BEFORE_ALL: _Anchor = ("", -1)


@dataclass(frozen=True)
class Layout:
    """Where a file's top-level statements begin, decorators included.

    A kernel, function, class or assignment is known by its names, any other statement by its
    number among these: one that comes or goes moves none of the others.
    """

    starts: tuple[int, ...]
    anchors: tuple[_Anchor, ...]
    lines: Mapping[_Anchor, int]

    @staticmethod
    def of(module: Module) -> "Layout":
        """The layout of a parsed file."""
        kernels = {id(kernel.node): kernel.name for kernel in module.kernels}
        seen: Counter[str] = Counter()
        starts, anchors = [], []
        for node in module.tree.body:
            name = kernels.get(id(node)) or _definition(node)
            decorators: list[int] = [d.lineno for d in getattr(node, "decorator_list", ())]
            starts.append(min([node.lineno, *decorators]))
            anchors.append((name, seen[name]))
            seen[name] += 1
        lines = {_BEFORE_ALL: 0, **dict(zip(anchors, starts, strict=True))}
        return Layout(tuple(starts), tuple(anchors), lines)

    def place_of(self, where: Range) -> tuple[_Anchor, int, int]:
        """The statement a range begins in, and its first line and column from there."""
        anchor = self._anchor(where)
        return anchor, where.line - self.lines[anchor], where.column

    def moved(self, issue: Issue, to: "Layout") -> Issue | None:
        """An issue of a file of this layout, where it is in one of another.

        None if it names a place in a statement that is not there, or says a line's number.
        """
        if self.starts == to.starts and self.anchors == to.anchors:
            return issue
        if _says_a_line(issue):
            return None
        places = (issue.range, *(r.range for r in issue.related))
        if not all(self._anchor(place) in to.lines for place in places):
            return None
        related = tuple(Related(r.message, self._moved(r.range, to)) for r in issue.related)
        return replace(issue, range=self._moved(issue.range, to), related=related)

    def statement_at(self, line: int) -> int:
        """The number of the top-level statement that a line belongs to; -1 above all."""
        return bisect_right(self.starts, line) - 1

    def _anchor(self, where: Range) -> _Anchor:
        place = self.statement_at(where.line)
        return self.anchors[place] if place >= 0 else _BEFORE_ALL

    def _moved(self, where: Range, to: "Layout") -> Range:
        anchor = self._anchor(where)
        by = to.lines[anchor] - self.lines[anchor]
        return Range(where.line + by, where.column, where.end_line + by, where.end_column)


def _definition(node: ast.stmt) -> str:
    """What a statement is known by; "" for those that count for the whole file."""
    if isinstance(node, _UNITS):
        return f"def {node.name}"
    return f"set {sorted(_bound_by(node))}" if _is_followed(node) else ""


def _is_followed(node: ast.stmt) -> bool:
    """Whether a statement can matter only to what names it, or what it names."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(isinstance(target, ast.Name) for target in targets)
    return isinstance(node, (*_UNITS, ast.Import, ast.ImportFrom))


def _says_a_line(issue: Issue) -> bool:
    """Whether a line is named in words, where it is not moved along."""
    return _IN_WORDS.search(issue.message) is not None


class IssueCache:
    """The issues of single kernels and host functions, by everything they depend on.

    Safe between threads.
    """

    def __init__(self) -> None:
        self._known: LruDict[str, tuple[Layout, tuple[Issue, ...]]] = LruDict(_KEPT)

    def get(
        self, key: str, layout: Layout, find: Callable[[], Iterable[Issue]]
    ) -> tuple[Issue, ...]:
        """The issues known by a key, moved to where they are now, or found now."""
        known = self._known.get(key)
        if known is not None:
            before, issues = known
            moved = tuple(m for i in issues if (m := before.moved(i, layout)))
            if len(moved) == len(issues):
                return moved
        found = tuple(find())
        self._known.put(key, (layout, found))
        return found


class Surroundings:
    """All that the issues of a file's kernels and host functions depend on.

    That is a kernel's own text, or those of the kernels a host function launches; the helpers
    these call and those they call; the functions and classes of the host code that have to do
    with it (``HostCode.around``); every other statement that is no kernel; which kernels call
    others; the few phrases that are looked for everywhere; and the context. Which lines they
    stand on does not matter.
    """

    def __init__(self, module: Module, context: AnalysisContext) -> None:
        self.layout = Layout.of(module)
        self._module = module
        self._texts: dict[str, str] = {}
        for kernel in module.kernels:
            self._texts[kernel.name] = self._texts.get(kernel.name, "") + kernel.text
        self._calls = _calls(module)
        self._callers = _turned(self._calls)
        self._tops = {id(node): place for place, node in enumerate(module.tree.body)}
        kernels = {id(kernel.node) for kernel in module.kernels}
        self._is_split = kernels <= self._tops.keys() and module.lookup.languages <= _SPLIT
        units, others = self._split(kernels)
        aliases = frozenset(alias for kernel in module.kernels for alias in kernel.aliases)
        self._host = HostCode(units, aliases | self._texts.keys())
        texts = (*(k.text for k in module.kernels), self._between_statements())
        said = [*map(_said, texts), *(unit.said for unit in units.values())]
        self._quoted = frozenset().union(*(each.quoted for each in said))
        self._common = self._hash_common(
            context, others, frozenset().union(*(e.phrases for e in said))
        )

    def of(self, kernel: Kernel) -> str:
        """The identity of all that one kernel's issues depend on."""
        names = _reached([kernel.name], self._calls)
        family = names | _reached([kernel.name], self._callers)
        place = self.layout.place_of(kernel.range)
        return self._identity(place, names, kernel.text, self._around(family))

    def of_host(self, function: str) -> str:
        """The identity of all that one host function's issues depend on."""
        where = self._module.index.range_of(self._module.host_functions[function])
        launched = [n.kernel for n in self._module.lookup.launches_in.get(function, ())]
        names = _reached(launched, self._calls)
        around = self._around(names, self.layout.statement_at(where.line))
        return self._identity(self.layout.place_of(where), names, f"def {function}", around)

    def _around(self, kernels: Iterable[str], *own: int) -> str:
        """The host code that has to do with some kernels, and how it launches them."""
        lookup = self._module.lookup
        words: set[str] = set()
        names: set[str] = set()
        launches: list[object] = []
        units = {*own}
        for name in sorted(kernels):
            names.update((name,), *(kernel.aliases for kernel in lookup.named.get(name, ())))
            words |= _words(self._texts.get(name, ""))
            found = lookup.launches.get(name, ())
            launches += [(name, launch.host_function, launch.is_certain) for launch in found]
            units.update(self.layout.statement_at(launch.range.line) for launch in found)
        around = self._host.around(frozenset(names), frozenset(words), frozenset(units))
        return f"{around}{launches}{sorted(self._quoted & words)}"

    def _identity(self, place: object, kernels: Iterable[str], subject: str, around: str) -> str:
        texts = (f"{name}:{self._texts.get(name, '')}" for name in sorted(kernels))
        return _digest("\0".join((self._common, repr(place), subject, around, *texts)))

    def _split(self, kernels: set[int]) -> tuple[dict[int, "Unit"], list[str]]:
        """The statements that are no kernels; the texts of those that count for all kernels."""
        units: dict[int, Unit] = {}
        others: list[str] = []
        lines = self._module.index.lines
        for place, node in enumerate(self._module.tree.body):
            if id(node) in kernels:
                continue
            text = "\n".join(lines[self.layout.starts[place] - 1 : node.end_lineno])
            if isinstance(node, _UNITS):
                units[place] = _unit(text, node.name, bool(node.decorator_list))
            else:
                units[place] = _other(text, _bound_by(node))
            if not (self._is_split and units[place].is_silent and _is_followed(node)):
                others.append(text)
        return units, others

    def _hash_common(
        self, context: AnalysisContext, others: list[str], phrases: frozenset[str]
    ) -> str:
        module, names = self._module, self._module.names
        parts = [module.path, repr(context), repr(sorted(names.origins.items()))]
        parts += [repr(sorted(names.imports)), repr((sorted(phrases), bool(module.problems)))]
        if not self._is_split:
            # A kernel inside a function sees names that are bound anywhere.
            parts += self._texts.values()
        called = self._called()
        parts.append(repr(sorted(pure_helpers(module) & called if called else ())))
        parts.append(repr(sorted((name, sorted(to)) for name, to in self._calls.items() if to)))
        return _digest("\0".join((*parts, *others)))

    def _between_statements(self) -> str:
        """Comments, and what does not parse."""
        lines, found, last = self._module.index.lines, list[str](), 0
        for statement, first in zip(self._module.tree.body, self.layout.starts, strict=True):
            found += lines[last : first - 1]
            last = statement.end_lineno or statement.lineno
        return "\n".join((*found, *lines[last:]))

    def _called(self) -> frozenset[str]:
        return frozenset().union(*self._calls.values())


_SPLIT = frozenset({Language.TRITON})
"""What NKI kernels depend on in host code is not followed by name."""
_WORD = re.compile(r"[^\W\d]\w*")
_CLASS = re.compile(r"\bclass\s+(\w+)")


@dataclass(frozen=True, eq=False)
class Unit:
    """A statement at module level that is no kernel.

    Attributes:
        name: of a function or class; "" for others.
        defines: its name and those of the classes in it; the names that another statement binds.
        words: every name in its text, strings and comments included.
        said: see ``_said``.
    """

    name: str
    is_decorated: bool
    defines: frozenset[str]
    words: frozenset[str]
    said: "Said"
    digest: str

    @property
    def is_silent(self) -> bool:
        """Whether it holds none of the phrases that count for the whole file."""
        return not self.said.phrases


@lru_cache(maxsize=2048)
def _unit(text: str, name: str, is_decorated: bool) -> Unit:
    defines = frozenset((name, *_CLASS.findall(text)))
    return Unit(name, is_decorated, defines, _words(text), _said(text), _digest(text))


@lru_cache(maxsize=2048)
def _other(text: str, defines: frozenset[str]) -> Unit:
    return Unit("", False, defines, _words(text), _said(text), _digest(text))


@lru_cache(maxsize=2048)
def _bound_by(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement may bind, at any depth."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return frozenset(a.asname or a.name.partition(".")[0] for a in statement.names)
    found = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and _is_target(n)}
    return frozenset(found | {n.name for n in ast.walk(statement) if isinstance(n, _UNITS)})


def _is_target(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


class HostCode:
    """The statements of a file that are no kernels, and which mention which others by name.

    What a kernel reads of the module level is what it names: whether a name is bound, how often,
    and to what all follows from the statements that bind it.

    Args:
        kernels: the names of the file's kernels.
    """

    def __init__(self, units: Mapping[int, Unit], kernels: frozenset[str]) -> None:
        self.units = units
        self._defined: dict[str, list[int]] = {}
        self._naming: dict[str, list[int]] = {}
        for place, unit in units.items():
            for name in unit.defines:
                self._defined.setdefault(name, []).append(place)
            for name in unit.words & kernels:
                self._naming.setdefault(name, []).append(place)
        names = self._defined.keys()
        self._mentions = {p: self._places(u.words & names) for p, u in units.items()}
        self._mentioning = _turned(self._mentions)
        self._known: dict[tuple[frozenset[int], frozenset[int]], str] = {}

    def around(self, kernels: frozenset[str], words: frozenset[str], own: frozenset[int]) -> str:
        """The identity of the host code that some kernels may depend on.

        That are the units that name them, those that mention these, and so on; and what all of
        these and the kernels mention, and so on.

        Args:
            kernels: their names.
            words: every name in their texts.
            own: places of units that count as well.
        """
        naming = (self._naming.get(name, ()) for name in kernels)
        above = frozenset(own & self.units.keys()).union(*naming)
        below = self._places(words & self._defined.keys())
        key = above, below
        if key not in self._known:
            reached = _reached(_reached(above, self._mentioning) | below, self._mentions)
            digests = (self.units[place].digest for place in sorted(reached))
            self._known[key] = _digest(" ".join(digests))
        return self._known[key]

    def _places(self, names: Iterable[str]) -> frozenset[int]:
        return frozenset(place for name in names for place in self._defined[name])


def _calls(module: Module) -> Mapping[str, frozenset[str]]:
    """The file's kernels that each kernel names in its body."""
    known = {kernel.name for kernel in module.kernels}
    calls: dict[str, frozenset[str]] = dict.fromkeys(known, frozenset())
    for kernel in module.kernels:
        calls[kernel.name] |= known & _names_in(kernel)
    return calls


def _text_of(kernel: Kernel) -> str:
    return kernel.text


@kept_by(_text_of, _KEPT)
def _names_in(kernel: Kernel) -> frozenset[str]:
    return frozenset(n.id for n in nodes_of(kernel.node) if isinstance(n, ast.Name))


@dataclass(frozen=True)
class Said:
    """What a text says that detectors look for in the whole file."""

    phrases: frozenset[str]
    quoted: frozenset[str]


@lru_cache(maxsize=4096)
def _said(text: str) -> Said:
    phrases = {phrase for phrase in _PHRASES if phrase in text}
    if _GLOBAL in text:
        phrases.update(line for line in text.split("\n") if _GLOBAL in line)
    return Said(frozenset(phrases), frozenset(_QUOTED.findall(text)))


def _reached(names: Iterable[K], to: Mapping[K, frozenset[K]]) -> set[K]:
    """Some names, those they lead to, and so on."""
    found = set(names)
    pending = list(found)
    while pending:
        new = to.get(pending.pop(), frozenset()) - found
        found |= new
        pending.extend(new)
    return found


def _turned(to: Mapping[K, frozenset[K]]) -> Mapping[K, frozenset[K]]:
    """The same relation, from its ends."""
    found: dict[K, set[K]] = {}
    for name, others in to.items():
        for other in others:
            found.setdefault(other, set()).add(name)
    return {name: frozenset(others) for name, others in found.items()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
