"""What the reported forms of lost time cost on a GPU, each against its fixed twin.

    python benchmarks/slow_spots/measure.py OUT.json [--device cuda:0] [--only NAME ...]
        [--seconds N] [--workers N] [--control]
    python benchmarks/slow_spots/measure.py OUT.json --reviews
    python benchmarks/slow_spots/measure.py OUT.json --device interpreter

The cases are the slow ones of ``tests/realbugs``; the inputs are in ``workloads.py``. Results of
both versions are compared first. Then they are timed by the engine's own contest, interleaved in
one process with L2 flushed (``ratio``, device time), and called one after another by the wall
clock (``row_ratio``). A case about compiling again is timed by its first calls at twelve sizes.
Kernels are compiled before that by processes side by side. With the interpreter results are
compared at small sizes, and nothing is timed. OUT.json is written as results come. With
``--reviews`` the pairs are functions and the faster versions that reviews have of them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import triton

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "realbugs"), str(ROOT / "engine")]

from pair import BLOCKS, VERSIONS, Pair, ready, row_of  # noqa: E402
from reported_cases import Case, Kind, cases  # noqa: E402
from reviewed_workloads import reviewed_workloads  # noqa: E402
from workload import Sizes, Way, Workload  # noqa: E402
from workloads import NOT_RUN, WORKLOADS  # noqa: E402

INTERPRETER = "interpreter"
TASK_S = 90.0
COMPILE_SHARE = 0.4
"""Of the time there is, what compiling may take."""
METHOD = (
    f"{BLOCKS} blocks of both versions in an order drawn for each, L2 flushed before each call, "
    "by CUDA events; in a row: 12 rounds of calls without a flush, by the wall clock"
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One case at one of its sizes; at all of them where a case takes a row of sizes."""

    name: str
    sizes: Sizes

    @property
    def named(self) -> dict[str, int]:
        """The sizes by name; those of the last call where there is a row of them."""
        return WORKLOADS[self.name].named(self.sizes)


def main() -> int:
    options = _options()
    multiprocessing.set_start_method("fork")  # before torch has touched the device
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        # Nothing that an earlier run has compiled: some cases are about compiling.
        os.environ["TRITON_CACHE_DIR"] = f"{folder}/triton"
        files = _written(Path(folder), _texts(options))
        every = list(_tasks(files, options.only, small=options.device == INTERPRETER))
        if options.control:  # what one copy compiles, the other finds in the cache
            every = [task for task in every if WORKLOADS[task.name].way is Way.CALLS]
        if options.device != INTERPRETER:
            _compile(every, files, options, time.monotonic() + options.seconds * COMPILE_SHARE)
        rows = _all(every, files, options, end)
    failed = [row for row in rows if "failure" in row]
    print(f"{len(rows)} results, {len(failed)} failed", flush=True)
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", nargs="*", help="cases whose names contain one of these")
    parser.add_argument("--seconds", type=float, default=500.0, help="for compiling and timing")
    parser.add_argument("--workers", type=int, default=min(12, len(os.sched_getaffinity(0))))
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--control", action="store_true", help="the twins against themselves")
    kinds.add_argument("--reviews", action="store_true", help="what reviews report of the cases")
    return parser.parse_args()


def slow_cases() -> dict[str, Case]:
    """The cases of lost time by name."""
    return {case.name: case for case in cases() if case.entry.kind is Kind.SLOW}


def _texts(options: argparse.Namespace) -> dict[str, tuple[str, str]]:
    """The texts of both versions by name; as a control the twin twice. The workloads of reviews
    are added to those of the cases."""
    if options.reviews:
        reviewed = reviewed_workloads()
        WORKLOADS.update({name: one.workload for name, one in reviewed.items()})
        return {name: (one.file, one.module) for name, one in reviewed.items()}
    timed = {name: case for name, case in slow_cases().items() if name not in NOT_RUN}
    return {
        name: (case.fixed if options.control else case.faulty, case.fixed)
        for name, case in timed.items()
    }


def _written(folder: Path, texts: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, Path]]:
    """Both versions of each pair in files of their own."""
    files: dict[str, dict[str, Path]] = {}
    for name, pair in texts.items():
        plain = re.sub(r"\W", "_", name)
        files[name] = {version: folder / f"{plain}__{version}.py" for version in VERSIONS}
        for version, text in zip(VERSIONS, pair, strict=True):
            files[name][version].write_text(text + "\n", "utf-8")
    return files


def _tasks(names: Iterable[str], only: Sequence[str] | None, *, small: bool) -> Iterator[Task]:
    for name in names:
        if only and not any(part in name for part in only):
            continue
        workload = WORKLOADS[name]
        if small:
            if workload.interpretable:
                yield Task(name, workload.small)
        elif workload.way is Way.NEW_SIZES:
            yield Task(name, workload.sizes[-1])
        else:
            yield from (Task(name, sizes) for sizes in workload.sizes)


# Compiling


def _compile(
    every: Sequence[Task],
    files: Mapping[str, Mapping[str, Path]],
    options: argparse.Namespace,
    end: float,
) -> None:
    """Fill Triton's cache; what fails here fails again when it is timed."""
    began = time.monotonic()
    wanted = [task for task in every if WORKLOADS[task.name].way is Way.CALLS]
    with multiprocessing.Pool(options.workers) as pool:
        given = [(task, files[task.name], options.device) for task in wanted]
        done = pool.imap_unordered(_compile_one, given)
        for _ in given:
            try:
                name, seconds = done.next(max(0.0, end - time.monotonic()))
            except multiprocessing.TimeoutError:
                print("not everything was compiled in time", flush=True)
                break
            if seconds > 20:
                print(f"  {name}: {seconds:.0f} s to compile and to call once", flush=True)
    print(f"compiled after {time.monotonic() - began:.0f} s", flush=True)


def _compile_one(given: tuple[Task, Mapping[str, Path], str]) -> tuple[str, float]:
    task, files, device = given
    began = time.monotonic()
    try:
        with ready(device, files["faulty"]):
            pair = Pair(_workload(task, files), files, device)
            pair.compare(pair.inputs(task.sizes))
    except Exception:  # noqa: BLE001 - the same error is recorded when the case is timed
        pass
    torch.cuda.empty_cache()
    return task.name, time.monotonic() - began


# Timing


def _all(
    every: Sequence[Task],
    files: Mapping[str, Mapping[str, Path]],
    options: argparse.Namespace,
    end: float,
) -> list[Row]:
    """A row for each task, in a child that is replaced when it ends early or hangs."""
    rows: list[Row] = []
    about: Row = {}
    left = list(every)
    while left and time.monotonic() < end:
        reader, writer = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.Process(target=_child, args=(left, files, options.device, writer))
        child.start()
        writer.close()
        while left:
            said = _next(reader, end)
            if said is None:
                child.kill()
                child.join()
                row = {"failure": f"its process ended ({child.exitcode}) or took too long"}
                said = {"name": left[0].name, "sizes": left[0].named, **row}
            if "about" in said:
                about = said["about"]
                continue
            rows.append(said)
            left.pop(0)
            print(json.dumps(said), flush=True)
            _write(options.out, about, rows)
            if not child.is_alive() and not reader.poll():
                break
        child.join()
    for task in left:
        rows.append({"name": task.name, "sizes": task.named, "failure": "no time was left"})
    _write(options.out, about, rows)
    return rows


def _next(reader: Any, end: float) -> Row | None:
    """The child's next message; None if it ended, or took longer than a task may."""
    try:
        if reader.poll(min(TASK_S, max(0.0, end - time.monotonic()))):
            said: Row = reader.recv()
            return said
    except EOFError:
        pass
    return None


def _child(
    tasks: Sequence[Task], files: Mapping[str, Mapping[str, Path]], device: str, writer: Any
) -> None:
    writer.send({"about": _about(device)})
    for task in tasks:
        named = {"name": task.name, "sizes": task.named}
        began = time.monotonic()
        try:
            row = _measured(task, files[task.name], device)
        except Exception as error:  # noqa: BLE001 - recorded as the task's failure
            row = {"failure": f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]}
        writer.send({**named, **row, "seconds": round(time.monotonic() - began, 1)})
        if "CUDA error" in row.get("failure", ""):
            return  # nothing else runs in this process
        torch.cuda.empty_cache()


def _measured(task: Task, files: Mapping[str, Path], device: str) -> Row:
    with ready(device, files["faulty"]):
        pair = Pair(_workload(task, files), files, device)
        if device != INTERPRETER:
            return _rounded(row_of(pair, task.sizes))
        pair.compare(pair.inputs(task.sizes))
        return {"agree": True}


def _workload(task: Task, files: Mapping[str, Path]) -> Workload:
    """That of the case; with the twin in both places, both take what the twin takes."""
    workload = WORKLOADS[task.name]
    if "fixed" in workload.takes and len({file.read_text("utf-8") for file in files.values()}) == 1:
        return replace(workload, takes=dict.fromkeys(VERSIONS, workload.takes["fixed"]))
    return workload


def _rounded(row: Row) -> Row:
    """Times to a hundredth of a microsecond, ratios to four digits."""
    return {
        key: [round(one, 2 if key.endswith("us") else 4) for one in value]
        if key.endswith(("us", "ratio"))
        else value
        for key, value in row.items()
    }


def _about(device: str) -> Row:
    name = "" if device == INTERPRETER else torch.cuda.get_device_name(device)
    versions = {"torch": torch.__version__, "triton": triton.__version__}
    return {"device": name or device, **versions, "method": METHOD}


def _write(out: Path, about: Row, rows: Sequence[Row]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part")
    lines = ",\n".join(json.dumps(row) for row in rows)
    part.write_text(f'{{"about": {json.dumps(about)},\n"rows": [\n{lines}\n]}}\n', "utf-8")
    part.replace(out)


if __name__ == "__main__":
    sys.exit(main())
