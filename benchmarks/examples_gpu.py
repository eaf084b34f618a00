"""Optimizes the examples on a GPU and times original, optimized and torch against each other.

    python benchmarks/examples_gpu.py --device cuda:0 [--json out.json] [NAME ...]

The optimizer measures for itself; the figures here come from a second, independent timing
of the file it hands back, in another process, the three interleaved. Intervals are 99 %
bootstrap intervals of the ratio of medians over the rounds.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXAMPLES_DIR = HERE.parent / "examples"
EXAMPLES = ("matmul", "softmax", "linear_gelu", "layernorm")
CONFIDENCE = 0.99
RESAMPLES = 2000


def main() -> int:
    options = _options()
    rows: list[dict[str, Any]] = []
    for name in options.examples:
        rows.append(_run(name, options))
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")
    print(_table(rows))
    return 0 if all("error" not in row for row in rows) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", nargs="*", default=EXAMPLES)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--target", help="by default the device's own")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--budget", type=int)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    print(f"{name}: optimizing", file=sys.stderr, flush=True)
    started = time.monotonic()
    result, error = _optimize(EXAMPLES_DIR / f"{name}.py", options)
    if result is None:
        return {"example": name, "error": error}
    row: dict[str, Any] = {
        "example": name,
        "optimize_seconds": round(time.monotonic() - started, 1),
        "trials": len(result["trials"]),
        "kept": [t["proposer"] for t in result["trials"] if t["kept"]],
        "level": result["level"],
        "own_speedup": result["speedup"],
        "diff": result["diff"],
    }
    print(f"{name}: timing", file=sys.stderr, flush=True)
    return row | _time(name, result["final"], options)


def _optimize(path: Path, options: argparse.Namespace) -> tuple[Mapping[str, Any] | None, str]:
    argv = [sys.executable, "-m", "tilewright", "optimize", str(path), "--format", "json"]
    argv += ["--device", options.device]
    argv += ["--target", options.target] if options.target else []
    argv += ["--budget", str(options.budget)] if options.budget else []
    run = subprocess.run(argv, capture_output=True, text=True)
    if run.returncode != 0:
        return None, f"exit code {run.returncode}: {run.stderr[-1500:]}"
    return json.loads(run.stdout), ""


def _time(name: str, final: str, options: argparse.Namespace) -> dict[str, Any]:
    from tilewright.problems.loading import load_problem

    source = EXAMPLES_DIR / f"{name}.py"
    problem = load_problem(source.with_suffix(".yaml"), source)
    case = problem.measured_cases()[0]
    with tempfile.TemporaryDirectory() as folder:
        optimized = Path(folder) / "optimized" / source.name
        optimized.parent.mkdir()
        optimized.write_text(final, encoding="utf-8")
        job = {
            "original": str(source),
            "optimized": str(optimized),
            "entry": name,
            "device": options.device,
            "rounds": options.rounds,
            "inputs": [
                {"shape": i.shape, "dtype": i.dtype, "transforms": i.transforms}
                for i in case.inputs
            ],
            "rtol": case.rtol,
            "atol": case.atol,
        }
        child = subprocess.run(
            [sys.executable, str(HERE / "timing_child.py")],
            input=json.dumps(job),
            capture_output=True,
            text=True,
        )
    if child.returncode != 0:
        return {"error": f"timing: {child.stderr[-1500:]}"}
    measured = json.loads(child.stdout)
    us = measured["us"]
    rates = {key: _rate(case.flop, case.mem_bytes, statistics.median(us[key])) for key in us}
    return {
        "case": dict(case.dims),
        "gpu": measured["gpu"],
        "torch_version": measured["torch"],
        "close_to_torch": measured["close_to_torch"],
        "median_us": {key: round(statistics.median(values), 2) for key, values in us.items()},
        "rate": rates,
        "over_original": _ratio(us["original"], us["optimized"]),
        "over_torch": _ratio(us["torch"], us["optimized"]),
    }


def _rate(flop: float | None, mem_bytes: float | None, us: float) -> dict[str, float]:
    found = {}
    if flop:
        found["tflops"] = round(flop / us / 1e6, 2)
    if mem_bytes:
        found["gb_per_s"] = round(mem_bytes / us / 1e3, 1)
    return found


def _ratio(slow: Sequence[float], fast: Sequence[float]) -> dict[str, float]:
    """Ratio of medians with its percentile bootstrap interval over paired rounds."""
    generator = random.Random(0)
    rounds = range(len(slow))
    drawn = []
    for _ in range(RESAMPLES):
        pick = generator.choices(rounds, k=len(slow))
        drawn.append(
            statistics.median(slow[i] for i in pick) / statistics.median(fast[i] for i in pick)
        )
    drawn.sort()
    tail = (1 - CONFIDENCE) / 2
    return {
        "value": round(statistics.median(slow) / statistics.median(fast), 3),
        "low": round(drawn[int(tail * RESAMPLES)], 3),
        "high": round(drawn[int((1 - tail) * RESAMPLES) - 1], 3),
        "confidence": CONFIDENCE,
    }


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    head = ("example", "original us", "optimized us", "torch us", "over original", "over torch")
    body = [head]
    for row in rows:
        if "error" in row:
            body.append((row["example"], f"failed: {row['error'].splitlines()[-1]}", *[""] * 4))
            continue
        us = row["median_us"]
        ratios = [row["over_original"], row["over_torch"]]
        told = [f"{r['value']:.2f}x [{r['low']:.2f}, {r['high']:.2f}]" for r in ratios]
        times = [f"{us[key]:.1f}" for key in ("original", "optimized", "torch")]
        body.append((row["example"], *times, *told))
    widths = [max(len(line[i]) for line in body) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in body
    )


if __name__ == "__main__":
    sys.exit(main())
