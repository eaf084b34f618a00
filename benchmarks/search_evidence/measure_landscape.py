"""Judges every text of landscape L1 once, each with its time against one anchor of its kernel.

    python benchmarks/search_evidence/measure_landscape.py plan FILE
    python benchmarks/search_evidence/measure_landscape.py measure FILE --device cuda:0,cuda:1 \\
        --seconds 480 --out results.jsonl
    python benchmarks/search_evidence/measure_landscape.py pack FILE results.jsonl
    python benchmarks/search_evidence/measure_landscape.py missing FILE results.jsonl

``plan`` writes all texts and needs no GPU. ``measure`` appends a line for each verdict and goes on
where the lines of an earlier call end. A process for each GPU judges some texts at a time by the
ordinary cascade, against an anchor that a quick look at some texts finds to be the fastest: what is
not faster than it ends after the small check and its timing. A device goes on with the kernel that
it has open; of each kernel the texts in which fewer sites take part come first, so that a part of
the results is a smaller landscape. ``pack`` adds the lines to the file.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from landscape_plan import Unit, plan, read, units_of, write
from real_kernels import ROOT

from tilewright.devices.model import Device
from tilewright.devices.opening import open_device
from tilewright.errors import TilewrightError
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.model import Evaluation, StepName
from tilewright.evaluation.screening import kept_results, screen
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import load_problem
from tilewright.serialize import dump
from tilewright.targets.registry import parse_target

SEED = 20
REANCHOR = 1.03
"""From so much faster than its anchor on, a text is the anchor of what follows."""
_TRIES = 2

Say = Callable[[Mapping[str, Any]], None]


class Bench:
    """The cascades of the units on one device; each is opened when its first text comes."""

    def __init__(self, device: Device, texts: Mapping[str, str], folder: Path, target: str) -> None:
        self._device = device
        self._texts = texts
        self._folder = folder
        self._target = parse_target(target) if target else device.info.target
        self._open: dict[str, tuple[Workbench, Cascade]] = {}

    def judge(self, unit: Unit, texts: Sequence[str], anchor: str, at_a_time: int, say: Say) -> str:
        """Say a verdict on each text; the anchor, which is looked for if it is not known."""
        bench, cascade = self._opened(unit)
        if not anchor:
            anchor = self._anchor(unit, bench, at_a_time)
            say({"unit": unit.name, "anchor": anchor, "device": self._device.info.id})

        def one(text: str) -> dict[str, Any]:
            start = time.perf_counter()
            found = cascade.judge(self._texts[text], self._texts[anchor], thorough=False)
            seconds = round(time.perf_counter() - start, 2)
            return {"unit": unit.name, **line_of(found), "seconds": seconds}

        with ThreadPoolExecutor(at_a_time) as pool:
            for future in as_completed([pool.submit(one, text) for text in texts]):
                say({**future.result(), "device": self._device.info.id})
        return anchor

    def _anchor(self, unit: Unit, bench: Workbench, at_a_time: int) -> str:
        """The fastest of those that may be, by a quick look at the clock."""
        if not self._device.info.can_time:
            return unit.base
        case = bench.problem.measured_cases()[0]
        own = self._texts[unit.base]
        kept = kept_results(bench, own, case)
        with ThreadPoolExecutor(at_a_time) as pool:
            looked = pool.map(
                lambda text: screen(bench, self._texts[text], case, own, kept), unit.anchors
            )
            timed = [(one.us, one.candidate) for one in looked if one.us is not None]
        return min(timed)[1] if timed else unit.base

    def _opened(self, unit: Unit) -> tuple[Workbench, Cascade]:
        if unit.name not in self._open:
            folder = self._folder / unit.name
            source = ROOT / unit.source
            (folder / "problem").mkdir(parents=True)
            for file in source.parent.glob("*.py"):
                shutil.copy(file, folder / "problem")
            placed = folder / "problem" / source.name
            placed.write_text(self._texts[unit.base], "utf-8")
            placed.with_suffix(".yaml").write_text(unit.spec, "utf-8")
            problem = load_problem(placed.with_suffix(".yaml"), placed)
            bench = Workbench(self._device, problem, placed, folder / "work", SEED)
            cascade = Cascade(self._texts[unit.base], str(placed), bench, self._target)
            self._open[unit.name] = bench, cascade
        return self._open[unit.name]


def line_of(found: Evaluation) -> dict[str, Any]:
    """What the landscape keeps of a verdict."""
    failed, speed = found.failed or found.error, found.speedup
    compiled = found.step(StepName.COMPILE)
    line: dict[str, Any] = {
        "text": found.candidate, "anchor": found.baseline, "level": found.level.value,
        "facts": _facts(compiled.data if compiled else {}),
    }  # fmt: skip
    if failed is not None:
        line |= {"failed": failed.step.value, "message": " ".join(failed.message.split())[:160]}
    if found.error is not None:
        line["error"] = True
    if speed is not None:
        line |= {
            "ratio": [round(one, 5) for one in (speed.value, speed.low, speed.high)],
            "noise": round(speed.noise or 0.0, 5), "us": round(speed.candidate_us, 3),
            "anchor_us": round(speed.original_us, 3), "samples": speed.samples,
        }  # fmt: skip
    return line


def _facts(data: Mapping[str, Any]) -> dict[str, Any]:
    """Registers and memory by kernel, of the largest where one is launched several times."""
    names = ("registers", "spill_bytes", "shared_bytes", "code_bytes")
    facts: dict[str, Any] = {}
    for report in data.get("reports", ()):
        known = facts.setdefault(report["kernel"], {})
        for name in names:
            if report.get(name) is not None:
                known[name] = max(known.get(name, 0), report[name])
    return facts


def is_of(line: Mapping[str, Any], units: Mapping[str, Unit]) -> bool:
    """Whether a line is about texts of the plan, which may have changed since it was written."""
    if line["unit"] not in units:
        return False
    unit = units[line["unit"]]
    texts = {*unit.points.values(), unit.base}
    return line["anchor"] in texts and line.get("text", unit.base) in texts


@dataclass
class Progress:
    """Which texts have a verdict, which anchors are known, and what waits."""

    units: Mapping[str, Unit]
    anchors: dict[str, str] = field(default_factory=dict)
    done: dict[str, set[str]] = field(default_factory=dict)
    tries: dict[tuple[str, str], int] = field(default_factory=dict)
    waiting: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    opened: set[str] = field(default_factory=set)
    _seeking: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def heard(self, line: Mapping[str, Any]) -> None:
        """Take in a line, of this call or an earlier one."""
        unit = line["unit"]
        if not is_of(line, self.units):
            return
        if "level" not in line:
            self.anchors[unit] = line["anchor"]
            return
        key = unit, line["text"]
        self.tries[key] = self.tries.get(key, 0) + 1
        if not line.get("error") or self.tries[key] >= _TRIES:
            self.done.setdefault(unit, set()).add(line["text"])
        if line.get("ratio") and line["ratio"][1] > REANCHOR and line["level"] == "faster":
            self.anchors[unit] = line["text"]

    def fill(self) -> None:
        """What is left to judge: fewer sites first, other shapes last."""
        every = []
        for order, unit in enumerate(self.units.values()):
            done = self.done.get(unit.name, set())
            for number, (count, block) in enumerate(unit.blocks()):
                left = tuple(text for text in block if text not in done)
                if left:
                    every.append((unit.shape is not None, count, number, order, unit.name, left))
        self.waiting = [(name, left) for *_, name, left in sorted(every)]

    def take(self, last: str = "") -> tuple[str, tuple[str, ...]] | None:
        """The next block whose anchor nobody is looking for right now.

        Args:
            last: the unit that the device has open: opening another one costs seconds, so that
                its next block comes first.
        """
        with self._lock:
            can = [at for at, (unit, _) in enumerate(self.waiting) if unit not in self._seeking]
            if not can:
                return None
            of_last = (at for at in can if self.waiting[at][0] == last)
            unopened = (at for at in can if self.waiting[at][0] not in self.opened)
            block = self.waiting.pop(next(of_last, next(unopened, can[0])))
            self.opened.add(block[0])
            if block[0] not in self.anchors:
                self._seeking.add(block[0])
            return block

    def give_back(self, unit: str, texts: Sequence[str]) -> None:
        """Put what has no verdict of a block at the end of what waits."""
        left = tuple(text for text in texts if text not in self.done.get(unit, set()))
        with self._lock:
            if left:
                self.waiting.append((unit, left))

    def found(self, unit: str) -> None:
        """Nobody looks for its anchor any more."""
        with self._lock:
            self._seeking.discard(unit)


def measure(
    progress: Progress, work: Callable[[Unit, Sequence[str], str], None], until: float
) -> None:
    """Hand blocks to a device until none is left or the time is up."""
    unit = ""
    while time.monotonic() < until:
        block = progress.take(unit)
        if block is None:
            if not progress.waiting:
                return
            time.sleep(0.2)  # the other GPU looks for the anchor of all that is left
            continue
        unit, texts = block
        try:
            work(progress.units[unit], texts, progress.anchors.get(unit, ""))
        except RuntimeError:
            progress.give_back(unit, texts)
            raise
        finally:
            progress.found(unit)


class Child:
    """A process that judges for one device; started again once if it ends by itself."""

    def __init__(self, file: Path, device: str, options: argparse.Namespace, cores: str) -> None:
        command = [sys.executable, __file__, "judge", str(file), "--device", device]
        command += ["--at-a-time", str(options.at_a_time), "--target", options.target]
        if cores and shutil.which("taskset"):
            command = ["taskset", "-c", cores, *command]
        self._folder = tempfile.TemporaryDirectory(prefix="l1-", ignore_cleanup_errors=True)
        environment = {
            **os.environ, "TILEWRIGHT_HOME": f"{self._folder.name}/home",
            "TRITON_CACHE_DIR": f"{self._folder.name}/triton", "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
            start_new_session=True,
        )  # fmt: skip

    def work(self, say: Say, unit: Unit, texts: Sequence[str], anchor: str) -> None:
        """Have a block judged; what is said goes to ``say`` as it comes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"unit": unit.name, "texts": list(texts), "anchor": anchor}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        for text in self._process.stdout:
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                print(f"not a line of results: {text!r}", file=sys.stderr, flush=True)
                continue
            if "finished" in line:
                return
            say(line)
        raise RuntimeError(f"the process that judges ended with {self._process.wait()}")

    def end(self) -> None:
        """End it and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._folder.cleanup()


def judge_here(file: Path, options: argparse.Namespace) -> None:
    """The process for one device: blocks come as lines, verdicts go as lines."""
    value = read(file)
    units = {unit.name: unit for unit in units_of(value)}

    def say(line: Mapping[str, Any]) -> None:
        print(json.dumps(line), flush=True)

    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        contextlib.closing(open_device(options.device)) as device,
    ):
        bench = Bench(device, value["texts"], Path(folder), options.target)
        say({"unit": "", "device": dump(device.info), "anchor": ""})
        for text in sys.stdin:
            asked = json.loads(text)
            unit = units[asked["unit"]]
            try:
                bench.judge(unit, asked["texts"], asked["anchor"], options.at_a_time, say)
            except TilewrightError as error:
                sys.exit(f"{unit.name}: {error}")
            say({"finished": True})


def measure_all(file: Path, options: argparse.Namespace) -> Progress:
    """All devices side by side, until the time is up; every line is in the file at once."""
    devices = options.device.split(",")
    progress = begun(file, options)
    until = time.monotonic() + options.seconds
    lock = threading.Lock()
    children: list[Child] = []
    with options.out.open("a", encoding="utf-8") as out:

        def say(line: Mapping[str, Any]) -> None:
            with lock:
                out.write(json.dumps(line) + "\n")
                out.flush()
                progress.heard(line)

        def one(number: int) -> None:
            for _ in range(_TRIES):
                if time.monotonic() >= until:
                    return
                child = Child(file, devices[number], options, _cores(number, len(devices)))
                children.append(child)
                try:
                    measure(progress, partial(child.work, say), until)
                    return
                except RuntimeError as error:
                    if time.monotonic() < until:
                        print(f"{devices[number]}: {error}", file=sys.stderr, flush=True)

        threads = [
            threading.Thread(target=one, args=(n,), daemon=True) for n in range(len(devices))
        ]
        _side_by_side(threads, until)
        for child in children:
            child.end()
        for thread in threads:
            thread.join(10)
    return progress


def _side_by_side(threads: Sequence[threading.Thread], until: float) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


def begun(file: Path, options: argparse.Namespace) -> Progress:
    """What earlier calls have done, and what is left."""
    units = {unit.name: unit for unit in units_of(read(file))}
    wanted = [name for name in options.only.split(",") if name]
    progress = Progress(
        {name: unit for name, unit in units.items() if not wanted or name in wanted}
    )
    for line in lines_of(options.out):
        progress.heard(line)
    progress.fill()
    return progress


def lines_of(file: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file of results; a last one that was cut off is left out."""
    if not file.is_file():
        return
    for text in file.read_text("utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            line = json.loads(text)
            if line.get("unit"):
                yield line


def _cores(number: int, count: int) -> str:
    """A share of the cores for each of several devices; "" for one alone."""
    every = sorted(os.sched_getaffinity(0))
    share = len(every) // count
    return ",".join(map(str, every[number * share : (number + 1) * share])) if count > 1 else ""


def report(progress: Progress) -> str:
    """How much of each unit has a verdict."""
    rows = []
    for unit in progress.units.values():
        every = set(unit.points.values())
        done = len(every & progress.done.get(unit.name, set()))
        rows.append(f"{unit.name:24} {done:4} of {len(every):4}")
    whole = sum(len(done) for done in progress.done.values())
    left = sum(len(set(one.points.values())) for one in progress.units.values()) - whole
    return "\n".join([*rows, f"{whole} judged, {left} missing"])


def pack(file: Path, results: Path) -> None:
    """Put the results into the file of the plan; of two lines on a text the last one counts."""
    value = read(file)
    units = {unit.name: unit for unit in units_of(value)}
    verdicts: dict[str, dict[str, Any]] = {}
    for line in lines_of(results):
        if "level" in line and not line.get("error") and is_of(line, units):
            kept = {k: v for k, v in line.items() if k not in ("unit", "text")}
            verdicts.setdefault(line["unit"], {})[line["text"]] = kept
    heads = [
        json.loads(text) for text in results.read_text("utf-8").splitlines() if '"unit": ""' in text
    ]
    value["verdicts"], value["devices"] = verdicts, [one["device"] for one in heads]
    value["measured"] = time.strftime("%Y-%m-%d", time.gmtime(results.stat().st_mtime))
    write(file, value)


def main() -> int:
    """One of the commands."""
    options = _options()
    if options.command == "plan":
        units, texts = plan([name for name in options.only.split(",") if name])
        write(options.file, {"units": [dump(unit) for unit in units], "texts": texts})
        print(report(Progress({unit.name: unit for unit in units})))
    elif options.command == "judge":
        judge_here(options.file, options)
    elif options.command == "measure":
        progress = measure_all(options.file, options)
        print(report(progress))
    elif options.command == "missing":
        options.out = options.results
        print(report(begun(options.file, options)))
    else:
        pack(options.file, options.results)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=("plan", "measure", "judge", "pack", "missing"))
    parser.add_argument("file", type=Path, help="the landscape: plan, texts and results")
    parser.add_argument("results", type=Path, nargs="?", help="lines that measure wrote")
    parser.add_argument("--device", default="cuda:0", help="devices, separated by commas")
    parser.add_argument("--target", default="", help="what to compile for, if not the device's own")
    parser.add_argument("--seconds", type=float, default=480.0, help="begin nothing after that")
    parser.add_argument(
        "--at-a-time", type=int, default=10, help="candidates under way on a device"
    )
    parser.add_argument("--only", default="", help="names of units, separated by commas")
    parser.add_argument("--out", type=Path, default=Path("build/landscape.jsonl"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
