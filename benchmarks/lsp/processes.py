"""What a process and those that it started use, from ``/proc`` (Linux)."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_KIB = 1024.0


@dataclass(frozen=True)
class Usage:
    """``pss_mib`` and ``rss_mib`` now, ``peak_mib`` of resident memory, ``cpu_s`` so far."""

    pss_mib: float
    rss_mib: float
    peak_mib: float
    cpu_s: float


def usage_of(pid: int) -> Usage:
    """The sums over a process and its descendants; a peak is the sum of their own peaks."""
    found = [_usage(one) for one in _family(pid)]
    return Usage(
        sum(one.pss_mib for one in found),
        sum(one.rss_mib for one in found),
        sum(one.peak_mib for one in found),
        sum(one.cpu_s for one in found),
    )


def time_on_cores(pid: int) -> tuple[float, float]:
    """Seconds that the threads of a process have computed, and were ready to but had no core."""
    times = [
        [int(part) for part in task.read_text().split()[:2]]
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat")
    ]
    return sum(ran for ran, _ in times) / 1e9, sum(waited for _, waited in times) / 1e9


def _family(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found


def _usage(pid: int) -> Usage:
    try:
        rollup = _fields(Path(f"/proc/{pid}/smaps_rollup"))
        status = _fields(Path(f"/proc/{pid}/status"))
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # It ended meanwhile.
        return Usage(0.0, 0.0, 0.0, 0.0)
    cpu = sum(int(ticks) for ticks in stat[11:15]) / _TICKS
    return Usage(rollup["Pss"], rollup["Rss"], status["VmHWM"], cpu)


def _fields(path: Path) -> dict[str, float]:
    """The lines that count kB, in MiB."""
    found = {}
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            found[name] = int(value.split()[0]) / _KIB
    return found
