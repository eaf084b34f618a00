"""Times every point of the benchmark on a GPU, and keeps what Triton says of each.

    python benchmarks/static_cost/measure.py OUT.json [--figures] [--kernels NAME ...]
        [--shapes JSON] [--whole]

Everything is compiled first, in processes side by side, into Triton's cache. Then each kernel's
points are timed in a process of its own, in a shuffled order, in rounds: before each repetition a
buffer ten times the second-level cache is zeroed, as ``triton.testing.do_bench`` does, and the
launch is enclosed in two CUDA events. All repetitions of a round are queued at once, so that the
host is never waited for. A point that fails is a recorded failure; results are written as they
come. ``--figures`` compiles points once more as Tilewright does, beside Triton's own figures.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
import triton
from points import (
    Point,
    absent,
    arguments,
    file_of,
    grid,
    kernel_names,
    launch_facts,
    load,
    points,
)  # fmt: skip

METHOD = (
    "CUDA events around one launch, queued behind zeroing 512 MB; {rounds} rounds of {reps} "
    "repetitions in a shuffled order, after {warmup} launches"
)
FLUSH_BYTES = 512 * 2**20
ROUNDS, REPS, WARMUP = 2, 15, 3
SLOW_US, SLOW_REPS = 4000.0, 5
COMPILE_SECONDS, TIMING_SECONDS, KERNEL_SECONDS, FIGURES_SECONDS = 120, 180, 60, 90
Row = dict[str, Any]


def main() -> int:
    options = _options()
    started = time.monotonic()
    multiprocessing.set_start_method("fork")  # before torch has touched the device
    shapes = json.loads(options.shapes.read_text("utf-8")) if options.shapes else None
    kernels = tuple(options.kernels or shapes or kernel_names())
    every = list(points(kernels, shapes, whole=options.whole))
    rows = [_row(point) for point in every]
    print(f"{len(rows)} points of {len(kernels)} kernels", flush=True)
    out = {"method": METHOD.format(rounds=ROUNDS, reps=REPS, warmup=WARMUP), "points": rows}
    if not options.no_timing:
        _compile_all(every, options.workers)
        print(f"compiled after {time.monotonic() - started:.0f} s", flush=True)
        last = time.monotonic() + TIMING_SECONDS
        for kernel in kernels:
            deadline = min(last, time.monotonic() + KERNEL_SECONDS)
            mine = [point for point in every if point.kernel == kernel]
            _time_kernel(mine, [row for row in rows if row["kernel"] == kernel], out, deadline)
            _write(options.out, out)
            print(f"{kernel} timed after {time.monotonic() - started:.0f} s", flush=True)
    if options.figures:
        _figures(rows, options.workers)
        _write(options.out, out)
    print(f"done after {time.monotonic() - started:.0f} s", flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--no-timing", action="store_true", help="where there is no GPU")
    parser.add_argument("--kernels", nargs="*")
    parser.add_argument("--shapes", type=Path, help="shapes by kernel, in place of their own")
    parser.add_argument("--whole", action="store_true", help="whole lists of configurations")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def _row(point: Point) -> Row:
    return {
        "kernel": point.kernel,
        "shape": dict(point.shape),
        "config": dict(point.config),
        "launch": launch_facts(point),
    }


def _write(path: Path, out: Row) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(out, separators=(",", ":")), encoding="utf-8")
    beside.replace(path)


# Compiling


def _compile_all(every: list[Point], workers: int) -> None:
    """Fill Triton's cache; what fails here fails again, and is recorded, when it is timed."""
    with multiprocessing.Pool(workers, maxtasksperchild=40) as pool:
        waiting = pool.map_async(_compile, every, chunksize=2)
        try:
            failed = [text for text in waiting.get(COMPILE_SECONDS) if text]
        except multiprocessing.TimeoutError:
            failed = [f"not all compiled in {COMPILE_SECONDS} s"]
    for text in failed[:20]:
        print(f"  {text}", flush=True)


def _compile(point: Point) -> str | None:
    try:
        kernel = load(point.kernel).KERNEL
        kernel.warmup(**arguments(point, absent), **point.config, grid=grid(point))
    except Exception as error:  # noqa: BLE001 - whatever a compiler raises is told
        return f"{point.name}: {_told(error)}"
    return None


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip()[:300]


# Timing


def _time_kernel(mine: list[Point], rows: list[Row], out: Row, deadline: float) -> None:
    """Time a kernel's points in children; one that ends or hangs costs its point, not the rest."""
    left = list(range(len(rows)))
    random.Random(0).shuffle(left)
    while left and time.monotonic() < deadline:
        reader, writer = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.Process(target=_timing_child, args=(mine, left, writer))
        child.start()
        writer.close()
        begun = _collect(reader, rows, out, deadline)
        if child.is_alive():
            child.join(5)
            child.kill()
        child.join()
        if begun is None:
            left = []
        elif begun in left:
            if "us" not in rows[begun]:
                rows[begun]["failure"] = f"the process ended with {child.exitcode}"
            left = [at for at in left if "us" not in rows[at] and "failure" not in rows[at]]
    for at in left:
        rows[at].setdefault("failure", "not timed: the benchmark's time was up")
    for row in rows:
        if "rounds" in row:
            _summarize(row)


def _collect(reader: Any, rows: list[Row], out: Row, deadline: float) -> int | None:
    """Take what a child sends; the point under way when it ended early, None if it finished."""
    begun = -1
    while time.monotonic() < deadline:
        try:
            if not reader.poll(1.0):
                continue
            kind, at, value = reader.recv()
        except EOFError:
            return begun
        if kind == "end":
            return None
        if kind == "about":
            out.update(value)
        elif kind == "begin":
            begun = at
        elif kind == "facts":
            rows[at].update(value)
        else:
            rows[at].setdefault("rounds", []).append(value)
            rows[at]["us"] = 0.0
    return begun


def _summarize(row: Row) -> None:
    every = sorted(us for values in row["rounds"] for us in values)
    low, middle, high = statistics.quantiles(every, n=4)
    row["us"] = round(middle, 3)
    row["quartiles"] = [round(low, 3), round(high, 3)]
    row["least"] = round(every[0], 3)
    row["round_medians"] = [round(statistics.median(values), 3) for values in row.pop("rounds")]


def _timing_child(mine: list[Point], order: list[int], writer: Any) -> None:
    """Time points of one kernel; what could be launched once is timed in rounds."""
    torch.manual_seed(0)
    flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
    writer.send(("about", 0, _about(flush)))
    made = _Tensors()
    ready: dict[int, Any] = {}
    for at in order:
        writer.send(("begin", at, None))
        try:
            ready[at] = _prepare(mine[at], made)
            facts = {name: ready[at][name] for name in ("registers", "spills", "shared")}
            writer.send(("facts", at, facts))
        except Exception as error:  # noqa: BLE001 - recorded as the point's failure
            writer.send(("facts", at, {"failure": _told(error)}))
    for _ in range(ROUNDS):
        for at, launch in ready.items():
            writer.send(("begin", at, None))
            writer.send(("round", at, _repeat(launch["run"], flush)))
    writer.send(("end", 0, None))


class _Tensors:
    """Tensors by shape, type and turn, shared between points: memory is not filled each time."""

    def __init__(self) -> None:
        self._made: dict[Any, torch.Tensor] = {}
        self._turn = 0

    def start(self) -> None:
        self._turn = 0

    def make(self, shape: tuple[int, ...], dtype: str, high: int | None = None) -> torch.Tensor:
        key = (shape, dtype, high, self._turn)
        self._turn += 1
        if key not in self._made:
            self._made[key] = _filled(shape, getattr(torch, dtype), high)
        return self._made[key]


def _filled(shape: tuple[int, ...], dtype: torch.dtype, high: int | None) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=dtype, device="cuda") * 0.5
    return torch.randint(0, high or 100, shape, dtype=dtype, device="cuda")


def _prepare(point: Point, made: _Tensors) -> Row:
    kernel, cells = load(point.kernel).KERNEL, grid(point)
    made.start()
    given = arguments(point, made.make) | dict(point.config)
    compiled = kernel[cells](**given)
    torch.cuda.synchronize()
    return {
        "registers": compiled.n_regs,
        "spills": compiled.n_spills,
        "shared": compiled.metadata.shared,
        "run": lambda: kernel[cells](**given),
    }


def _repeat(run: Any, flush: torch.Tensor) -> list[float]:
    """Microseconds of single launches, all queued before any is waited for."""
    for _ in range(WARMUP):
        run()
    first = _queue(run, flush, 1)[0]
    return _queue(run, flush, SLOW_REPS if first > SLOW_US else REPS)


def _queue(run: Any, flush: torch.Tensor, reps: int) -> list[float]:
    events = []
    for _ in range(reps):
        flush.zero_()
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        events.append((begin, end))
    torch.cuda.synchronize()
    return [1000.0 * begin.elapsed_time(end) for begin, end in events]


def _about(flush: torch.Tensor) -> Row:
    """The device and versions, and what the method reports for a launch that does nothing."""
    empty = _queue(_nothing, flush, 60)
    chip = torch.cuda.get_device_properties(0)
    return {
        "gpu": chip.name,
        "compute_units": chip.multi_processor_count,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": sys.version.split()[0],
        "empty_launch_us": round(statistics.median(empty[10:]), 3),
    }


@triton.jit
def _no_work() -> None:
    pass


def _nothing() -> None:
    _no_work[(1,)]()


# Tilewright's own figures


def _figures(rows: list[Row], workers: int) -> None:
    """Tilewright's compile report of points, in a shuffled order, as far as the time allows."""
    from tilewright.devices import open_device
    from tilewright.serialize import load as read
    from tilewright.targets.compiling import compile_launch
    from tilewright.targets.model import LaunchFacts, Target

    device = open_device("interpreter")
    deadline = time.monotonic() + FIGURES_SECONDS
    order = list(rows)
    random.Random(1).shuffle(order)

    def work(row: Row) -> None:
        if time.monotonic() > deadline:
            return
        path = str(file_of(row["kernel"]))
        launch = read(LaunchFacts, row["launch"])
        report = compile_launch(device, path, launch, Target("cuda", "90"), timeout_s=60)
        row["tilewright"] = {
            "ok": report.ok,
            "messages": [message.text for message in report.messages],
            "registers": report.registers,
            "spill_bytes": report.spill_bytes,
            "shared": report.shared_bytes,
            "details": dict(report.details),
            "toolchain": report.toolchain,
        }

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, order))
    device.close()
    _compare([row for row in rows if "tilewright" in row])


def _compare(rows: list[Row]) -> None:
    """How many figures of ours equal Triton's own, and the first that do not."""
    both = [row for row in rows if row["tilewright"]["ok"] and "registers" in row]
    print(f"{len(rows)} compiled by Tilewright, {len(both)} of them also launched by Triton")
    for ours, theirs in (("registers", "registers"), ("shared", "shared")):
        other = [row for row in both if row["tilewright"][ours] != row[theirs]]
        print(f"{ours}: {len(both) - len(other)} of {len(both)} equal")
        for row in other[:5]:
            print(f"  {row['kernel']} {row['config']}: {row['tilewright'][ours]} {row[theirs]}")
    spilling = [(row["tilewright"]["details"]["local_bytes"], row["spills"]) for row in both]
    agree = sum(ours == 4 * theirs for ours, theirs in spilling)
    some = sum(bool(theirs) for _, theirs in spilling)
    print(f"local memory in bytes: {agree} of {len(both)} equal, of which {some} spill")


if __name__ == "__main__":
    sys.exit(main())
