"""Text to ``Module``: the one entry of this package. Never fails, whatever the text.

Two versions of a file share the syntax nodes of the statements that stand unchanged at the same
lines. If they differ in the bodies of kernels, or of host functions that no decorator and no
constant leads to, kernels and launches in other statements are the same objects as well; after any
other edit these are found anew, since what their names mean, or who launches them, may have
changed. Versions of a file with NKI kernels share nothing then: what is kept by the nodes of these
may depend on all of the file.
"""

import ast
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from tilewright.lru import LruDict
from tilewright.source.environment import Touch, environment_of, touches
from tilewright.source.facts import Facts, facts_of
from tilewright.source.finder import Finder
from tilewright.source.model import Language, Module
from tilewright.source.names import Names, public
from tilewright.source.node_memo import per_node, per_text
from tilewright.source.text import LineIndex, digest
from tilewright.source.tree import Known, Piece, as_known, parse_pieces

_FILES = 64
_VERSIONS = 4
_CUSTOMARY = {
    "tl": "triton.language",
    "nl": "nki.language",
    "nisa": "nki.isa",
    "ncc": "nki.compiler",
}
"""Meant where nothing in the file binds the name, as in a snippet or below a broken import."""

_HANDED_ON = {"triton": "triton", "tl": "triton.language"}


@dataclass(frozen=True)
class _Version:
    """One version of a file: what the next may share with it, and when it may.

    ``era`` is the same object in versions that have the same ``around`` their kernels.
    """

    pieces: Sequence[Piece] = ()
    names: Names = field(default_factory=Names)
    line_end: str | None = None
    around: tuple[str, ...] = ()
    era: object = field(default_factory=object)
    languages: frozenset[Language] = frozenset()


class _Files:
    """What was parsed lately: of each file some versions, and what the next may share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: LruDict[str, tuple[_Version, LruDict[str, Module]]] = LruDict(_FILES)

    def module(self, path: str, text: str) -> Module | None:
        known = self._files.get(path)
        return None if known is None else known[1].get(text)

    def latest(self, path: str) -> _Version | None:
        known = self._files.get(path)
        return None if known is None else known[0]

    def keep(self, path: str, version: _Version, module: Module) -> Module:
        """Keep a version; the module that is kept for its text, if another was quicker."""
        with self._lock:
            known = self._files.get(path)
            modules = LruDict[str, Module](_VERSIONS) if known is None else known[1]
            self._files.put(path, (version, modules))
            kept = modules.get(module.text)
            if kept is None:
                modules.put(module.text, module)
            return kept or module


_KEPT = _Files()


def parse_module(text: str, path: str = "<text>") -> Module:
    """What is known of a file from its text. Parsed once for each (text, path) of late."""
    known = _KEPT.module(path, text)
    if known is not None:
        return known
    before = _KEPT.latest(path)
    index = LineIndex(text)
    line_end = _line_end(text)
    # Pieces do not show their line ends, kernels do.
    shared = before if line_end is not None and before and before.line_end == line_end else None
    pieces = parse_pieces(index, as_known(shared.pieces) if shared is not None else Known())
    found, version = _read(index, line_end, pieces, shared)
    if shared is not None and not _same_around(version, shared):
        keeps_nodes = Language.NKI not in shared.languages | version.languages
        pieces = pieces if keeps_nodes else parse_pieces(index, Known())
        again = replace(shared, era=object()) if keeps_nodes else None
        found, version = _read(index, line_end, pieces, again)
    kernels = found.kernels()
    module = Module(
        path=path,
        text=text,
        content_hash=digest(text),
        tree=ast.Module(body=[s for piece in pieces for s in piece.body], type_ignores=[]),
        index=index,
        names=version.names,
        kernels=kernels,
        launches=found.launches(kernels),
        host_functions=found.hosts(),
        problems=tuple(problem for piece in pieces for problem in piece.problems),
        era=version.era,
    )
    return _KEPT.keep(path, version, module)


def _read(
    index: LineIndex, line_end: str | None, pieces: Sequence[Piece], before: _Version | None
) -> tuple[Finder, _Version]:
    facts = [facts_of(piece) for piece in pieces]
    names = names_of(facts)
    names = before.names if before is not None and names == before.names else names
    era = object() if before is None else before.era
    found = Finder(index, pieces, facts, names, era)
    around = found.surrounding_texts()
    return found, _Version(pieces, names, line_end, around, era, found.languages())


def _same_around(one: _Version, two: _Version) -> bool:
    return one.names is two.names and one.around == two.around


def _line_end(text: str) -> str | None:
    """What ends the lines of a text; None where not all end the same."""
    if "\r" not in text:
        return "\n"
    both = text.count("\r\n")
    return "\r\n" if both == text.count("\r") == text.count("\n") else None


@per_node
def module_constants(tree: ast.Module) -> Mapping[str, ast.expr]:
    """Module-level names that are given a value once, with that expression."""
    return environment_of(chain.from_iterable(map(touches, tree.body)), ()).constants


def names_of(facts: Sequence[Facts]) -> Names:
    """Origins of the names bound by imports anywhere, and by module-level ``a = b.c``.

    Of imports under ``if`` or ``try`` the first counts, as the one that is meant to work; one
    within a function counts where no other binds the name.
    """
    found = [pair for part in facts for pair in part.imports]
    plain = [node for rank, node in found if rank == 0]
    others = [node for rank, node in sorted(found, key=lambda pair: pair[0]) if rank > 0]
    origins: dict[str, str] = {}
    imports: set[str] = set()
    for bound, origin, module in chain.from_iterable(map(_imported, (*others[::-1], *plain))):
        origins[bound] = origin
        imports.add(module)
    bound_here = {touch.name for part in facts for touch in part.touches}
    for part in facts:
        for touch in part.touches:
            _add_renaming(touch, origins)
    for name, origin in _CUSTOMARY.items():
        if name not in bound_here:
            origins.setdefault(name, origin)
    return Names(origins, frozenset(imports))


@per_text
def _imported(node: ast.Import | ast.ImportFrom) -> tuple[tuple[str, str, str], ...]:
    return tuple(_names_imported(node))


def _names_imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str, str]]:
    """For each name an import binds: the name, its public origin, the module or name asked for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            yield bound, public(alias.name if alias.asname else bound), alias.name
    else:
        base = "." * node.level + (node.module or "")
        handed_on = _handed_on(node)
        for alias in node.names:
            whole = handed_on.get(alias.name) or _join(base, alias.name)
            yield alias.asname or alias.name, public(whole), whole


def _handed_on(node: ast.ImportFrom) -> Mapping[str, str]:
    """Triton and its language where a module of the project hands them on under their own names.

    ``from .compat import tl, triton``: without ``triton`` next to it, ``tl`` may be anything.
    """
    names = {alias.name for alias in node.names}
    is_own = (node.module or "").partition(".")[0] == "triton" and not node.level
    return {} if is_own or "triton" not in names else _HANDED_ON


def _join(base: str, name: str) -> str:
    return base + name if base.endswith(".") else f"{base}.{name}"


def _add_renaming(touch: Touch, origins: dict[str, str]) -> None:
    value = touch.value
    if not isinstance(value, ast.Name | ast.Attribute):
        return
    dotted = Names(origins).resolve(value)
    if dotted is not None and _root(value) in origins:
        origins[touch.name] = dotted


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
