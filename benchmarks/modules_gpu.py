"""Optimizes the modules with weights in ``modules/`` on a GPU; each gain beside what was promised.

    python benchmarks/modules_gpu.py --device cuda:0 --budget 24 [--out FOLDER] [NAME ...]

Each is optimized as ``tilewright optimize`` does, all on one open device. The table has what
screening promised of the best configuration that was tried (a quick look at the clock), what its
trial measured, and what the end of the run measured against the text it began with. OUT gets
``modules.md``, ``modules.json`` and each result. Exit code 1 if one ended without a result, or with
a fault of the harness.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tilewright.devices.model import Device
from tilewright.devices.opening import open_device
from tilewright.errors import TilewrightError
from tilewright.problems.loading import load_problem
from tilewright.store.store import open_store
from tilewright.strategies.observer import Silent
from tilewright.strategies.optimize import OptimizeRequest, optimize
from tilewright.strategies.present import dump_result

MODULES = Path(__file__).resolve().parent / "modules"
_LONGEST = 160


def main() -> int:
    options = _options()
    names = options.names or sorted(path.stem for path in MODULES.glob("*.yaml"))
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    began = time.monotonic()
    with closing(open_device(options.device)) as device:
        for name in names:
            if time.monotonic() - began > options.limit_s:
                print(f"{name}: left out, as {options.limit_s:.0f} s are over", flush=True)
                continue
            rows.append(_optimized(name, device, options))
            (options.out / "modules.json").write_text(json.dumps(rows, indent=1), "utf-8")
            (options.out / "modules.md").write_text(table(rows) + "\n", "utf-8")
            print(f"{name}: {json.dumps(rows[-1])}", flush=True)
    print(table(rows))
    return 1 if any(row["trouble"] for row in rows) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="modules; all of them where none is named")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--budget", type=int, default=24, help="most candidates to screen and try")
    parser.add_argument("--limit-s", type=float, default=float("inf"), help="begin none after that")
    parser.add_argument("--out", type=Path, default=Path("build/modules"))
    return parser.parse_args()


def _optimized(name: str, device: Device, options: argparse.Namespace) -> dict[str, Any]:
    """One module's row."""
    began = time.monotonic()
    file = MODULES / f"{name}.py"
    problem = load_problem(file.with_suffix(".yaml"), file)
    request = OptimizeRequest(file, file.read_text(), problem, device.info.target, options.budget)
    store = open_store()
    try:
        result = dump_result(optimize(request, device, store, Silent()))
    except TilewrightError as error:
        return {"name": name, "seconds": time.monotonic() - began, "trouble": str(error)[:_LONGEST]}
    finally:
        store.close()
    seconds = round(time.monotonic() - began, 1)
    (options.out / f"{name}.json").write_text(json.dumps(result, indent=1), "utf-8")
    trouble = "; ".join(fault["message"] for fault in result["harness_faults"])[:_LONGEST]
    return {"name": name, "seconds": seconds, "trouble": trouble, **row_of(result)}


def row_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """What a result says of promises and gains."""
    trials = [told for trial in result["trials"] if (told := _trial(trial))]
    measured = [one for one in trials if one["measured"]]
    speedup = result["speedup"]
    return {
        "level": result["level"],
        "final": _interval(speedup) if speedup else None,
        "original_us": round(speedup["original_us"], 1) if speedup else None,
        "candidate_us": round(speedup["candidate_us"], 1) if speedup else None,
        "promises": trials,
        "best": max(measured, key=lambda one: float(one["measured"][0]), default=None),
        "tried": len(result["trials"]),
        "timed": sum(trial["speedup"] is not None for trial in result["trials"]),
        "refused": [
            f"{trial['proposer']}: {trial['reason']}"[:_LONGEST]
            for trial in result["trials"]
            if not trial["kept"] and trial["speedup"] is None
        ],
        "notes": result["notes"],
    }


def _trial(trial: Mapping[str, Any]) -> dict[str, Any] | None:
    """Promise and measurement of what the tuner proposed; None for other proposals."""
    told, speedup = trial["screened"], trial["speedup"]
    if told is None:
        return None
    return {
        "promised": round(float(told["gain"]), 3),
        "measured": _interval(speedup) if speedup else None,
        "kept": trial["kept"],
        "reason": trial["reason"][:_LONGEST],
    }


def _interval(speedup: Mapping[str, Any]) -> list[float]:
    return [round(float(speedup[name]), 3) for name in ("value", "low", "high")]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as Markdown."""
    head = ("module", "promised", "its trial measured", "the end against the original", "us", "s")
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for row in rows:
        lines.append(f"| {' | '.join(_cells(row))} |")
    return "\n".join(lines)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    seconds = f"{row['seconds']:.0f}"
    if "final" not in row:
        return (row["name"], "", "", f"none: {row['trouble']}", "", seconds)
    best, final = row["best"], row["final"]
    us = f"{row['original_us']} -> {row['candidate_us']}" if final else ""
    ended = _times(final) if final else f"no edit ({row['timed']} of {row['tried']} timed)"
    return (
        row["name"],
        f"{best['promised']:.2f}x" if best else "",
        _times(best["measured"]) if best else "",
        f"{ended}{'; ' + row['trouble'] if row['trouble'] else ''}",
        us,
        seconds,
    )


def _times(interval: Sequence[float]) -> str:
    value, low, high = interval
    return f"{value:.2f}x [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    sys.exit(main())
