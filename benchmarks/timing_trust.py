"""How often a contest lies, and what it finds: kernels against themselves, and true gains of 3 %.

Runs by itself on a machine with a GPU, torch, triton and this repository's ``engine`` on
``PYTHONPATH``; needs no other package:

    PYTHONPATH=engine python benchmarks/timing_trust.py --out trust.json

Each contest is what the engine holds: a judge here, a runner in a forked process that loads both
versions anew, ``tilewright.worker.timing.controller.conduct``, and the verdict of
``tilewright.evaluation.statistics`` with a noise floor measured before. The comparison of outputs
is left out (outputs are written, nobody reads them), so ``seconds`` lack it. With ``--device cpu``
it shows that it works and proves nothing.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from timing_trust_runner import Runner

from tilewright.evaluation.statistics import ratio_of
from tilewright.worker.timing.controller import conduct
from tilewright.worker.timing.noise_floor import survey

STEPS = 1000
GAIN = 1.03
PER_PROCESS = 20
LONG_BLOCKS = 100
ADDED_STEPS = (26, 28, 30, 32, 34, 36, 38, 42, 46, 50, 54, 58, 62, 66)
"""Tried one after the other: of a short kernel a part of the time is no step's."""

_F32, _F16 = "float32", "float16"
SUBJECTS: Mapping[str, Mapping[str, Any]] = {
    "axpy, 1 MB": {"entry": "axpy", "inputs": {"x": ((1 << 18,), _F32), "y": ((1 << 18,), _F32)}},
    "axpy, 256 MB": {"entry": "axpy", "inputs": {"x": ((1 << 26,), _F32), "y": ((1 << 26,), _F32)}},
    "softmax, 4096 x 4096": {"entry": "softmax", "inputs": {"x": ((4096, 4096), _F16)}},
    "matmul, 512": {"entry": "matmul", "inputs": dict.fromkeys("ab", ((512, 512), _F16))},
    "matmul, 4096": {"entry": "matmul", "inputs": dict.fromkeys("ab", ((4096, 4096), _F16))},
    "scale in place, 32 MB": {"entry": "scale_in_place", "inputs": {"x": ((1 << 23,), _F32)}},
}
GAINS: Mapping[str, Mapping[str, Any]] = {
    "arithmetic, 5 us": {"entry": "work", "rows": 132 * 4 * 512, "scale": 0.25},
    "arithmetic, short": {"entry": "work", "rows": 132 * 8 * 512, "scale": 0.5},
    "arithmetic, long": {"entry": "work", "rows": 132 * 64 * 512, "scale": 1.0},
    "memory, short": {"entry": "stream", "rows": 132, "scale": 0.2},
    "memory, long": {"entry": "stream", "rows": 264, "scale": 1.0},
}
ON_HOST: Mapping[str, Mapping[str, Any]] = {
    "on the host": {"entry": "on_host", "inputs": {"x": ((4096,), _F32)}}
}


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(dir=_shared_memory()) as folder:
        _run(options, Path(folder))


def _run(options: argparse.Namespace, folder: Path) -> None:
    began = time.perf_counter()
    bench = _Bench(options.device, folder)
    cpu = options.device == "cpu"
    for name, subject in (ON_HOST if cpu else SUBJECTS).items():
        count = -(-options.selves // (1 if cpu else len(SUBJECTS)))
        bench.compare("self", name, {**subject, "steps": (STEPS, STEPS)}, count)
    for name, gain in _gains(cpu).items():
        subject = bench.with_gain(name, gain)
        bench.compare("gain", name, subject, -(-options.tries // (1 if cpu else len(GAINS))))
    told = {
        "device": bench.device_name,
        "seconds": time.perf_counter() - began,
        "summary": _summary(bench.records),
        "truth": bench.truth,
        "floors": bench.floors,
        "records": bench.records,
    }
    if options.out:
        Path(options.out).write_text(json.dumps(told))
    print(_text(told))
    if cpu:
        print("on a CPU, by the host's clock: this proves nothing")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--selves", type=int, default=500, help="comparisons with itself")
    parser.add_argument("--tries", type=int, default=100, help="comparisons with a true gain")
    parser.add_argument("--out", help="a file for all samples, as JSON")
    return parser.parse_args()


def _gains(cpu: bool) -> Mapping[str, Mapping[str, Any]]:
    return {"on the host": {"entry": "on_host", "rows": 4096, "scale": 1.0}} if cpu else GAINS


class _Bench:
    """What was measured so far."""

    def __init__(self, device: str, folder: Path) -> None:
        self.device = device
        self.device_name = ""
        self.folder = folder
        self.floors: dict[str, Any] = {}
        self.truth: dict[str, Any] = {}
        self.records: list[dict[str, Any]] = []

    def compare(self, kind: str, name: str, subject: Mapping[str, Any], count: int) -> None:
        """Contests, ``PER_PROCESS`` of them in a runner's life."""
        for runner, here in self._runners(subject, count):
            for _ in range(here):
                self.records.append(self._contest(runner, subject) | {"kind": kind} | {"of": name})
        last = self.records[-count:]
        verdicts = dict(Counter(record["verdict"] for record in last))
        seconds = statistics.median(record["seconds"] for record in last)
        _say(f"{kind}: {name}: {last[-1]['us']:.1f} us, {verdicts}, {seconds:.3f} s a contest")

    def with_gain(self, name: str, gain: Mapping[str, Any]) -> dict[str, Any]:
        """The subject whose candidate is truly faster by ``GAIN``, by a long measurement."""
        steps = round(STEPS * gain["scale"])
        long: dict[int, float] = {}
        for added in ADDED_STEPS:
            subject = _subject(gain, steps + round(added * gain["scale"]), steps)
            for runner, _ in self._runners(subject, 1):
                asked = {"blocks": LONG_BLOCKS, "batches": False, "noise": 0.0, "reload": True}
                long[added] = conduct(runner.ask, asked, None)["value"]
            if long[added] >= GAIN:
                break
        added = min(long, key=lambda one: abs(long[one] - GAIN))
        self.truth[name] = {"added_steps": added, "of": steps, "ratio": long[added], "all": long}
        _say(f"gain: {name}: truly {long[added]:.4f} with {added} steps more in {STEPS}")
        return _subject(gain, steps + round(added * gain["scale"]), steps)

    def _runners(self, subject: Mapping[str, Any], count: int) -> Iterator[tuple[Runner, int]]:
        while count > 0:
            runner = Runner(self.device, subject)
            try:
                yield runner, min(PER_PROCESS, count)
            finally:
                runner.close()
            count -= PER_PROCESS

    def _contest(self, runner: Runner, subject: Mapping[str, Any]) -> dict[str, Any]:
        spec = {"out": str(self.folder), "noise": self.floors, "reload": True}
        spec["batches"] = self.device != "cpu"
        told = conduct(runner.ask, spec, _unread, None, lambda: self._survey(subject))
        self.device_name = told["device"]
        if told["survey"]:
            self.floors[told["survey"]["duration"]] = told["survey"]
        ratio = ratio_of(told["blocks"], 0)
        floor = told["noise"]
        verdict = "none"
        if told["faults"]:
            verdict = "not trusted"
        elif ratio.low > 1 + floor:
            verdict = "faster"
        elif ratio.high < 1 - floor:
            verdict = "slower"
        kept = ("logs", "blocks", "looks", "repeats", "sets", "host_us", "wall", "faults", "noise")
        return {key: told[key] for key in kept} | {
            "verdict": verdict,
            "judge": told["verdict"],
            "value": ratio.value,
            "low": ratio.low,
            "high": ratio.high,
            "detectable": ratio.detectable(floor),
            "us": told["original_us"],
            "seconds": told["seconds"] - (told["survey"] or {}).get("seconds", 0.0),
            "phases": told.get("phases"),
        }

    def _survey(self, subject: Mapping[str, Any]) -> dict[str, Any]:
        same = {**subject, "steps": (subject["steps"][0],) * 2}
        runner = Runner(self.device, same)
        try:
            found = survey(runner.ask, {})
        finally:
            runner.close()
        _say(f"noise floor, {found['duration']}: {found['floor']:.4f} in {found['seconds']:.2f} s")
        return found


def _subject(gain: Mapping[str, Any], slow: int, quick: int) -> dict[str, Any]:
    inputs: dict[str, Any] = {"x": ((gain["rows"],), _F32)}
    if gain["entry"] == "work":
        inputs["factors"] = ((2,), _F32)
    if gain["entry"] == "stream":
        inputs["x"] = ((gain["rows"], (slow + 1) * 1024), _F32)
    return {"entry": gain["entry"], "inputs": inputs, "steps": (slow, quick)}


def _unread(turn: int, outputs: list[dict[str, Any]]) -> None:
    return None


def _summary(records: list[dict[str, Any]]) -> dict[str, Any]:
    selves = [record for record in records if record["kind"] == "self"]
    gains = [record for record in records if record["kind"] == "gain"]
    seconds = sorted(record["seconds"] for record in records)
    return {
        "selves": len(selves),
        "false": sum(record["verdict"] in ("faster", "slower") for record in selves),
        "false_without_floor": sum(r["low"] > 1 or r["high"] < 1 for r in selves),
        "gains": len(gains),
        "found": sum(record["verdict"] == "faster" for record in gains),
        "not_trusted": sum(record["verdict"] == "not trusted" for record in records),
        "seconds_median": statistics.median(seconds),
        "seconds_90": seconds[int(0.9 * len(seconds))],
        "seconds_most": seconds[-1],
    }


def _text(told: Mapping[str, Any]) -> str:
    found = told["summary"]
    faults = Counter(fault for record in told["records"] for fault in record["faults"])
    lines = [
        f"{told['device']}, {told['seconds']:.0f} s in all",
        f"with itself: {found['false']} of {found['selves']} called faster or slower "
        f"({found['false_without_floor']} if there were no noise floor)",
        f"true gain of 3 %: found in {found['found']} of {found['gains']}",
        f"not trusted: {found['not_trusted']}",
        f"a contest: {found['seconds_median']:.3f} s at the median, {found['seconds_90']:.3f} s at "
        f"the 90th percentile, {found['seconds_most']:.3f} s at most",
        *(f"  {count} x {fault}" for fault, count in faults.most_common(10)),
    ]
    return "\n".join(lines)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _shared_memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


if __name__ == "__main__":
    main()
