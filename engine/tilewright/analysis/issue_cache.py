"""What was found in kernels before: an edit re-analyses the kernel it touches and no other."""

import ast
import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from tilewright.analysis.flow import pure_helpers
from tilewright.analysis.model import AnalysisContext, Issue, Related
from tilewright.analysis.nodes import nodes_of
from tilewright.analysis.per_kernel import kept_by
from tilewright.lru import LruDict
from tilewright.source.model import Kernel, Module
from tilewright.source.text import Range

_KEPT = 1024
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
)
_GLOBAL = "global "
_QUOTED = re.compile(r"[\"'](\w+)[\"']")
_Anchor = tuple[str, int]
_IN_WORDS = re.compile(r"\bline \d")
_BEFORE_ALL: _Anchor = ("", -1)


@dataclass(frozen=True)
class Layout:
    """Where a file's top-level statements begin, decorators included.

    A kernel is known by its name, any other statement by its number among those that are no
    kernels: one that comes or goes moves none of the others.
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
            name = kernels.get(id(node), "")
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

    def _anchor(self, where: Range) -> _Anchor:
        place = bisect_right(self.starts, where.line) - 1
        return self.anchors[place] if place >= 0 else _BEFORE_ALL

    def _moved(self, where: Range, to: "Layout") -> Range:
        anchor = self._anchor(where)
        by = to.lines[anchor] - self.lines[anchor]
        return Range(where.line + by, where.column, where.end_line + by, where.end_column)


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
    these call and those they call; every statement that is no kernel; which kernels call others;
    the few phrases that are looked for everywhere; and the context. Which lines they stand on
    does not matter.
    """

    def __init__(self, module: Module, context: AnalysisContext) -> None:
        self.layout = Layout.of(module)
        self._module = module
        self._texts: dict[str, str] = {}
        for kernel in module.kernels:
            self._texts[kernel.name] = self._texts.get(kernel.name, "") + kernel.text
        self._calls = _calls(module)
        self._common = self._hash_common(module, context)

    def of(self, kernel: Kernel) -> str:
        """The identity of all that one kernel's issues depend on."""
        names = _reached([kernel.name], self._calls)
        return self._identity(self.layout.place_of(kernel.range), names, kernel.text)

    def of_host(self, function: str) -> str:
        """The identity of all that one host function's issues depend on."""
        where = self._module.index.range_of(self._module.host_functions[function])
        launched = [n.kernel for n in self._module.lookup.launches_in.get(function, ())]
        names = _reached(launched, self._calls)
        return self._identity(self.layout.place_of(where), names, f"def {function}")

    def _identity(self, place: object, kernels: Iterable[str], subject: str) -> str:
        texts = (f"{name}:{self._texts.get(name, '')}" for name in sorted(kernels))
        return _digest("\0".join((self._common, repr(place), subject, *texts)))

    def _hash_common(self, module: Module, context: AnalysisContext) -> str:
        kernels = {id(kernel.node) for kernel in module.kernels}
        parts = [module.path, repr(context), repr(sorted(module.names.origins.items()))]
        said = [*(_said(k.text) for k in module.kernels), _said(self._between_statements())]
        parts.append(repr((sorted(frozenset().union(*said)), bool(module.problems))))
        if not kernels <= {id(statement) for statement in module.tree.body}:
            # A kernel inside a function sees names that are bound anywhere.
            parts += self._texts.values()
        called = self._called()
        parts.append(repr(sorted(pure_helpers(module) & called if called else ())))
        parts.append(repr(sorted((name, sorted(to)) for name, to in self._calls.items() if to)))
        for statement, first in zip(module.tree.body, self.layout.starts, strict=True):
            if id(statement) not in kernels:
                last = statement.end_lineno or statement.lineno
                parts.append("\n".join(module.index.lines[first - 1 : last]))
        return _digest("\0".join(parts))

    def _between_statements(self) -> str:
        """Comments, and what does not parse."""
        lines, found, last = self._module.index.lines, list[str](), 0
        for statement, first in zip(self._module.tree.body, self.layout.starts, strict=True):
            found += lines[last : first - 1]
            last = statement.end_lineno or statement.lineno
        return "\n".join((*found, *lines[last:]))

    def _called(self) -> frozenset[str]:
        return frozenset().union(*self._calls.values())


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


@lru_cache(maxsize=1024)
def _said(text: str) -> frozenset[str]:
    """What a kernel says that detectors look for in the whole file."""
    said = {f"{match[1]}" for match in _QUOTED.finditer(text)}
    said.update(phrase for phrase in _PHRASES if phrase in text)
    if _GLOBAL in text:
        said.update(line for line in text.split("\n") if _GLOBAL in line)
    return frozenset(said)


def _reached(names: Iterable[str], calls: Mapping[str, frozenset[str]]) -> set[str]:
    """Kernels, and those they name, and so on."""
    found = set(names)
    pending = list(found)
    while pending:
        new = calls.get(pending.pop(), frozenset()) - found
        found |= new
        pending.extend(new)
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
