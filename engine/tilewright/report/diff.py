"""Unified diffs as rows with line numbers on both sides."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


class RowKind(StrEnum):
    HUNK = "hunk"
    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True)
class DiffRow:
    """One line of a diff; a number is None on the side where the line does not stand."""

    kind: RowKind
    old: int | None
    new: int | None
    text: str


def diff_rows(diff: str) -> tuple[DiffRow, ...]:
    """The rows of a unified diff of one file, headers left out."""
    return tuple(_rows(diff))


def _rows(diff: str) -> Iterator[DiffRow]:
    old = new = 0
    in_hunk = False
    # Not splitlines(): a form feed inside a line would tear it in two.
    for line in diff.split("\n"):
        if found := _HUNK.match(line):
            old, new, in_hunk = int(found[1]), int(found[2]), True
            yield DiffRow(RowKind.HUNK, None, None, line)
        elif not in_hunk or not line or line.startswith("\\"):
            continue
        elif line[0] == "+":
            yield DiffRow(RowKind.ADDED, None, new, line[1:])
            new += 1
        elif line[0] == "-":
            yield DiffRow(RowKind.REMOVED, old, None, line[1:])
            old += 1
        else:
            yield DiffRow(RowKind.SAME, old, new, line[1:])
            old, new = old + 1, new + 1
