"""Several GPUs of one host, and the way over ssh to a GPU: the same verdicts, and what it takes.

    python benchmarks/several_gpus.py --out several.json
    python benchmarks/several_gpus.py --search --out two.json    # a beam on one GPU, and on two

Runs the command line as a person would. What goes over ssh goes to this machine, by a program
named ``ssh`` that starts here what ssh would have started there: the worker still travels over
standard input, and files by the link.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
SSH = """#!/bin/sh
while [ "$1" != "--" ]; do shift; done
shift; shift
unset PYTHONPATH
cd / && exec sh -c "$*"
"""


def main() -> None:
    """Print what was found, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("several.json"))
    parser.add_argument("--budget", type=int, default=16)
    parser.add_argument("--limit-s", type=float, default=110.0, help="Begin nothing after this.")
    parser.add_argument("--search", action="store_true", help="Compare a search on one and on two.")
    parser.add_argument("--devices", nargs=2, default=["cuda:0", "cuda:0,cuda:1"])
    options = parser.parse_args()
    started = time.monotonic()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        runs = _Runs(Path(name))
        steps = _steps(Path(name), runs, options.budget)
        if options.search:
            devices = dict(zip(("one", "two"), options.devices, strict=True))
            steps = [
                (step, partial(runs.searched, "matmul.py", device, options.budget))
                for step, device in devices.items()
            ]
        for step, work in steps:
            late = time.monotonic() - started > options.limit_s
            if late and not options.search:  # one search without the other says nothing
                print(f"{step}: not run, no time left")
                continue
            begun = time.monotonic()
            found[step] = work()
            found[step]["wall_s"] = round(time.monotonic() - begun, 2)
            print(f"{step}: {json.dumps(found[step])[:1500]}", flush=True)
    if {"one", "two"} <= found.keys():
        found["compared"] = _compared(found["one"], found["two"])
        print(f"compared: {json.dumps(found['compared'])}")
    options.out.write_text(json.dumps(found, indent=1))


def _compared(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    """The rates, and how far the trees agree: times decide which node is a parent, so that a later
    generation may differ where two speeds are close."""
    if "error" in one or "error" in two:
        return {"error": "a search ended with an error"}
    first, second = one["tree"], two["tree"]
    differing = [slot for slot in first if first[slot] != second.get(slot)]
    generations = sorted({int(slot.partition(".")[0]) for slot in first})
    other = min((int(slot.partition(".")[0]) for slot in differing), default=None)
    return {
        "ratio": round(two["per_hour"] / one["per_hour"], 3),
        "slots": [len(first), len(second)], "differing": len(differing),
        "generations": len(generations), "first_that_differs": other,
        "results": [one["final"], two["final"]], "speedups": [one["speedup"], two["speedup"]],
    }  # fmt: skip


def _steps(folder: Path, runs: _Runs, budget: int) -> list[tuple[str, Any]]:
    wrong = folder / "wrong" / "softmax.py"
    wrong.parent.mkdir()
    wrong.write_text((EXAMPLES / "softmax.py").read_text().replace("tl.exp(", "tl.exp2(", 1))
    right = str(EXAMPLES / "softmax.py")
    far = f"ssh://there{sys.executable}#cuda:1"
    return [
        ("devices", lambda: runs.devices()),
        ("devices over ssh", lambda: runs.devices("--device", f"ssh://there{sys.executable}")),
        ("wrong on cuda:0", lambda: runs.verified(right, str(wrong), "cuda:0")),
        ("wrong on cuda:1", lambda: runs.verified(right, str(wrong), "cuda:1")),
        ("wrong over ssh", lambda: runs.verified(right, str(wrong), far)),
        ("same over ssh", lambda: runs.verified(right, right, far)),
        ("optimize on cuda:all", lambda: runs.optimized("matmul.py", "cuda:all", budget)),
        ("optimize on cuda:0", lambda: runs.optimized("matmul.py", "cuda:0", budget)),
        ("left", lambda: {"folders": sorted(map(str, Path("/tmp").glob("tilewright-*")))}),
    ]


class _Runs:
    """The command line, each time with a home and a Triton cache of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        programs = folder / "programs"
        programs.mkdir()
        (programs / "ssh").write_text(SSH)
        (programs / "ssh").chmod(0o755)
        self._path = f"{programs}{os.pathsep}{os.environ['PATH']}"

    def _environment(self) -> dict[str, str]:
        self._number += 1
        home = self._folder / f"home{self._number}"
        return {
            **os.environ, "PATH": self._path, "TILEWRIGHT_HOME": str(home),
            "TRITON_CACHE_DIR": str(home / "triton"),
        }  # fmt: skip

    def _run(self, *arguments: str) -> dict[str, Any]:
        environment = self._environment()
        command = [sys.executable, "-m", "tilewright", *arguments, "--format", "json"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if ran.returncode not in (0, 1):
            return {"error": ran.stderr[-1000:], "code": ran.returncode}
        value: dict[str, Any] = json.loads(ran.stdout)
        return value

    def devices(self, *arguments: str) -> dict[str, Any]:
        return self._run("devices", *arguments)

    def verified(self, original: str, candidate: str, device: str) -> dict[str, Any]:
        value = self._run("verify", original, candidate, "--device", device)
        names = ("accepted", "level", "failed", "error")
        return {name: value[name] for name in names if name in value}

    def searched(self, file: str, device: str, budget: int) -> dict[str, Any]:
        """A beam: its tree without times, and evaluations an hour once it goes."""
        command = [
            sys.executable, "-m", "tilewright", "optimize", str(EXAMPLES / file), "--device",
            device, "--strategy", "beam", "--budget", str(budget), "--format", "events",
        ]  # fmt: skip
        tree: dict[str, list[Any]] = {}
        times: list[float] = []
        last: dict[str, Any] = {}
        with subprocess.Popen(
            command, env=self._environment(), stdout=subprocess.PIPE, text=True
        ) as running:
            for line in running.stdout or ():
                last = json.loads(line)
                node = last["event"] == "trial" and last["trial"]["node"]
                if node:
                    times.append(time.monotonic())
                    tree[node["slot"]] = [node["parent"], node["idea"]]
        if last.get("event") != "result" or len(times) < 2:
            return {"error": last, "code": running.returncode}
        result = last["result"]
        rate = (len(times) - 1) / (times[-1] - times[0])
        return {
            "device": device, "tree": tree, "per_hour": rate * 3600,
            "evaluations": len(times), "seconds": result["seconds"], "notes": result["notes"],
            "final": hashlib.sha256(result["final"].encode()).hexdigest()[:12],
            "speedup": result["speedup"] and result["speedup"]["value"],
        }  # fmt: skip

    def optimized(self, file: str, device: str, budget: int) -> dict[str, Any]:
        arguments = ("--device", device, "--budget", str(budget))
        value = self._run("optimize", str(EXAMPLES / file), *arguments)
        if "error" in value:
            return value
        trials = [(t["proposer"], t["level"], t["kept"], t["reason"][:90]) for t in value["trials"]]
        names = ("level", "speedup", "device", "notes", "seconds")
        return {**{name: value.get(name) for name in names}, "trials": trials}


if __name__ == "__main__":
    main()
