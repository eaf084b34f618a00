"""The source page of a report of Nsight Compute: samples of waiting warps by line of the file.

A page has a part for each file and kernel: two rows that name them, a row of columns, and for each
line a row with its sums, followed by some of its instructions. Quotes in source lines are left as
they are, so a row is split at what stands between cells and its numbers counted from its end.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.profiling.profilers.base import number

Samples = Mapping[int, Mapping[str, float]]
_LONG = {
    "branch_resolving": "branch_resolve", "dispatch": "dispatch_stall", "imc": "imc_miss",
    "lg": "lg_throttle", "long_sb": "long_scoreboard", "math": "math_pipe_throttle",
    "mio": "mio_throttle", "no_inst": "no_instruction", "short_sb": "short_scoreboard",
    "sleep": "sleeping", "tex": "tex_throttle",
}  # fmt: skip
_STALL = re.compile(r"stall_(\w+)$")
_LINE = "Line No"


@dataclass
class _Part:
    """Where reading has come to: whose rows these are, and where their numbers stand."""

    kernel: str = ""
    ours: bool = False
    stalls: Mapping[int, str] = field(default_factory=dict)


def samples_in(text: str, file: str) -> Mapping[str, Samples]:
    """Samples of each kernel by line and reason, of the lines of ``file`` (its name) alone."""
    found: dict[str, dict[int, dict[str, float]]] = {}
    part = _Part()
    for row in text.splitlines():
        cells = row.strip()[1:-1].split('","') if row.startswith('"') else [""]
        if cells[0] == "File Path":
            part = _Part(ours=cells[-1].rpartition("/")[2] == file)
        elif cells[0] in ("Function Name", "Kernel Name"):
            part.kernel = cells[-1]
        elif cells[0] == _LINE:
            part.stalls = _columns(cells)
        elif part.ours and cells[0].isdigit():
            for reason, count in _samples(part, cells):
                reasons = found.setdefault(part.kernel, {}).setdefault(int(cells[0]), {})
                reasons[reason] = reasons.get(reason, 0.0) + count
    return found


def _columns(header: Sequence[str]) -> Mapping[int, str]:
    """Reasons by the places of their columns, counted from the end."""
    found = ((at - len(header), _STALL.match(name)) for at, name in enumerate(header))
    return {at: _LONG.get(match[1], match[1]) for at, match in found if match}


def _samples(part: _Part, cells: Sequence[str]) -> Iterator[tuple[str, float]]:
    for at, reason in part.stalls.items():
        count = number(cells[at]) if -at < len(cells) else None
        if count:
            yield reason, count
