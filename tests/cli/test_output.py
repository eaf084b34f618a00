"""What the terminal gets of texts that others wrote."""

import io

import pytest
from rich.table import Table

from tilewright.cli import show
from tilewright.cli.output import _Terminal

HOSTILE = "\x1b]0;owned\x07"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    written = io.StringIO()
    console = _Terminal(file=written, force_terminal=True, highlight=False, width=100)
    monkeypatch.setattr(show, "OUT", console)
    return written


def test_no_text_is_obeyed_by_the_terminal(terminal: io.StringIO) -> None:
    table = Table("why")
    table.add_row(HOSTILE)
    show.OUT.print(f"one{HOSTILE}\r\n\ttwo", markup=False)
    show.OUT.print(table)
    show.show_diff({"diff": f"+ x  # {HOSTILE}\n- y\n"})
    text = terminal.getvalue()
    assert "\x1b]" not in text
    assert "\x07" not in text
    assert text.count("\\x1b]0;owned\\x07") == 3
    assert text.startswith("one\\x1b]0;owned\\x07\n")
