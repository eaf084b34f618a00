"""What was found in kernels before: an edit re-analyses the kernel it touches and no other.

The issues of a kernel, or of a host function, are kept under its *identity*: a digest of all that
they depend on (``Surroundings``), in which neither a line number nor an empty line of a kernel has
a part. They are kept with the statement and the line in it that each place is in (``Layout``), and
moved along with these. Identities are kept too: while everything that counts for the whole file is
the same, that of a kernel follows from its own text and those of the kernels that it calls or that
call it.
"""

import ast
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar, cast

from tilewright.analysis.detectors.correctness.language import is_for_a_fork
from tilewright.analysis.flow import pure_helpers
from tilewright.analysis.host_code import (
    UNITS,
    HostCode,
    Unit,
    bound_by,
    definition,
    digest,
    host_code,
    other_unit,
    said_in,
    words_in,
)
from tilewright.analysis.host_graph.wrappers import calling_functions
from tilewright.analysis.layout import KeptIssue, Layout, is_followed
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import kept_by
from tilewright.analysis.row_factors import widened_factors
from tilewright.analysis.wide_offsets import widening_kernels
from tilewright.lru import LruDict
from tilewright.source.model import Kernel, Language, Module
from tilewright.source.node_memo import text_memo_of

K = TypeVar("K", int, str)
_KEPT = 512
_FILES = 64
_SPLIT = frozenset({Language.TRITON})
"""What NKI kernels depend on in host code is not followed by name."""


@dataclass(frozen=True)
class Found:
    """What a kernel's detectors have found.

    Attributes:
        issues: by the detectors that found them.
        own: the detectors that have read no host code.
        said: the phrases that the file was asked for, and whether it holds them.
    """

    issues: Mapping[str, tuple[Issue, ...]]
    own: frozenset[str]
    said: Mapping[str, bool]


@dataclass(frozen=True)
class _KeptOwn:
    """What the detectors that have read no host code have found."""

    issues: Mapping[str, tuple[KeptIssue, ...]]
    own: frozenset[str]
    said: Mapping[str, bool]


class IssueCache:
    """The issues of single kernels and host functions, by everything they depend on.

    Safe between threads.
    """

    def __init__(self) -> None:
        self._own: LruDict[str, _KeptOwn] = LruDict(_KEPT)
        self._known: LruDict[str, tuple[KeptIssue, ...]] = LruDict(_KEPT)
        self._identities: LruDict[str, Identities] = LruDict(_FILES)

    def surroundings(self, module: Module, context: AnalysisContext) -> "Surroundings":
        """The surroundings of a file's kernels, given those of its last version."""
        found = Surroundings(module, context, self._identities.get(module.path))
        self._identities.put(module.path, found.identities)
        return found

    def get(self, key: str, layout: Layout) -> tuple[Issue, ...] | None:
        """The issues known by a key, moved to where they are now; None where they are unknown."""
        known = self._known.get(key)
        if known is None:
            return None
        moved = tuple(m for kept in known if (m := kept.moved(layout)) is not None)
        return moved if len(moved) == len(known) else None

    def own(self, key: str, module: Module, layout: Layout) -> Mapping[str, tuple[Issue, ...]]:
        """What the detectors that read no host code find in a kernel, as far as it is known."""
        kept = self._own.get(key)
        if kept is None or any(module.lookup.says(p) is not said for p, said in kept.said.items()):
            return {}
        found: dict[str, tuple[Issue, ...]] = dict.fromkeys(kept.own, ())
        for issue_id, issues in kept.issues.items():
            moved = tuple(m for issue in issues if (m := issue.moved(layout)) is not None)
            if len(moved) == len(issues):
                found[issue_id] = moved
            else:
                del found[issue_id]
        return found

    def keep_own(self, key: str, layout: Layout, found: Found) -> None:
        """Keep what the detectors that read no host code have found."""
        issues = {
            issue_id: tuple(KeptIssue.from_issue(issue, layout) for issue in issues)
            for issue_id, issues in found.issues.items()
            if issue_id in found.own
        }
        self._own.put(key, _KeptOwn(issues, found.own, found.said))

    def keep(self, key: str, layout: Layout, found: Iterable[Issue]) -> None:
        """Keep issues that were found in a file of this layout."""
        self._known.put(key, tuple(KeptIssue.from_issue(issue, layout) for issue in found))


@dataclass
class Identities:
    """The identities that were asked for in one version of a file, by what they follow from.

    Attributes:
        around: what counts for all of them.
        host: of which some units count for each: those of its bits.
    """

    around: Hashable
    host: HostCode
    known: dict[Hashable, tuple[str, int]] = field(default_factory=dict)


class Surroundings:
    """All that the issues of a file's kernels and host functions depend on.

    That is a kernel's own text, or those of the kernels a host function launches; the helpers
    these call and those they call; the functions and classes of the host code that have to do
    with it (``HostCode.reached``); every other statement that is no kernel; which kernels call
    others; the few phrases that are looked for everywhere; and the context. Which lines they are on
    does not matter, nor do empty lines in kernels.

    Args:
        before: the identities of the last version of the file.
    """

    def __init__(
        self, module: Module, context: AnalysisContext, before: Identities | None = None
    ) -> None:
        self.layout = Layout.from_module(module)
        self._module = module
        self._tops = {id(node): place for place, node in enumerate(module.tree.body)}
        kernels = {id(kernel.node) for kernel in module.kernels}
        self._is_split = kernels <= self._tops.keys() and module.lookup.languages <= _SPLIT
        self._texts: dict[str, str] = {}
        for kernel in module.kernels:
            self._texts[kernel.name] = self._texts.get(kernel.name, "") + self._text(kernel)
        self._calls = _calls(module)
        self._callers = _turned(self._calls)
        units, others = self._split(kernels)
        aliases = frozenset(alias for kernel in module.kernels for alias in kernel.aliases)
        self._host = host_code(tuple(units.items()), aliases.union(self._texts))
        texts = (*(k.text for k in module.kernels), self._between_statements())
        said = [*map(said_in, texts), *(unit.said for unit in units.values())]
        self._quoted = frozenset().union(*(each.quoted for each in said))
        self._common = self._hash_common(
            context, others, frozenset().union(*(e.phrases for e in said))
        )
        named = tuple((kernel.name, kernel.aliases) for kernel in module.kernels)
        self.identities = Identities((self._common, self._quoted, named), self._host)
        is_alike = before is not None and before.around == self.identities.around
        changed = self._host.changed_since(before.host) if before is not None and is_alike else None
        self._before = before.known if before is not None and changed is not None else {}
        self._changed = changed or 0

    def identity_of(self, kernel: Kernel) -> str:
        """The identity of all that one kernel's issues depend on."""
        names = _reached([kernel.name], self._calls)
        family = names | _reached([kernel.name], self._callers)
        return self._identity(self._place(kernel), self._text(kernel), names, family, ())

    def own(self, kernel: Kernel) -> str:
        """The identity of what one kernel's issues depend on where no host code is read."""
        names = _reached([kernel.name], self._calls)
        family = names | _reached([kernel.name], self._callers)
        named = self._module.lookup.named
        aliases = {name: [k.aliases for k in named.get(name, ())] for name in sorted(family)}
        how = [(name, self._module.has_launches(name), *aliases[name]) for name in aliases]
        words = frozenset().union(*(words_in(self._texts.get(name, "")) for name in family))
        called = {alias for each in chain(*aliases.values()) for alias in each}
        reached = self._host.making(called | family, words)
        said = f"{self._place(kernel)}{self._host.identity(reached)}{how}{sorted(names)}"
        texts = (f"{name}:{self._texts.get(name, '')}" for name in sorted(family))
        return digest("\0".join((self._common, said, self._text(kernel), *texts)))

    def _place(self, kernel: Kernel) -> object:
        """Where a kernel begins, and what the others of the file say of its sizes."""
        factors = tuple(sorted(widened_factors(self._module, kernel)))
        return self.layout.place_of(kernel.range), factors

    def of_host(self, function: str) -> str:
        """The identity of all that one host function's issues depend on."""
        where = self._module.index.range_of(self._module.host_functions[function])
        launches = self._module.lookup.launches_in.get(function, ())
        through = calling_functions(self._module).get(function, ())
        launched = [launch.kernel for launch in (*launches, *through)]
        names = _reached(launched, self._calls)
        own = (self.layout.statement_at(where.line),)
        return self._identity(self.layout.place_of(where), f"def {function}", names, names, own)

    def _identity(
        self, place: object, subject: str, names: set[str], family: set[str], own: tuple[int, ...]
    ) -> str:
        """The identity of a kernel or a host function.

        Args:
            names: the kernels whose texts it depends on.
            family: those whose host code it depends on.
            own: the unit that it is.
        """
        texts = tuple((name, self._texts.get(name, "")) for name in sorted(family))
        launches = self._launches(family)
        parts = (place, subject, tuple(sorted(names)), texts, launches, own)
        found = self._before.get(parts)
        if found is None or found[1] & self._changed:
            found = self._digest(place, subject, names, dict(texts), launches, own)
        self.identities.known[parts] = found
        return found[0]

    def _text(self, kernel: Kernel) -> str:
        """The text of a kernel, without its empty lines where it is a statement of the file."""
        if not self._is_split or "\r" in kernel.text:
            return kernel.text
        return self.layout.filled_text(kernel, self._tops[id(kernel.node)])

    def _launches(self, kernels: Iterable[str]) -> tuple[tuple[str, str | None, bool, int], ...]:
        """How some kernels are launched, and in which units."""
        launches, unit = self._module.lookup.launches, self.layout.statement_at
        return tuple(
            (name, launch.host_function, launch.is_certain, unit(launch.range.line))
            for name in sorted(kernels)
            for launch in launches.get(name, ())
        )

    def _digest(
        self,
        place: object,
        subject: str,
        names: Iterable[str],
        texts: Mapping[str, str],
        launches: Iterable[tuple[str, str | None, bool, int]],
        own: Iterable[int],
    ) -> tuple[str, int]:
        """An identity, and the units of the host code that it depends on."""
        lookup = self._module.lookup
        words = frozenset().union(*map(words_in, texts.values()))
        called = {a for name in texts for k in lookup.named.get(name, ()) for a in k.aliases}
        units = {*own, *(unit for *_, unit in launches)}
        reached = self._host.reached(called | texts.keys(), words, units)
        around = self._host.identity(reached)
        how = [(kernel, host, is_certain) for kernel, host, is_certain, _ in launches]
        bodies = (f"{name}:{self._texts.get(name, '')}" for name in sorted(names))
        said = f"{around}{how}{sorted(self._quoted & words)}"
        whole = digest("\0".join((self._common, repr(place), subject, said, *bodies)))
        return whole, reached

    def _split(self, kernels: set[int]) -> tuple[dict[int, Unit], list[str]]:
        """The statements that are no kernels; the digests of those that count for all kernels."""
        units: dict[int, Unit] = {}
        others: list[str] = []
        for place, node in enumerate(self._module.tree.body):
            if id(node) in kernels:
                continue
            unit, follows_names = self._unit(node, self.layout.starts[place])
            units[place] = unit
            if not (self._is_split and follows_names):
                others.append(unit.digest)
        return units, others

    def _unit(self, node: ast.stmt, first: int) -> tuple[Unit, bool]:
        """The unit that a statement is, and whether it matters only to what has to do with it.

        Versions of the file share it where its lines have the same text.
        """
        memo = text_memo_of(node)
        known = memo.get(Unit)
        if known is None:
            text = "\n".join(self._module.index.lines[first - 1 : node.end_lineno])
            if isinstance(node, UNITS):
                unit = definition(text, node.name, bool(node.decorator_list))
            else:
                unit = other_unit(text, bound_by(node))
            known = memo[Unit] = unit, is_followed(node) and not unit.may_bind_elsewhere
        return cast("tuple[Unit, bool]", known)

    def _hash_common(
        self, context: AnalysisContext, others: list[str], phrases: frozenset[str]
    ) -> str:
        module, names = self._module, self._module.names
        parts = [module.path, repr(context), repr(sorted(names.origins.items()))]
        parts += [repr(sorted(names.imports)), repr((sorted(phrases), bool(module.problems)))]
        if not self._is_split:
            # A kernel inside a function sees names that are bound anywhere.
            parts += self._texts.values()
        parts.append(repr(is_for_a_fork(module)))
        # A helper that no kernel calls is left over only beside kernels that are launched.
        parts.append(repr(any(True for _ in module.entry_kernels())))
        called = self._called_functions()
        # How many kernels of the same parameters widen does not matter.
        parts.append(repr(sorted(map(sorted, set(widening_kernels(module))))))
        parts.append(repr(sorted(pure_helpers(module) & called if called else ())))
        parts.append(repr(sorted((name, sorted(to)) for name, to in self._calls.items() if to)))
        return digest("\0".join((*parts, *others)))

    def _between_statements(self) -> str:
        """Comments, and what does not parse."""
        lines, found, last = self._module.index.lines, list[str](), 0
        for statement, first in zip(self._module.tree.body, self.layout.starts, strict=True):
            found += lines[last : first - 1]
            last = statement.end_lineno or statement.lineno
        return "\n".join((*found, *lines[last:]))

    def _called_functions(self) -> frozenset[str]:
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
    return frozenset(n.id for n in nodes_like(kernel.node, ast.Name))


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
