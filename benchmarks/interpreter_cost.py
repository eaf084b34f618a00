"""The cost of a verdict in Triton's interpreter: twenty candidates of all kinds.

    python benchmarks/interpreter_cost.py --out after.json [--against before.json]

The candidates are unusual honest kernels and cheats of ``tests/evidence``, and the examples with
other launch configurations. Each has a judge of its own; none is compiled for a chip. Printed are
processor seconds of all processes, which depend little on what else the machine does, seconds on
the clock, and the verdict. ``--against`` an earlier file: ratios, and whether verdicts agree.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "evidence"))

from candidates import HERE, spec_of  # noqa: E402

from tilewright.devices.opening import open_device  # noqa: E402
from tilewright.evaluation.cascade import Cascade  # noqa: E402
from tilewright.evaluation.workbench import Workbench  # noqa: E402
from tilewright.problems.loading import load_problem  # noqa: E402
from tilewright.worker.messages.jobs import ProbeJob  # noqa: E402

os.environ["TILEWRIGHT_SERVICE"] = "0"  # processes below this one are counted
_TICKS = os.sysconf("SC_CLK_TCK")
_CHANGED = {
    "matmul": (("BLOCK_K=32", "BLOCK_K=64"),),
    "softmax": (("BLOCK=1024", "BLOCK=2048"),),
    "layernorm": (("BLOCK=512", "BLOCK=1024"),),
    "linear_gelu": (("BLOCK_K=32", "BLOCK_K=64"),),
}
_EVIDENCE = (
    "softmax__online", "softmax__two_kernels", "matmul__split_k_atomics", "matmul__split_k_scratch",
    "matmul__autotuned_reset", "matmul__last_arriver", "layernorm__welford", "rowsum__two_stages",
    "embedding__many_ids", "attention__longer_tiles", "dequant__retiled", "linear__split_k",
    "lookup__whole_rows", "norm__several_rows", "matmul__half_operands", "rowsum__in_a_partial",
)  # fmt: skip


def candidates() -> Iterator[tuple[str, Path, Path, str]]:
    """(name, the original, its spec, the candidate's text) of each."""
    for stem, changes in _CHANGED.items():
        source = ROOT / "examples" / f"{stem}.py"
        text = source.read_text("utf-8")
        for old, new in changes:
            assert old in text, (stem, old)
            text = text.replace(old, new)
        yield f"example {stem}", source, source.with_suffix(".yaml"), text
    for name in _EVIDENCE:
        base = name.partition("__")[0]
        found = next(HERE.glob(f"*/{name}.py"))
        source = HERE / "bases" / base / "original.py"
        yield name, source, spec_of(source), found.read_text("utf-8")


def verdict(name: str, source: Path, spec: Path, text: str) -> dict[str, Any]:
    """One candidate before a judge of its own."""
    problem = load_problem(spec, source)
    device = open_device("interpreter")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            bench = Workbench(device, problem, source, Path(scratch), 1)
            original = source.read_text("utf-8")
            cascade = Cascade(original, str(source), bench, None)
            probe: ProbeJob = {"kind": "probe"}
            device.run(probe, 120.0)  # torch and triton are imported by then
            start, begin = _cpu_seconds(), time.monotonic()
            found = cascade.judge(text, original)
            wall, cpu = time.monotonic() - begin, _cpu_seconds() - start
    finally:
        device.close()
    data = next((step.data for step in found.steps if step.step.value == "correctness"), {})
    checks = data.get("checks") or ()
    return {
        "name": name, "level": found.level.value, "cpu_s": round(cpu, 2), "wall_s": round(wall, 2),
        "failed": found.failed.message[:160] if found.failed else "",
        "checks": len(checks), "skipped": sum("skipped" in check for check in checks),
        "seconds": data.get("seconds"), "interpreted": data.get("interpreted"),
        "repetition": data.get("repetition"),
    }  # fmt: skip


def _cpu_seconds() -> float:
    """Of this process and all below it, those that have ended included."""
    parents: dict[int, list[int]] = {}
    spent: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.name))
        spent[int(entry.name)] = sum(map(int, fields[11:15])) / _TICKS
    total, waiting = 0.0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total += spent.get(process, 0.0)
        waiting += parents.get(process, [])
    return total


def report(found: Sequence[Mapping[str, Any]], before: Mapping[str, Mapping[str, Any]]) -> None:
    """A row each, and the ratios."""
    ratios = []
    print("| candidate | verdict | checks | CPU s | wall s | before: CPU s | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for one in found:
        known = before.get(one["name"])
        past = ratio = ""
        if known:
            ratios.append(known["cpu_s"] / one["cpu_s"])
            past, ratio = f"{known['cpu_s']:.1f}", f"{ratios[-1]:.1f}"
            if known["level"] != one["level"]:
                ratio += f" ANOTHER VERDICT: was {known['level']} {known['failed']}"
        print(
            f"| {one['name']} | {one['level']} | {one['checks']} | {one['cpu_s']:.1f} "
            f"| {one['wall_s']:.1f} | {past} | {ratio} |"
        )
    total = sum(one["cpu_s"] for one in found)
    print(f"in all {total:.1f} s of processor time, {sum(one['wall_s'] for one in found):.1f} s")
    if ratios:
        past = sum(before[one["name"]]["cpu_s"] for one in found if one["name"] in before)
        print(
            f"before {past:.1f} s: {past / total:.2f} times as much; ratios from {min(ratios):.2f} "
            f"to {max(ratios):.2f}, {statistics.median(ratios):.2f} at the median"
        )


def main() -> None:
    """All of them, one by one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="", help="parts of names, with commas between")
    asked = parser.parse_args()
    parts = asked.only.split(",")
    found = []
    for candidate in candidates():
        if any(part in candidate[0] for part in parts):
            found.append(verdict(*candidate))
            print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    known = json.loads(asked.against.read_text("utf-8")) if asked.against else []
    report(found, {one["name"]: one for one in known})


if __name__ == "__main__":
    main()
