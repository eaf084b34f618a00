"""The results of ``measure.py`` and ``load.py`` as ``docs/editor-speed.md``."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
OURS, PEER = "tilewright", "ruff"
GOAL = 1.5
START_MS = 600
PEAK_MIB = 120

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="what measure.py wrote")
    parser.add_argument("--load", type=Path, help="what load.py wrote")
    parser.add_argument("--notes", type=Path, default=HERE / "notes.md")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "editor-speed.md")
    options = parser.parse_args()
    found = json.loads(options.results.read_text(encoding="utf-8"))
    load = json.loads(options.load.read_text(encoding="utf-8")) if options.load else None
    notes = options.notes.read_text(encoding="utf-8")
    options.out.write_text("\n".join(_page(found, load, notes)) + "\n", encoding="utf-8")
    return 0


def _page(found: Mapping[str, Any], load: Mapping[str, Any] | None, notes: str) -> Iterator[str]:
    yield (HERE / "head.md").read_text(encoding="utf-8")
    yield _where(found)
    if "remark" in found:
        yield f"{found['remark']}\n"
    yield from _summary(found)
    for name, file in found["files"].items():
        yield f"## {name}: {file['lines']} lines, {file['kernels']} kernels\n"
        yield from _latency([row for row in found["latency"] if row["file"] == name])
    yield "## Start, memory, processor time\n"
    yield (
        "*initialize*: from the start of the process to the answer; *diagnostics*: to the first"
        " ones of a file that is opened at once. Memory and processor time while typing: a"
        " statement typed into a kernel character by character, ten a second; most are no Python.\n"
    )
    for name in found["files"]:
        yield from _use(found, name)
    if load is not None:
        yield from _load(load)
    yield notes.rstrip("\n")


def _where(found: Mapping[str, Any]) -> str:
    text = f"Measured {found['when']} on {found['where']}."
    if found["load_before"] <= 1:
        return f"{text}\n"
    return (
        f"{text} The load average was {found['load_before']:.1f} before and"
        f" {found['load_after']:.1f} after: other programs took part of the machine.\n"
    )


def _summary(found: Mapping[str, Any]) -> Iterator[str]:
    """How often the goal was reached."""
    yield from _goals(found)
    ratios = [
        ratio
        for row in found["latency"]
        if row["server"] == OURS and (peer := _peer(found["latency"], row)) is not None
        for ratio in (_ratio(row, peer, "median"), _ratio(row, peer, "p95"))
        if ratio is not None
    ]
    if ratios:
        met = sum(ratio <= GOAL for ratio in ratios)
        yield (
            f"The goal is {GOAL} times ruff's median and p95. It is reached in {met} of"
            f" {len(ratios)} figures; the ratios go from {min(ratios):.1f} to {max(ratios):.1f}.\n"
        )


def _goals(found: Mapping[str, Any]) -> Iterator[str]:
    """The goals of start and memory, and what was reached."""
    for name in found["files"]:
        start = [r for r in found["start"] if (r["file"], r["server"]) == (name, OURS)]
        use = [r for r in found["use"] if (r["file"], r["server"]) == (name, OURS)]
        if not start or not use:
            continue
        first = start[0]["initialize_ms"]["median"]
        peak = use[0]["peak_mib"]
        yield (
            f"- {name}: start {first:.0f} ms, goal {START_MS}: {_reached(first < START_MS)}; peak"
            f" memory {peak:.0f} MiB, goal {PEAK_MIB}: {_reached(peak < PEAK_MIB)}."
        )
    yield ""


def _reached(is_so: bool) -> str:
    return "reached" if is_so else "not reached"


def _latency(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "| edit | mode | server | median | p95 | CPU | to ruff's median | to ruff's p95 |"
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    order = {name: n for n, name in enumerate(dict.fromkeys(r["edit"] for r in rows))}
    for row in sorted(rows, key=lambda r: (order[r["edit"]], r["mode"] != "push")):
        peer = _peer(rows, row)
        ours = row["server"] == OURS
        median, p95 = (_times(_ratio(row, peer, q)) if ours else "" for q in ("median", "p95"))
        name = f"**{row['server']}**" if ours else row["server"]
        ms = row["ms"]
        figures = ("none", "none") if ms is None else (f"{ms['median']:.1f}", f"{ms['p95']:.1f}")
        cells = (row["edit"], row["mode"], name, *figures, f"{row['cpu_ms']:.0f}", median, p95)
        yield f"| {' | '.join(cells)} |"
    missing = [row for row in rows if row["missing"]]
    yield from (
        f"\n{row['server']} gave no diagnostics in 20 s for {row['missing']} edits ({row['edit']})."
        for row in missing
    )
    yield ""


def _peer(rows: Sequence[Mapping[str, Any]], row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    same = ("file", "edit", "mode")
    return next(
        (r for r in rows if r["server"] == PEER and all(r[k] == row[k] for k in same)), None
    )


def _ratio(row: Mapping[str, Any], peer: Mapping[str, Any] | None, quantile: str) -> float | None:
    if peer is None or row["ms"] is None or peer["ms"] is None:
        return None
    return float(row["ms"][quantile] / peer["ms"][quantile])


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f}"


def _use(found: Mapping[str, Any], name: str) -> Iterator[str]:
    if not any(row["file"] == name for row in found["start"]):
        yield f"### {name}\n\nNot measured.\n"
        return
    keys = next((row["keys"] for row in found["use"] if row["file"] == name), 0)
    yield f"### {name}\n"
    yield (
        "| server | initialize, ms | p95 | CPU s | diagnostics, ms | p95 | CPU s |"
        f" CPU s for {keys} keys | PSS MiB | RSS MiB | peak MiB |"
    )
    yield f"| --- |{' ---: |' * 10}"
    for start in (row for row in found["start"] if row["file"] == name):
        use = next(r for r in found["use"] if r["file"] == name and r["server"] == start["server"])
        first, ready = start["initialize_ms"], start["diagnostics_ms"]
        yield (
            f"| {start['server']} | {first['median']:.0f} | {first['p95']:.0f}"
            f" | {start['initialize_cpu_s']:.2f} | {ready['median']:.0f} | {ready['p95']:.0f}"
            f" | {start['diagnostics_cpu_s']:.2f} | {_used(use)} |"
        )
    yield ""


def _used(use: Mapping[str, Any] | None) -> str:
    if use is None:
        return "not measured | | |"
    return (
        f"{use['cpu_s']:.2f} | {use['pss_mib']:.0f} | {use['rss_mib']:.0f} | {use['peak_mib']:.0f}"
    )


def _of_state(row: Mapping[str, Any]) -> str:
    return " | ".join(f"{row[name]:.1f}" for name in ("median", "p95", "cpu", "no_core"))


def _load(load: Mapping[str, Any]) -> Iterator[str]:
    yield "## With an optimization, a profile and a compile running\n"
    yield f"{load['file']}, pulled after each edit; {load['when']}. Quiet and loaded take turns.\n"
    yield (
        "*CPU*: what the server computed for each edit; *no core*: how long its threads were ready"
        " to compute and had no core. Goal: p95 rises by less than 20 %.\n"
    )
    yield (
        "| edit | quiet: median | p95 | CPU | no core | loaded: median | p95 | CPU | no core"
        " | p95 rises by |"
    )
    yield f"| --- |{' ---: |' * 9}"
    for name, both in load["edits"].items():
        quiet, loaded = both["quiet"], both["loaded"]
        rise = 100 * (loaded["p95"] / quiet["p95"] - 1)
        yield (f"| {name} | {_of_state(quiet)} | {_of_state(loaded)} | {rise:.0f} % |")
    yield f"\n{load['jobs']}\n"


if __name__ == "__main__":
    raise SystemExit(main())
