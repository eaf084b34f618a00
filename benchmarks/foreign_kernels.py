"""How far a folder of kernels that somebody else wrote gets: a Markdown table.

    python benchmarks/foreign_kernels.py FOLDER [--target xpu:bmg-g31] [--skip optimize]

Each file with a spec of its name beside it goes through ``check``, ``compile`` for four chips,
``verify`` against itself and ``optimize``, each a command of its own with a time limit
(``--limit``). A limit that is reached is told as such: it says nothing of the kernel.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

CHIPS = ("cuda:90", "hip:gfx942", "xpu:bmg-g31", "xpu:pvc")
_LONGEST = 260
Row = dict[str, str]


def ran(limit_s: float, *arguments: str) -> tuple[Any, str, float]:
    """(what a command tells as JSON, else None; why it told nothing; seconds)."""
    start = time.monotonic()
    command = [sys.executable, "-m", "tilewright", *arguments, "--format", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return None, f"not finished within {limit_s:.0f} s", limit_s
    seconds = time.monotonic() - start
    try:
        return json.loads(done.stdout), "", seconds
    except json.JSONDecodeError:
        return None, " ".join(done.stderr.split())[-_LONGEST:] or "it told nothing", seconds


def checked(file: Path, target: str, limit_s: float) -> str:
    value, why, _ = ran(limit_s, "check", str(file), "--target", target)
    if value is None:
        return why
    found = [issue for one in value["files"] for issue in one["issues"]]
    faults = sorted({
        f"{one['id']} (line {one['line']})" for one in found if one["stage"] == "correctness"
    })  # fmt: skip
    counted = f"{len(found)} issues"
    return f"{counted}; {', '.join(faults)}" if faults else counted


def compiled(file: Path, chip: str, limit_s: float) -> str:
    value, why, _ = ran(limit_s, "compile", str(file), "--target", chip)
    if value is None:
        return why
    reports = value["reports"]
    good = sum(one["ok"] for one in reports)
    messages = Counter(one["messages"][0]["text"] for one in reports if one["messages"])
    said = f"; {next(iter(messages))}" if messages else ""
    return f"{good} of {len(reports)}{said}"


def verified(file: Path, target: str, limit_s: float) -> str:
    value, why, seconds = ran(limit_s, "verify", str(file), str(file), "--target", target)
    if value is None:
        return why
    if value["accepted"]:
        return f"{value['level']} ({seconds:.0f} s)"
    return f"{value['level']}: {value['failed']['message'][:_LONGEST]}"


def optimized(file: Path, target: str, limit_s: float) -> tuple[str, str]:
    """(the edit, the reason of each "no")."""
    value, why, seconds = ran(limit_s, "optimize", str(file), "--target", target)
    if value is None:
        return "none", why
    kept = [one for one in value["trials"] if one["kept"]]
    edit = "; ".join(one["proposer"].removeprefix("rewrite:") for one in kept)
    if value["changed"]:
        speed = value["speedup"]
        timed = "not timed" if speed is None else f"{speed['value']:.2f}x on {speed['device']}"
        edit = f"{edit}: {value['level']}, {timed} ({seconds:.0f} s)"
    left = [
        f"{one['proposer'].removeprefix('rewrite:')}: {one['reason'][:_LONGEST]}"
        for one in value["trials"]
        if not one["kept"]
    ]
    notes = [note[:_LONGEST] for note in value["notes"] if "does not apply" in note]
    return edit if value["changed"] else "none", "; ".join([*left, *notes])


def row(file: Path, target: str, limit_s: float, skip: list[str]) -> Row:
    told: Row = {"kernel": file.name, "check": checked(file, target, limit_s)}
    for chip in CHIPS if "compile" not in skip else ():
        told[chip] = compiled(file, chip, limit_s)
    if "verify" not in skip:
        told["verify"] = verified(file, target, limit_s)
    if "optimize" not in skip:
        told["edit"], told["left out, and why"] = optimized(file, target, limit_s)
    return told


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    names = list(dict.fromkeys(name for one in rows for name in one))
    lines = [names, ["---"] * len(names)]
    lines += [[one.get(name, "").replace("|", "/") for name in names] for one in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--target", default="xpu:bmg-g31")
    options.add_argument("--limit", type=float, default=900.0)
    options.add_argument("--skip", action="append", default=[])
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    files = [one for one in sorted(given.folder.glob("*.py")) if one.with_suffix(".yaml").is_file()]
    rows: list[Row] = []
    for file in files:
        rows.append(row(file, given.target, given.limit, given.skip))
        sys.stderr.write(f"{file.name}: {rows[-1].get('edit', '')}\n")
        if given.out is not None:
            given.out.write_text(table(rows) + "\n")
    sys.stdout.write(table(rows) + "\n")


if __name__ == "__main__":
    main()
