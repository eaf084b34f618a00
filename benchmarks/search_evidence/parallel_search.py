"""One search on one GPU and on two: evaluations an hour, and whether the trees are the same.

    python benchmarks/search_evidence/parallel_search.py compare --out two_gpus.json

Runs the command line as a person would, in up to three ways: on one GPU, on two, and on two with
the verdicts of the first. In the last one each candidate is judged again, so that it takes its
time, and the search goes on with the verdict of the run on one GPU: its tree must then be the same.
The trees of the others differ where two contests order two candidates differently; the file says
which, with their intervals.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any
from unittest import mock

import yaml

from tilewright.cli.main import main as tilewright
from tilewright.evaluation.model import Evaluation, text_hash
from tilewright.serialize import dump, load
from tilewright.strategies.generations import GenerationSearch

ROOT = Path(__file__).resolve().parents[2]
BEAM: Mapping[str, Any] = {"strategy": "beam", "beam": {"width": 6, "ideas": 8}}
"""Generations of up to 48 candidates: at the end of each, a GPU waits for the other."""
_NODE = ("parent", "idea", "log_speed", "half_width", "measured", "state")


class Recorder:
    """Writes down each verdict of a search; gives those of another run in their place.

    Args:
        out: gets a line for each verdict.
        given: verdicts by the hashes of text and parent; empty: the search's own count.
    """

    def __init__(self, out: Path, given: Mapping[tuple[str, str], Any]) -> None:
        self._given = given
        self._lock = Lock()
        self._out = out
        self._judge = GenerationSearch.judge

    def judge(self, search: GenerationSearch, text: str, parent: str, thorough: bool) -> Evaluation:
        """Judge a candidate.

        Raises:
            KeyError: the other run has no verdict on it.
        """
        began = time.monotonic()
        found = self._judge(search, text, parent, thorough)
        key = text_hash(text), text_hash(parent)
        line = {"key": key, "began": began, "ended": time.monotonic(), "found": dump(found)}
        with self._lock, self._out.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")
        return load(Evaluation, self._given[key]) if self._given else found


def record(out: Path, given: Path | None, arguments: Sequence[str]) -> None:
    """``tilewright`` with a recorder."""
    lines = _lines(given) if given else []
    recorder = Recorder(out, {tuple(line["key"]): line["found"] for line in lines})

    def judge(search: GenerationSearch, text: str, parent: str, thorough: bool) -> Evaluation:
        return recorder.judge(search, text, parent, thorough)

    with (
        mock.patch.object(GenerationSearch, "judge", judge),
        mock.patch.object(sys, "argv", ["tilewright", *arguments]),
    ):
        tilewright()


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def searched(folder: Path, name: str, device: str, given: str, options: Any) -> dict[str, Any]:
    """One run in a process of its own: its tree, its rate, and how well its GPUs were used."""
    verdicts, home, spec = folder / f"{name}.jsonl", folder / f"home-{name}", folder / "beam.yaml"
    spec.write_text(yaml.safe_dump(dict(BEAM)), "utf-8")
    command = [
        sys.executable, __file__, "record", "--out", str(verdicts),
        *(["--given", str(folder / f"{given}.jsonl")] if given else []), "--",
        "optimize", str(options.file), "--device", device, "--strategy", str(spec), "--budget",
        str(options.budget), "--format", "events",
    ]  # fmt: skip
    environment = {
        **os.environ, "TILEWRIGHT_HOME": str(home), "TRITON_CACHE_DIR": str(home / "triton"),
    }  # fmt: skip
    began = time.monotonic()
    tree: dict[str, dict[str, Any]] = {}
    last: dict[str, Any] = {}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout or ():
            last = json.loads(line)
            if last.get("event") == "trial" and (node := last["trial"]["node"]):
                tree[node["slot"]] = {key: node[key] for key in _NODE} | {"hash": node["hash"]}
    if last.get("event") != "result" or not verdicts.is_file():
        return {"error": last, "code": running.returncode}
    result = last["result"]
    return {
        "device": device, "verdicts of": given or name, "tree": tree, **_rate(_lines(verdicts)),
        "wall_s": round(time.monotonic() - began, 1), "notes": result["notes"],
        "final": text_hash(result["final"])[:12],
        "speedup": result["speedup"] and result["speedup"]["value"],
        "found": {"/".join(line["key"]): line["found"] for line in _lines(verdicts)},
    }  # fmt: skip


def _rate(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Evaluations an hour from the first one's begin, and how many were under way at a time."""
    began, ended = min(x["began"] for x in lines), max(x["ended"] for x in lines)
    judging = sum(x["ended"] - x["began"] for x in lines)
    return {
        "evaluations": len(lines), "seconds": round(ended - began, 2),
        "per_hour": round(3600 * len(lines) / (ended - began), 1),
        "seconds_each": round(judging / len(lines), 3),
        "under_way": round(judging / (ended - began), 3),
    }  # fmt: skip


def compared(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The rates of two runs, how far their trees agree, and how far their verdicts do."""
    if "error" in one or "error" in other:
        return {"error": "a search ended with an error"}
    first, second = one["tree"], other["tree"]
    differing = [
        slot for slot in sorted(first.keys() | second.keys()) if _parts(first, second, slot)
    ]
    parts = min((int(slot.partition(".")[0]) for slot in differing), default=None)
    return {
        "ratio": round(other["per_hour"] / one["per_hour"], 3),
        "slots": [len(first), len(second)], "differing": len(differing),
        "first_that_differs": parts,
        "because": _because(first, second, parts) if parts is not None else [],
        "verdicts": _verdicts(one["found"], other["found"]),
        "results": [one["final"], other["final"]],
        "speedups": [one["speedup"], other["speedup"]],
    }  # fmt: skip


def _parts(first: Mapping[str, Any], second: Mapping[str, Any], slot: str) -> bool:
    ours, theirs = first.get(slot), second.get(slot)
    return not (ours and theirs) or any(ours[x] != theirs[x] for x in ("parent", "idea", "hash"))


def _because(
    first: Mapping[str, Any], second: Mapping[str, Any], generation: int
) -> list[dict[str, Any]]:
    """The parents that one tree alone has in a generation, with the speeds of both runs."""

    def parents(tree: Mapping[str, Any]) -> list[str]:
        own = (n["parent"] for s, n in tree.items() if int(s.partition(".")[0]) == generation)
        return list(dict.fromkeys(own))

    def speed(tree: Mapping[str, Any], name: str) -> Any:
        found = next((node for node in tree.values() if node["hash"] == name), None)
        return found and [found["log_speed"], found["half_width"], found["state"]]

    ours, theirs = parents(first), parents(second)
    names = [name for name in dict.fromkeys([*ours, *theirs]) if (name in ours) != (name in theirs)]
    return [
        {
            "text": name, "parent_in": ["first" if name in ours else "second"],
            "log_speeds": [speed(first, name), speed(second, name)],
        }
        for name in names or [*ours, *theirs]
    ]  # fmt: skip


def _verdicts(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, int]:
    """How many contests both runs made, and how far they agree."""
    both = [name for name in first if name in second]
    pairs = [(first[name]["speedup"], second[name]["speedup"]) for name in both]
    timed = [(a, b) for a, b in pairs if a and b]
    return {
        "both": len(both),
        "same_level": sum(first[name]["level"] == second[name]["level"] for name in both),
        "timed": len(timed),
        "intervals_meet": sum(a["low"] <= b["high"] and b["low"] <= a["high"] for a, b in timed),
    }


def compare(options: Any) -> dict[str, Any]:
    """All runs, one after the other, each compared with the first."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for run in options.runs:
            run_name, _, rest = run.partition("=")
            device, _, given = rest.partition("@")
            found[run_name] = searched(folder, run_name, device, given, options)
            shown = {k: v for k, v in found[run_name].items() if k not in ("tree", "found")}
            print(f"{run_name}: {json.dumps(shown)[:1500]}", flush=True)
            options.out.write_text(json.dumps(_packed(found), indent=1), "utf-8")
    one, *others = found
    for other in others:
        found[other]["compared"] = compared(found[one], found[other])
        print(f"{other} and {one}: {json.dumps(found[other]['compared'])}")
    return _packed(found)


def _packed(found: Mapping[str, Any]) -> dict[str, Any]:
    """Without the verdicts, which are compared already."""
    return {run: {k: v for k, v in own.items() if k != "found"} for run, own in found.items()}


def main() -> None:
    """Compare the runs, or be one of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    comparing = commands.add_parser("compare", help="run all and compare them")
    comparing.add_argument("--file", type=Path, default=ROOT / "examples" / "matmul.py")
    comparing.add_argument("--budget", type=int, default=80)
    comparing.add_argument("--out", type=Path, default=Path("two_gpus.json"))
    comparing.add_argument(
        "--runs", nargs="+", metavar="NAME=DEVICES[@NAME]",
        default=["one=cuda:0", "two=cuda:0,cuda:1", "replayed=cuda:0,cuda:1@one"],
        help="the first is what the others are compared with; @NAME: with that run's verdicts",
    )  # fmt: skip
    recording = commands.add_parser("record", help="one run of the command line")
    recording.add_argument("--out", type=Path, required=True)
    recording.add_argument("--given", type=Path)
    recording.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    if options.command == "record":
        record(options.out, options.given, options.arguments)
        return
    options.out.write_text(json.dumps(compare(options), indent=1), "utf-8")


if __name__ == "__main__":
    main()
