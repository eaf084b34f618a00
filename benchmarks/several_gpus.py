"""Several GPUs of one host, and the way over ssh to a GPU: the same verdicts, and what it takes.

    python benchmarks/several_gpus.py --out several.json

Runs the command line as a person would. What goes over ssh goes to this machine, by a program
named ``ssh`` that starts here what ssh would have started there: the worker still travels over
standard input, and files by the link.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
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
    options = parser.parse_args()
    started = time.monotonic()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        runs = _Runs(Path(name))
        steps = _steps(Path(name), runs, options.budget)
        for step, work in steps:
            if time.monotonic() - started > options.limit_s:
                print(f"{step}: not run, no time left")
                continue
            begun = time.monotonic()
            found[step] = work()
            found[step]["wall_s"] = round(time.monotonic() - begun, 2)
            print(f"{step}: {json.dumps(found[step])[:1500]}", flush=True)
    options.out.write_text(json.dumps(found, indent=1))


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
