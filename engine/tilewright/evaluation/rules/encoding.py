"""How a text says that it is encoded."""

import re
from collections.abc import Iterator

from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View

# As PEP 263 and ``tokenize`` have it, which splits lines at line feeds alone.
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_PLAIN = ("utf-8", "utf8", "utf_8", "ascii", "us-ascii")


def encoding(view: View) -> Iterator[Finding]:
    """A declared encoding under which Python would import other code than the visible text."""
    for number, line in enumerate(view.module.text.split("\n", 2)[:2], 1):
        declared = _COOKIE.match(line.removeprefix("\ufeff"))
        if declared is not None and declared[1].lower() not in _PLAIN:
            yield Finding(f"the encoding {declared[1]}", number, "write plain UTF-8")
