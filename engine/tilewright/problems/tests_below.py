"""Files whose second part, below a row of ``#``, is tests: what these call is the problem.

The tests are no part of what is judged: neither is their text compared, nor do they run with it.
"""

import re
from dataclasses import dataclass

_ROW = re.compile(r"^#{40,}[ \t]*$", re.MULTILINE)
_CALLS = re.compile(r"^(def test|[A-Za-z_]\w*.*\()", re.MULTILINE)


@dataclass(frozen=True)
class Parts:
    """A file in two: ``above`` is what is under test; ``below`` begins at a 1-based ``line``."""

    above: str
    below: str
    line: int


def parts_of(text: str) -> Parts | None:
    """The parts of a file with tests below; None of any other."""
    rows = list(_ROW.finditer(text))
    if not rows:
        return None
    above, below = text[: rows[-1].start()], text[rows[-1].end() :]
    if not _CALLS.search(below) or "jit" not in above:
        return None
    return Parts(above, below, text.count("\n", 0, rows[-1].start()) + 1)


def above_tests(text: str) -> str:
    """The part of a text that is under test."""
    parts = parts_of(text)
    return text if parts is None else parts.above
