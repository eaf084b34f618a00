"""Tilewright's own compile report of points, beside what Triton says of the loaded kernels."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from points import file_of

FIGURES_SECONDS = 90
Row = dict[str, Any]


def add_figures(rows: list[Row], workers: int) -> None:
    """Compile points in a shuffled order, as far as the time allows, and tell what differs."""
    from tilewright.devices.opening import open_device
    from tilewright.serialize import load as read
    from tilewright.targets.compilation import compile_launch
    from tilewright.targets.model import LaunchFacts, Target

    device = open_device("interpreter")
    deadline = time.monotonic() + FIGURES_SECONDS
    order = list(rows)
    random.Random(1).shuffle(order)

    def work(row: Row) -> None:
        if time.monotonic() > deadline:
            return
        path = str(file_of(row["kernel"]))
        launch = read(LaunchFacts, row["launch"])
        report = compile_launch(device, path, launch, Target("cuda", "90"), timeout_s=60)
        row["tilewright"] = {
            "ok": report.ok,
            "messages": [message.text for message in report.messages],
            "registers": report.registers,
            "spill_bytes": report.spill_bytes,
            "shared": report.shared_bytes,
            "details": dict(report.details),
            "toolchain": report.toolchain,
        }

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, order))
    device.close()
    _compare([row for row in rows if "tilewright" in row])


def _compare(rows: list[Row]) -> None:
    """How many figures of ours equal Triton's own, and the first that do not."""
    both = [row for row in rows if row["tilewright"]["ok"] and "registers" in row]
    print(f"{len(rows)} compiled by Tilewright, {len(both)} of them also launched by Triton")
    for ours, theirs in (("registers", "registers"), ("shared", "shared")):
        other = [row for row in both if row["tilewright"][ours] != row[theirs]]
        print(f"{ours}: {len(both) - len(other)} of {len(both)} equal")
        for row in other[:5]:
            print(f"  {row['kernel']} {row['config']}: {row['tilewright'][ours]} {row[theirs]}")
    spilling = [(row["tilewright"]["details"]["local_bytes"], row["spills"]) for row in both]
    agree = sum(ours == 4 * theirs for ours, theirs in spilling)
    some = sum(bool(theirs) for _, theirs in spilling)
    print(f"local memory in bytes: {agree} of {len(both)} equal, of which {some} spill")
