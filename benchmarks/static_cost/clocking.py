"""Times the points of one group, a kernel in one shape, in a process of their own.

Before each repetition a buffer ten times the second-level cache is zeroed, as
``triton.testing.do_bench`` does, and the launch is enclosed in two CUDA events. All repetitions of
a round are queued at once, so that the host is never waited for. All points are timed in rounds,
each in an order of its own; then the fastest fifth in more rounds, as what is looked for is the
best of them. A point that fails is a recorded failure.
"""

from __future__ import annotations

import math
import multiprocessing
import random
import statistics
import sys
import time
from typing import Any

import torch
import triton
from points import Point, arguments, grid, load

ROUNDS, REPS, WARMUP = 3, 15, 3
LEADERS, LEADER_ROUNDS, LEADER_REPS = 5, 6, 20
"""One point of so many is timed again, and how often."""
SLOW_US, SLOW_REPS = 1500.0, 5
METHOD = (
    f"CUDA events around one launch, queued behind zeroing 512 MB; {ROUNDS} rounds of {REPS} "
    f"repetitions in shuffled orders, each after {WARMUP} launches ({SLOW_REPS} repetitions above "
    f"{SLOW_US:.0f} us); for the fastest fifth of a kernel and shape {LEADER_ROUNDS} more rounds "
    f"of {LEADER_REPS}"
)
FLUSH_BYTES = 512 * 2**20
Row = dict[str, Any]


def time_group(mine: list[Point], rows: list[Row], about: Row, deadline: float) -> None:
    """Time points in children; one that ends or hangs costs its point, not the rest."""
    left = list(range(len(rows)))
    while left and time.monotonic() < deadline:
        reader, writer = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.Process(target=_child, args=(mine, left, writer))
        child.start()
        writer.close()
        begun = _collect(reader, rows, about, deadline)
        if child.is_alive():
            child.join(5)
            child.kill()
        child.join()
        if begun is None:
            left = []
        elif begun in left:
            if "rounds" not in rows[begun]:
                rows[begun]["failure"] = f"the process ended with {child.exitcode}"
            left = [at for at in left if "rounds" not in rows[at] and "failure" not in rows[at]]
    for at in left:
        rows[at].setdefault("failure", "not timed: the benchmark's time was up")
    for row in rows:
        if "rounds" in row:
            _summarize(row)


def _collect(reader: Any, rows: list[Row], about: Row, deadline: float) -> int | None:
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
            about.update(value)
        elif kind == "begin":
            begun = at
        elif kind == "facts":
            rows[at].update(value)
        else:
            rows[at].setdefault("rounds", []).append(value)
    return begun


def _summarize(row: Row) -> None:
    every = sorted(us for values in row["rounds"] for us in values)
    low, middle, high = statistics.quantiles(every, n=4)
    row["us"] = round(middle, 3)
    row["quartiles"] = [round(low, 3), round(high, 3)]
    row["least"] = round(every[0], 3)
    row["round_medians"] = [round(statistics.median(values), 3) for values in row.pop("rounds")]


def _child(mine: list[Point], order: list[int], writer: Any) -> None:
    """Time points of one group; what could be launched once is timed in rounds."""
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
            writer.send(("facts", at, {"failure": told(error)}))
    _rounds(ready, flush, writer)
    writer.send(("end", 0, None))


def _rounds(ready: dict[int, Any], flush: torch.Tensor, writer: Any) -> None:
    """All points in rounds, then the fastest fifth of them in more."""
    shuffled = random.Random(0)
    seen: dict[int, list[float]] = {at: [] for at in ready}

    def one(at: int, reps: int) -> None:
        writer.send(("begin", at, None))
        values = _repeat(ready[at]["run"], flush, reps)
        seen[at].extend(values)
        writer.send(("round", at, values))

    for _ in range(ROUNDS):
        for at in shuffled.sample(list(ready), len(ready)):
            one(at, REPS)
    leaders = sorted(ready, key=lambda at: statistics.median(seen[at]))
    leaders = leaders[: math.ceil(len(leaders) / LEADERS)]
    for _ in range(LEADER_ROUNDS):
        for at in shuffled.sample(leaders, len(leaders)):
            one(at, LEADER_REPS)


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


def _repeat(run: Any, flush: torch.Tensor, reps: int) -> list[float]:
    """Microseconds of single launches, all queued before any is waited for."""
    for _ in range(WARMUP):
        run()
    first = _queue(run, flush, 1)[0]
    return _queue(run, flush, SLOW_REPS if first > SLOW_US else reps)


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
    empty = _queue(_nothing, flush, 200)  # long enough for the clock to rise
    chip = torch.cuda.get_device_properties(0)
    return {
        "gpu": chip.name,
        "compute_units": chip.multi_processor_count,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": sys.version.split()[0],
        "empty_launch_us": round(statistics.median(empty[100:]), 3),
    }


@triton.jit
def _no_work() -> None:
    pass


def _nothing() -> None:
    _no_work[(1,)]()


def told(error: BaseException) -> str:
    """An error in a line."""
    return f"{type(error).__name__}: {error}".strip()[:300]
