"""What a verdict costs beside a bare loop of compiling, ``allclose`` and ``do_bench``.

    python benchmarks/trial_cost.py --device cuda:0 --out cost.json

The same candidates, other launch configurations of the kernels in ``examples/``, go through both.
The bare loop is one process that has everything imported: it compiles (Triton's cache is empty),
compares with the original's result once, and calls ``triton.testing.do_bench``. Ours takes each
through the cascade as a search does, against the fastest of them all, so that what is not faster
stops after its first checks and its timing: first one by one, for what a candidate takes beyond its
bare compile and timing; then the rest, several under way at a time. Last, some against the example
as it was, which they are faster than: those have every check made.

    python benchmarks/trial_cost.py --device cuda:0 --verify 8 --seconds 140 --out verify.json

takes candidates through what ``tilewright verify`` does, each in a new process with every check
made, and prints where the seconds of each went. The first one also starts the worker service and
measures the noise floor. ``TILEWRIGHT_SERVICE=0`` gives each a worker of its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
EVIDENCE = ROOT / "tests" / "evidence"
SEED = 20
_VERIFIED = (
    ("matmul", (("BLOCK_K=32", "BLOCK_K=64"),)), ("softmax", (("BLOCK=1024", "BLOCK=2048"),)),
    ("layernorm", (("BLOCK=512", "BLOCK=1024"),)), ("linear_gelu", (("BLOCK_K=32", "BLOCK_K=64"),)),
    ("softmax__two_kernels", ()), ("layernorm__welford", ()), ("rowsum__two_stages", ()),
    ("attention__longer_tiles", ()),
)  # fmt: skip
"""Examples with a change to their text, and honest kernels of ``tests/evidence``."""


def candidates(count: int) -> list[tuple[str, str]]:
    """(example, text) of so many candidates, drawn over all examples."""
    found: list[tuple[str, str]] = []
    matmul = (EXAMPLES / "matmul.py").read_text()
    tiles = itertools.product((32, 64, 128), (32, 64, 128, 256), (32, 64), (4, 8), (2, 3, 4))
    for m, n, k, warps, stages in tiles:
        text = matmul.replace(
            "cdiv(M, 32), triton.cdiv(N, 32)", f"cdiv(M, {m}), triton.cdiv(N, {n})"
        )
        old = "BLOCK_M=32,\n        BLOCK_N=32,\n        BLOCK_K=32,\n"
        new = f"BLOCK_M={m},\n        BLOCK_N={n},\n        BLOCK_K={k},\n"
        options = f"        num_warps={warps},\n        num_stages={stages},\n"
        assert old in text
        found.append(("matmul", text.replace(old, new + options)))
    for stem, block in (("softmax", 1024), ("layernorm", 512)):
        text = (EXAMPLES / f"{stem}.py").read_text()
        for size, warps, stages in itertools.product(
            (256, 512, 1024, 2048, 4096), (1, 2, 4, 8, 16), (2, 3)
        ):
            options = f"BLOCK={size}, num_warps={warps}, num_stages={stages}"
            found.append((stem, text.replace(f"BLOCK={block}", options)))
    return random.Random(SEED).sample(found, min(count, len(found)))


def bare(device: str, count: int) -> list[dict[str, Any]]:
    """The bare loop in this process: seconds of each part, a candidate each."""
    import torch
    import triton
    from triton.testing import do_bench

    from tilewright.problems.loading import load_problem

    inputs: dict[str, list[Any]] = {}
    expected: dict[str, Any] = {}
    for stem in ("matmul", "softmax", "layernorm"):
        case = load_problem(EXAMPLES / f"{stem}.yaml").measured_cases()[0]
        inputs[stem] = [
            torch.randn(one.shape, dtype=getattr(torch, one.dtype), device=device)
            if one.value is None
            else one.value
            for one in case.inputs
        ]
        expected[stem] = (_entry(EXAMPLES / f"{stem}.py", stem)(*inputs[stem]), case)
    assert triton.__version__
    told = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (stem, text) in enumerate(candidates(count)):
            start = time.perf_counter()
            path = Path(folder, f"candidate{number}.py")
            path.write_text(text)
            parts: dict[str, Any] = {
                "import": 0.0,
                "compile": 0.0,
                "allclose": 0.0,
                "do_bench": 0.0,
            }
            try:
                entry = _entry(path, stem)
                compiled = time.perf_counter()
                got = entry(*inputs[stem])
                torch.cuda.synchronize()
                ran = time.perf_counter()
                wanted, case = expected[stem]
                torch.allclose(got, wanted, rtol=case.rtol, atol=case.atol)
                torch.cuda.synchronize()
                compared = time.perf_counter()
                us = 1e3 * do_bench(lambda entry=entry, stem=stem: entry(*inputs[stem]))
                parts = {
                    "import": compiled - start, "compile": ran - compiled,
                    "allclose": compared - ran, "do_bench": time.perf_counter() - compared,
                }  # fmt: skip
            except (RuntimeError, ValueError) as error:  # too much shared memory
                us, parts["failed"] = None, " ".join(str(error).split())[:120]
            told.append({"stem": stem, "us": us, "wall": time.perf_counter() - start, **parts})
            _say(f"bare {number} {stem} {told[-1]['wall']:.2f} s")
    return told


def _entry(path: Path, stem: str) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, stem)


class Ours:
    """The cascade of each example on one device."""

    def __init__(self, device: str, folder: Path) -> None:
        from tilewright.devices.opening import open_device
        from tilewright.evaluation.cascade import Cascade
        from tilewright.evaluation.workbench import Workbench
        from tilewright.problems.loading import load_problem

        self.device = open_device(device)
        self.cascades = {}
        self.texts = {}
        for stem in ("matmul", "softmax", "layernorm"):
            path = EXAMPLES / f"{stem}.py"
            text = self.texts[stem] = path.read_text()
            bench = Workbench(
                self.device, load_problem(path.with_suffix(".yaml")), path, folder / stem, SEED
            )
            self.cascades[stem] = Cascade(text, str(path), bench, self.device.info.target)
        self.baselines = dict(self.texts)

    def judge(self, stem: str, text: str, baseline: str | None = None) -> dict[str, Any]:
        """One verdict and what it took."""
        start = time.perf_counter()
        against = baseline or self.baselines[stem]
        found = self.cascades[stem].judge(text, against, thorough=False)
        wall = time.perf_counter() - start
        steps = {step.step.value: step.seconds for step in found.steps}
        data = {step.step.value: step.data for step in found.steps}
        failed = found.failed.message[:200] if found.failed else ""
        spent = data.get("correctness", {}).get("seconds")
        _say(f"ours {stem} {wall:.2f} s {found.level.value} {failed[:60]} {spent}")
        timed = [one.get("seconds") for one in (data.get("speed") or {}).get("cases", ())]
        return {
            "stem": stem, "level": found.level.value, "wall": wall, "steps": steps,
            "failed": failed, "spent": spent, "timed_s": timed,
        }  # fmt: skip


def verified(asked: argparse.Namespace) -> list[dict[str, Any]]:
    """What ``tilewright verify`` takes, each candidate in a new process; as many as there is time
    for."""
    began = time.monotonic()
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TILEWRIGHT_HOME": f"{folder}/home"}
        for number in range(min(asked.verify, len(_VERIFIED))):
            if time.monotonic() - began > asked.seconds:
                _say(f"stopped after {number} candidates: {asked.seconds:g} s are over")
                break
            command = [sys.executable, __file__, "--one", str(number), "--device", asked.device]
            start = time.time()
            done = subprocess.run(
                [*command, "--began", repr(start)],
                env=environment, stdout=subprocess.PIPE, text=True, check=True,
            )  # fmt: skip
            told = json.loads(done.stdout.splitlines()[-1])
            found.append({**told, "whole_s": round(time.time() - start, 3)})
            _say(json.dumps(found[-1]))
        stop = [sys.executable, "-m", "tilewright", "service", "stop"]
        subprocess.run(stop, env=environment, stdout=sys.stderr, check=False)
    return found


def verify_one(number: int, device: str, began: float) -> dict[str, Any]:
    """One candidate in this process: seconds since the process was asked for, by what was done."""
    from tilewright.cli.judging import Subject, judge
    from tilewright.cli.output import StreamFormat
    from tilewright.cli.session import device_for
    from tilewright.devices.discovery import start_worker
    from tilewright.evaluation.sizing import sized
    from tilewright.problems.loading import load_problem

    start_worker(device, needed=True)
    marks = {"imports": time.time() - began}
    name, changes = _VERIFIED[number]
    base = name.partition("__")[0]
    path = EXAMPLES / f"{base}.py"
    spec = path.with_suffix(".yaml")
    text = path.read_text()
    if not changes:
        sys.path.insert(0, str(EVIDENCE))
        from candidates import spec_of

        path = EVIDENCE / "bases" / base / "original.py"
        spec = spec_of(path)
        text = next(EVIDENCE.glob(f"*/{name}.py")).read_text()
    for old, new in changes:
        assert old in text, (name, old)
        text = text.replace(old, new)
    original = path.read_text()
    problem = load_problem(spec, path)
    marks["problem"] = time.time() - began
    with device_for(device, None) as opened:
        marks["device"] = time.time() - began
        fitting = sized(problem, opened, path, original)
        subject = Subject(original, text, path, path, fitting)
        judged = judge(subject, opened, opened.info.target, 11, StreamFormat.TEXT)
        marks["judged"] = time.time() - began
    marks["closed"] = time.time() - began
    return {"name": name, "level": judged.evaluation.level.value, **_told(judged, marks)}


def _told(judged: Any, marks: dict[str, float]) -> dict[str, Any]:
    """What the steps of a verification say of their seconds."""
    steps = {step.step.value: step for step in judged.evaluation.steps}
    correctness, speed = steps.get("correctness"), steps.get("speed")
    timed = (speed.data.get("cases") or ()) if speed else ()
    failed = judged.evaluation.failed
    return {
        "failed": failed.message[:200] if failed else "",
        "marks": {mark: round(at, 3) for mark, at in marks.items()},
        "steps": {name: round(step.seconds, 3) for name, step in steps.items()},
        "trial": correctness.data.get("seconds") if correctness else None,
        "checks": len(correctness.data.get("checks") or ()) if correctness else 0,
        "contests_s": [round(float(one.get("seconds") or 0.0), 3) for one in timed],
    }


def report_verified(found: list[dict[str, Any]]) -> None:
    """A row for each candidate."""
    names = ("imports", "problem", "device", "judged", "closed")
    print("| candidate | verdict | whole s | " + " | ".join(names) + " | steps | trial |")
    print("| --- " * (len(names) + 5) + "|")
    for one in found:
        marks = [one["marks"][name] for name in names]
        spans = (b - a for a, b in itertools.pairwise((0.0, *marks)))
        print(
            f"| {one['name']} | {one['level']} | {one['whole_s']:.1f} | "
            + " | ".join(f"{span:.2f}" for span in spans)
            + f" | {one['steps']} | {one['trial']} contests {one['contests_s']} |"
        )
    if found:
        wholes = [one["whole_s"] for one in found]
        print(f"{len(found)} verified, {statistics.median(wholes):.1f} s at the median, "
              f"{min(wholes):.1f} to {max(wholes):.1f} s")  # fmt: skip


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Both, and the two figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--one-by-one", type=int, default=40)
    parser.add_argument("--at-a-time", type=int, default=8)
    parser.add_argument("--accepted", type=int, default=4)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--bare", action="store_true", help="the bare loop alone, as JSON")
    parser.add_argument("--verify", type=int, default=0, help="verify so many, each anew")
    parser.add_argument("--seconds", type=float, default=140.0, help="begin no more after this")
    parser.add_argument("--one", type=int, help="verify one in this process, as JSON")
    parser.add_argument("--began", type=float, default=0.0)
    asked = parser.parse_args()
    if asked.one is not None:
        print(json.dumps(verify_one(asked.one, asked.device, asked.began)))
        return
    if asked.verify:
        found = verified(asked)
        if asked.out:
            asked.out.write_text(json.dumps(found, indent=1))
        report_verified(found)
        return
    if asked.bare:
        print(json.dumps(bare(asked.device, asked.count)))
        return
    value = measured(asked)
    if asked.out:
        asked.out.write_text(json.dumps(value, indent=1))
    report(value)


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """The bare loop, then ours one by one, then ours several at a time."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--bare", "--device", asked.device]
        environment = {**os.environ, "TRITON_CACHE_DIR": f"{folder}/bare"}
        command += ["--count", str(asked.count)]
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        plain = json.loads(done.stdout.splitlines()[-1])
        os.environ["TILEWRIGHT_HOME"] = f"{folder}/home"
        os.environ["TRITON_CACHE_DIR"] = f"{folder}/ours"
        ours = Ours(asked.device, Path(folder, "work"))
        chosen = candidates(asked.count)
        fastest = _fastest(chosen, plain)
        ours.baselines.update(fastest)
        with ThreadPoolExecutor() as pool:  # originals and baselines are measured once
            warm = [(stem, text + "\n# warm\n") for stem, text in ours.texts.items()]
            list(pool.map(lambda one: ours.judge(*one), warm))
        singles = [ours.judge(*one) for one in chosen[: asked.one_by_one]]
        rest = chosen[asked.one_by_one :]
        start = time.perf_counter()
        with ThreadPoolExecutor(asked.at_a_time) as pool:
            several = list(pool.map(lambda one: ours.judge(*one), rest))
        seconds = time.perf_counter() - start
        found = {"bare": plain, "singles": singles, "several": several, "several_s": seconds}
        report({**found, "whole": []})
        wins = [(stem, text) for stem, text in chosen if stem == "matmul"][: asked.accepted]
        whole = [ours.judge(stem, text, ours.texts[stem]) for stem, text in wins]
        ours.device.close()
    return {**found, "whole": whole}


def _fastest(chosen: list[tuple[str, str]], plain: list[dict[str, Any]]) -> dict[str, str]:
    """The text of each example that the bare loop found fastest."""
    best: dict[str, tuple[float, str]] = {}
    for (stem, text), told in zip(chosen, plain, strict=True):
        if told["us"] is not None and told["us"] < best.get(stem, (float("inf"), ""))[0]:
            best[stem] = (told["us"], text)
    return {stem: text for stem, (_, text) in best.items()}


def report(value: dict[str, Any]) -> None:
    """The figures in words."""
    plain, singles = value["bare"], value["singles"]
    beyond = [
        one["wall"] - two["compile"] - two["do_bench"]
        for one, two in zip(singles, plain, strict=False)
        if not one["failed"] or one["level"] in ("correct", "faster")
    ]
    print(f"one by one: {len(beyond)} candidates that ran, "
          f"{statistics.median(one['wall'] for one in singles):.3f} s at the median; beyond their "
          f"bare compile and timing {statistics.median(beyond):.3f} s "
          f"(90th percentile {sorted(beyond)[int(0.9 * len(beyond))]:.3f} s)")  # fmt: skip
    rest = plain[len(singles) :]
    bare_s = sum(one["wall"] for one in rest)
    print(f"bare loop: {len(rest)} candidates in {bare_s:.1f} s, "
          f"{3600 * len(rest) / bare_s:.0f} an hour; ours {value['several_s']:.1f} s, "
          f"{3600 * len(rest) / value['several_s']:.0f} an hour: "
          f"{bare_s / value['several_s']:.2f} of it")  # fmt: skip
    for name in ("compile", "do_bench", "allclose", "import"):
        print(f"  bare {name}: {statistics.median(one[name] for one in plain):.3f} s")
    if value["whole"]:
        walls = [one["wall"] for one in value["whole"] if one["level"] == "faster"]
        print(f"with every check made, {len(walls)} that are faster: "
              f"{statistics.median(walls or [0.0]):.2f} s at the median")  # fmt: skip
    levels = [one["level"] for one in (*singles, *value["several"])]
    print({level: levels.count(level) for level in sorted(set(levels))})
    odd = [one["failed"] for one in (*singles, *value["several"]) if one["level"] == "rejected"]
    for text in dict.fromkeys(odd):
        print("  rejected:", text)
    for stem in ("matmul", "softmax", "layernorm"):
        mine = [one for one in singles if one["stem"] == stem and one["spent"]]
        if mine:
            steps = {
                step: round(statistics.median(one["steps"].get(step, 0) for one in mine), 3)
                for step in ("structure", "compile", "correctness")
            }
            print(stem, steps, mine[0]["spent"])
    _report_readiness([*singles, *value["several"]])


def _report_readiness(judged: list[dict[str, Any]]) -> None:
    """When processes got how far, by the medians of all candidates."""
    reached: dict[str, list[float]] = {}
    for one in judged:
        for process in (one["spent"] or {}).get("ready_s", ()):
            for name, at in process.items():
                reached.setdefault(name, []).append(at)
    told = (f"{name} {statistics.median(at):.3f} s" for name, at in reached.items())
    print("after a trial was asked for:", ", ".join(told))


if __name__ == "__main__":
    main()
