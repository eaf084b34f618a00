"""Whether what was verified of one text still fits the present text; pure.

A run takes minutes, and people go on typing. Its result fits the present text where every statement
that its verdict is about is as it was: those that the problem's entry point reaches, as
certificates know them (``certificates/parts.py``).
"""

import ast
import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright_server.edits import Hunk, hunks, match_line_ends
from tilewright_server.lines import LineTable


@dataclass(frozen=True)
class Fitted:
    """The present text with a result's changes made in it.

    Attributes:
        moved: it differs from what was verified, in statements that the verdict is not about.
    """

    text: str
    moved: bool


@dataclass(frozen=True)
class Unfit:
    """Why a result cannot be put into the present text, in a sentence's second half."""

    reason: str


def changed_parts(sent: str, now: str, path: str, roots: Iterable[str]) -> tuple[str, ...]:
    """The statements that a verdict is about and that are other ones now, by their names."""
    if sent == now:
        return ()
    wanted = tuple(roots)
    before, after = _parts(sent, path, wanted), _parts(now, path, wanted)
    names = dict.fromkeys((*before, *after))
    changed = tuple(name for name in names if before.get(name) != after.get(name))
    moved = (old for old, new in zip(before, after, strict=False) if old != new)
    return changed or tuple(moved)  # a value that is read before it is changed is another one


def fit(sent: str, now: str, final: str, path: str, roots: Iterable[str]) -> Fitted | Unfit:
    """Put what turned ``sent`` into ``final`` into the present text.

    The result is used only where all that the verdict is about reads in it as in ``final``.
    """
    final = match_line_ends(sent, final)
    if now == sent:
        return Fitted(final, moved=False)
    wanted = tuple(roots)
    changed = changed_parts(sent, now, path, wanted)
    if changed:
        return Unfit(f"{named(changed)} changed since the run began")
    if parse_module(now, path).problems:
        return Unfit("a statement does not parse at the moment")
    merged = merge(sent, now, final)
    if merged is None:
        return Unfit("the same lines were changed since the run began")
    if changed_parts(final, merged, path, wanted):
        return Unfit("with the changes that were made since, it would not be the verified text")
    return Fitted(merged, moved=True)


def merge(base: str, ours: str, theirs: str) -> str | None:
    """Both texts' changes of ``base``; None where they touch or meet."""
    table = LineTable(base)
    mine, others = hunks(table, ours), hunks(table, theirs)
    if any(_meet(one, other) for one in mine for other in others):
        return None
    lines = table.full_lines()
    for hunk in sorted((*mine, *others), key=lambda each: (each.first, each.end), reverse=True):
        lines[hunk.first : hunk.end] = [hunk.new]
    return "".join(lines)


def unified(before: str, after: str, name: str) -> str:
    """A diff for clients that have no view of their own."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"))


def _meet(one: Hunk, other: Hunk) -> bool:
    """Whether they change the same lines, or insert at the same place."""
    if one.first == one.end and other.first == other.end:
        return one.first == other.first
    if one.first == one.end:
        return other.first < one.first < other.end
    if other.first == other.end:
        return one.first < other.first < one.end
    return one.first < other.end and other.first < one.end


def _parts(text: str, path: str, roots: Sequence[str]) -> dict[str, str]:
    module = parse_module(text, path)
    from tilewright.certificates.parts import reached

    parts = {placed.part.name: placed.part.hash for placed in reached(module, roots).parts}
    return parts | {line: line for line in _nameless_imports(module)}


def _nameless_imports(module: Module) -> Iterator[str]:
    """Imports that count for every statement: no name tells who uses them."""
    for node in module.tree.body:
        match node:
            case ast.ImportFrom(module="__future__") | ast.ImportFrom(names=[ast.alias(name="*")]):
                yield ast.unparse(node)


def named(names: Sequence[str]) -> str:
    """Names in a sentence: three of them, and how many more there are."""
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
