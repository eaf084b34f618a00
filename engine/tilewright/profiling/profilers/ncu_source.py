"""The source page of a report of Nsight Compute: samples of waiting warps by line of the file."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.profiling.profilers.base import number

Samples = Mapping[int, Mapping[str, float]]
_REASONS = {
    "barrier": "barrier", "branch_resolve": "branch_resolve", "dispatch": "dispatch_stall",
    "drain": "drain", "gmma": "gmma", "imc": "imc_miss", "lg": "lg_throttle",
    "long_sb": "long_scoreboard", "math": "math_pipe_throttle", "membar": "membar",
    "mio": "mio_throttle", "misc": "misc", "no_inst": "no_instruction",
    "not_selected": "not_selected", "selected": "selected", "short_sb": "short_scoreboard",
    "sleep": "sleeping", "sleeping": "sleeping", "tex": "tex_throttle", "wait": "wait",
    "warpgroup_arrive": "warpgroup_arrive",
}  # fmt: skip
_STALL = re.compile(r"stall_(\w+)$")


@dataclass
class _Page:
    """Where reading has come to: whose rows these are, and what their columns mean."""

    kernel: str = ""
    ours: bool = True
    line: int | None = None
    stalls: Mapping[int, str] = field(default_factory=dict)
    address: int | None = None


def samples_in(text: str, file: str) -> Mapping[str, Samples]:
    """Samples of each kernel by line and reason, of the lines of ``file`` (its name) alone."""
    found: dict[str, dict[int, dict[str, float]]] = {}
    page = _Page()
    for row in csv.reader(text.splitlines()):
        if _is_about(page, row, file):
            continue
        if row and row[0].strip().isdigit():
            page.line = int(row[0])
        if page.ours and page.line is not None and _counts(page, row):
            for reason, count in _samples(page, row):
                reasons = found.setdefault(page.kernel, {}).setdefault(page.line, {})
                reasons[reason] = reasons.get(reason, 0.0) + count
    return found


def _is_about(page: _Page, row: Sequence[str], file: str) -> bool:
    """Take in a row that says what comes next: a kernel, a file, the columns."""
    head = row[0].strip() if row else ""
    if head == "Kernel Name" and len(row) > 1:
        page.kernel, page.line = row[1].strip(), None
        return True
    if head in ("File Path", "File Name", "File") and len(row) > 1:
        page.ours, page.line = row[1].strip().rpartition("/")[2] == file, None
        return True
    if "Address" not in row and "Warp Stall Sampling (All Samples)" not in row:
        return False
    page.line = None
    page.address = row.index("Address") if "Address" in row else None
    page.stalls = {
        at: _REASONS.get(match[1], match[1])
        for at, name in enumerate(row)
        if (match := _STALL.match(name.strip()))
    }
    return True


def _counts(page: _Page, row: Sequence[str]) -> bool:
    """Whether a row counts: where instructions have rows, a line's own row repeats their sum."""
    return page.address is None or (len(row) > page.address and bool(row[page.address].strip()))


def _samples(page: _Page, row: Sequence[str]) -> Iterator[tuple[str, float]]:
    for at, reason in page.stalls.items():
        count = number(row[at]) if at < len(row) else None
        if count:
            yield reason, count
