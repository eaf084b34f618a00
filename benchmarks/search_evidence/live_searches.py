"""Searches on a GPU, by the command line: strategies at an equal budget, and a tiling.

    python benchmarks/search_evidence/live_searches.py --device cuda:0 --out live.json

Each search has a home and a Triton cache of its own, and is replayed from its record. OUT is
written after each of them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SEVERAL_CASES = Path(__file__).with_name("several_cases") / "matmul.yaml"


@dataclass(frozen=True)
class Search:
    """One run of ``tilewright optimize``; ``problem`` where it is not the file's own."""

    file: Path
    strategy: str
    budget: int
    problem: Path | None = None

    @property
    def name(self) -> str:
        return f"{self.file.stem}.{self.strategy}"

    def arguments(self, device: str) -> list[str]:
        """Of the command line."""
        problem = ["--problem", str(self.problem)] if self.problem else []
        given = ["--strategy", self.strategy, "--budget", str(self.budget)]
        return ["optimize", str(self.file), "--device", device, *given, *problem]


def searches(files: Sequence[Path], budget: int) -> Iterator[Search]:
    """The stages alone and ``auto`` on each file, then a tiling."""
    for file in files:
        for strategy in ("staged", "auto"):
            yield Search(file, strategy, budget)
    yield Search(ROOT / "examples" / "matmul.py", "tiling", budget // 2, SEVERAL_CASES)


def run(search: Search, device: str, home: Path) -> dict[str, Any]:
    """The end of a search, its trials, and whether its replay gives the same."""
    began = time.monotonic()
    code, result, said = _called(search.arguments(device), home)
    wall_s = round(time.monotonic() - began, 1)
    if "trials" not in result:
        return {"error": said[-1000:], "code": code, "wall_s": wall_s}
    _, replayed, why = _called(["replay", result["run"]], home)
    speedup = result["speedup"]
    return {
        "strategy": search.strategy, "budget": search.budget, "device": result["device"],
        "level": result["level"], "speedup": speedup, "evaluations": len(result["trials"]),
        "wall_s": wall_s, "notes": result["notes"], "search": result.get("search"),
        "trials": [_trial(one) for one in result["trials"]],
        "replayed": replayed.get("equal", why[-300:]),
    }  # fmt: skip


def _trial(trial: Mapping[str, Any]) -> dict[str, Any]:
    node = trial["node"] or {}
    speedup = trial["speedup"] and trial["speedup"]["value"]
    return {
        "proposer": trial["proposer"], "rationale": trial["rationale"][:100],
        "level": trial["level"], "kept": trial["kept"], "speedup": speedup,
        "log_speed": node.get("log_speed"), "reason": trial["reason"][:160],
    }  # fmt: skip


def _called(arguments: Sequence[str], home: Path) -> tuple[int, dict[str, Any], str]:
    environment = {
        **os.environ, "TILEWRIGHT_HOME": str(home), "TRITON_CACHE_DIR": str(home / "triton"),
    }  # fmt: skip
    command = [sys.executable, "-m", "tilewright", *arguments, "--format", "json"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    value = json.loads(ran.stdout) if ran.stdout.startswith("{") else {}
    return ran.returncode, value, ran.stderr or ran.stdout


def main() -> int:
    """Search as long as there is time; 1 if a search ended with an error or none was begun."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--budget", type=int, default=48)
    parser.add_argument("--limit-s", type=float, default=480.0, help="begin nothing after that")
    parser.add_argument("--out", type=Path, default=Path("live.json"))
    options = parser.parse_args()
    files = options.files or [ROOT / "examples" / f"{x}.py" for x in ("layernorm", "linear_gelu")]
    began = time.monotonic()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for search in searches(files, options.budget):
            if time.monotonic() - began > options.limit_s:
                print(f"{search.name}: not run, no time left", flush=True)
                continue
            one = found[search.name] = run(search, options.device, Path(folder) / search.name)
            shown = {key: value for key, value in one.items() if key not in ("trials", "search")}
            print(f"{search.name}: {json.dumps(shown)[:1200]}", flush=True)
            options.out.write_text(json.dumps(found, indent=1), "utf-8")
    return int(not found or any("error" in one for one in found.values()))


if __name__ == "__main__":
    sys.exit(main())
