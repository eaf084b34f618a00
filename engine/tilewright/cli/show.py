"""Pieces of text output that more than one command prints."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.syntax import Syntax
from rich.table import Table

from tilewright.cli.output import OUT
from tilewright.figures import ratio
from tilewright.textfile import printable


def show_trials(trials: Sequence[Mapping[str, Any]]) -> None:
    """What was tried, how far each candidate was verified, and why it was kept or not."""
    if not trials:
        OUT.print("Nothing was tried.")
        return
    table = Table("", "stage", "tried", "level", "kept", "why")
    for trial in trials:
        table.add_row(
            str(trial["number"]),
            trial["stage"],
            trial["proposer"],
            trial["level"],
            "yes" if trial["kept"] else "no",
            trial["reason"],
        )
    OUT.print(table)


def show_diff(value: Mapping[str, Any]) -> None:
    """A unified diff; coloured on a terminal, plain for a pipe so that ``patch`` takes it."""
    if not value["diff"]:
        return
    if OUT.is_terminal:
        OUT.print(Syntax(printable(value["diff"]), "diff", background_color="default"))
    else:
        OUT.out(value["diff"], end="", highlight=False)


def speedup_line(speedup: Mapping[str, Any]) -> str:
    """``1.94x [1.93, 1.94] on NVIDIA H200, bench-gpu[0]: 251.5 us -> 130.4 us``."""
    line = (
        f"{ratio(speedup['value'], speedup['low'], speedup['high'])} on {speedup['device']}, "
        f"{speedup['case']}: {speedup['original_us']:.1f} us -> {speedup['candidate_us']:.1f} us"
    )
    host = speedup.get("candidate_host_us")
    if host is not None and host > speedup["candidate_us"]:
        line += f"; the host takes {host:.1f} us to hand a call over"
    return line
