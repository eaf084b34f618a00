"""Text to ``Module``: the one entry of this package. Never fails, whatever the text.

What a file's last version and this one have in common is the same objects in both: syntax
nodes, kernels, launches. Only what an edit touched, or moved, is looked at again.
"""

import ast
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

from tilewright.source.environment import environment_of, touches
from tilewright.source.facts import facts_of
from tilewright.source.finder import Finder
from tilewright.source.model import Module
from tilewright.source.names import Names
from tilewright.source.origins import names_of
from tilewright.source.text import LineIndex, digest
from tilewright.source.tree import Known, as_known, parse_pieces

_CACHED_MODULES = 64


@dataclass(frozen=True)
class _Version:
    """The last version of a file: what the next may share with it."""

    known: Known = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    line_end: str | None = None


_LATEST: OrderedDict[str, _Version] = OrderedDict()
_LOCK = threading.Lock()


@lru_cache(maxsize=_CACHED_MODULES)
def parse_module(text: str, path: str = "<text>") -> Module:
    """What is known of a file from its text. Parsed once for each (text, path)."""
    with _LOCK:
        before = _LATEST.get(path, _Version())
    line_end = _line_end(text)
    if line_end is None or line_end != before.line_end:
        before = _Version()  # Pieces do not show their line ends, kernels do.
    index = LineIndex(text)
    pieces = parse_pieces(index, before.known)
    facts = [facts_of(piece) for piece in pieces]
    names = names_of(facts)
    names = before.names if names == before.names else names
    _remember(path, _Version(as_known(pieces), names, line_end))
    found = Finder(index, pieces, names)
    kernels = found.kernels()
    return Module(
        path=path,
        text=text,
        content_hash=digest(text),
        tree=ast.Module(body=[s for piece in pieces for s in piece.body], type_ignores=[]),
        index=index,
        names=names,
        kernels=kernels,
        launches=found.launches(kernels),
        host_functions=found.hosts,
        problems=tuple(problem for piece in pieces for problem in piece.problems),
    )


def _line_end(text: str) -> str | None:
    """What ends the lines of a text; None where not all end the same."""
    if "\r" not in text:
        return "\n"
    both = text.count("\r\n")
    return "\r\n" if both == text.count("\r") == text.count("\n") else None


def _remember(path: str, version: _Version) -> None:
    with _LOCK:
        _LATEST[path] = version
        _LATEST.move_to_end(path)
        while len(_LATEST) > _CACHED_MODULES:
            _LATEST.popitem(last=False)


@lru_cache(maxsize=_CACHED_MODULES)
def module_constants(tree: ast.Module) -> Mapping[str, ast.expr]:
    """Module-level names that are given a value once, with that expression."""
    return environment_of(chain.from_iterable(map(touches, tree.body)), ()).constants
