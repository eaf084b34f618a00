"""A hundred candidates of each kind of fault in a row, and what they leave behind.

    python benchmarks/faults.py [--device interpreter|cuda:0] [--times 100] [--at-once 2]

A worker for each kind, some at a time; kinds that leave others no room follow, one by one. After
every tenth fault, and after the last, a good candidate has to pass; how long the slowest of them
took is told, as it may have to wait until memory has come back. One line a kind: ok, few where the
time was up before all were tried, BAD. Exit code 1 if anything is not ok.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "worker"))

import faulting  # noqa: E402

_EVERY = 10
_SETTLING_S = 8.0
_ODD = 9


@dataclass
class Row:
    """What became of one kind."""

    kind: str
    faults: int = 0
    refused: int = 0
    goods: int = 0
    accepted: int = 0
    slowest_good_s: float = 0.0
    seconds: float = 0.0
    descriptors: tuple[int, int] = (0, 0)
    resident_mb: tuple[int, int] = (0, 0)
    workers: int = 1
    left: tuple[str, ...] = ()
    said: str = ""

    @property
    def fine(self) -> bool:
        """Every fault refused, every good candidate accepted, nothing left."""
        return (
            0 < self.faults == self.refused
            and 0 < self.goods == self.accepted
            and self.workers == 1
            and not self.left
        )


def run_kind(
    fault: faulting.Fault, device: str, times: int, limit_s: float, patience_s: float
) -> Row:
    """A worker of its own, and so many candidates of one kind; fewer when time is up."""
    row = Row(fault.name)
    start = time.monotonic()
    timeout_s = 10.0 * patience_s if fault.slow else 60.0
    with faulting.worker(device, patience_s) as worker:
        _good(row, worker)
        before = _settled(worker.pid, 14)
        for turn in range(times):
            if time.monotonic() > start + limit_s:
                break
            said = faulting.refused(worker.trial(fault.text(), timeout_s))
            row.faults += 1
            row.refused += bool(said)
            row.said = said or row.said
            if turn % _EVERY == _EVERY - 1:
                _good(row, worker)
        _good(row, worker)
        after = _settled(worker.pid, before.descriptors)
        if after.descriptors > before.descriptors + _ODD:
            row.said = f"{faulting.opened(worker.pid)}: {row.said}"
    row.descriptors = (before.descriptors, after.descriptors)
    row.resident_mb = (before.resident_kb >> 10, after.resident_kb >> 10)
    row.left = tuple(faulting.left_behind(worker.mark, worker.pid))
    row.seconds = time.monotonic() - start
    return row


def _settled(process: int, descriptors: int) -> faulting.Held:
    """What it holds once the last runner is gone, for which it gets a moment."""
    end = time.monotonic() + _SETTLING_S
    while (now := faulting.held(process)).descriptors > descriptors and time.monotonic() < end:
        time.sleep(0.1)
    return now


def _good(row: Row, worker: faulting.Worker) -> None:
    row.goods += 1
    start = time.monotonic()
    answer = worker.trial(faulting.ORIGINAL)
    if row.goods > 1:  # the first one also starts the judge
        row.slowest_good_s = max(row.slowest_good_s, time.monotonic() - start)
    if faulting.accepted(answer):
        row.accepted += 1
    else:
        row.said = f"a good one was refused: {faulting.refused(answer) or answer}; {row.said}"


def device_memory() -> str:
    """What the GPU holds and for whom, as its driver's tool says; "" without one."""
    told = []
    for query in ("--query-gpu=memory.used", "--query-compute-apps=pid,used_memory"):
        command = ["nvidia-smi", query, "--format=csv,noheader"]
        try:
            told.append(subprocess.run(command, capture_output=True, text=True).stdout.strip())
        except OSError:
            return ""
    return f"{told[0]} used, processes: {told[1] or 'none'}"


def main() -> int:
    """Run all kinds; the table goes to standard output, figures to $OUT/faults.json."""
    given = _options()
    beside = [kind for kind in given.kinds if not kind.crowds]
    alone = [kind for kind in given.kinds if kind.crowds]
    rounds = math.ceil(len(beside) / given.at_once) + len(alone)
    memory = device_memory()
    rows: list[Row] = []

    def run(fault: faulting.Fault) -> None:
        row = run_kind(fault, given.device, given.times, given.limit_s / rounds, given.patience_s)
        rows.append(row)
        print(f"{_verdict(row, given.times):3} {_line(row)}", end="", flush=True)
        _keep(rows)

    with ThreadPoolExecutor(given.at_once) as pool:
        list(pool.map(run, beside))
    for kind in alone:
        run(kind)
    print("device memory before:", memory, "| after:", device_memory())
    return 0 if all(_verdict(row, given.times) == "ok" for row in rows) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="interpreter")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--limit-s", type=float, default=3600.0, help="of all kinds together")
    parser.add_argument("--patience-s", type=float, default=1.0, help="of a candidate's call")
    parser.add_argument("--only", default="", help="words that names have, separated by commas")
    given = parser.parse_args()
    known = faulting.faults_on(given.device)
    words = given.only.split(",")
    given.kinds = [fault for fault in known if any(word in fault.name for word in words)]
    if not given.kinds:
        parser.error(f"no kind is named so; there are {', '.join(one.name for one in known)}")
    return given


def _verdict(row: Row, times: int) -> str:
    return "BAD" if not row.fine else "few" if row.faults < times else "ok"


def _keep(rows: list[Row]) -> None:
    if "OUT" in os.environ:
        text = json.dumps([asdict(row) for row in rows], indent=1)
        Path(os.environ["OUT"], "faults.json").write_text(text)


def _line(row: Row) -> str:
    first, last = row.descriptors
    small, big = row.resident_mb
    return (
        f"{row.kind:34} refused {row.refused}/{row.faults}"
        f" next {row.accepted}/{row.goods} in {row.slowest_good_s:.1f} s {row.seconds:6.1f} s"
        f" open {first}->{last} MB {small}->{big} left {list(row.left)} | {row.said[:110]}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
