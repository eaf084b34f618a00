"""Times every point of the benchmark on GPUs, and keeps what Triton says of each.

    python benchmarks/static_cost/measure.py OUT.json[.gz] [--figures] [--kernels NAME ...]
        [--shapes JSON] [--whole] [--points N] [--continue EARLIER] [--gpus 0 1 2 3] [--seconds N]

Everything is compiled first, in processes side by side, into Triton's cache, and nothing is while
kernels are timed. Then each kernel's points in a shape are timed one by one on one GPU
(``clocking.py``); several GPUs have groups of their own. Of a group that could not be compiled or
timed in the time there is, every point is a recorded failure; results are written as they come.
``--continue`` leaves out the groups that an earlier output has timed, and takes their points over.
``--figures`` compiles points once more as Tilewright does, beside Triton's own figures.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch  # noqa: F401 - once, before processes are forked
from clocking import METHOD, time_group, told
from figures import add_figures
from launch_key import launch_key
from points import Point, absent, arguments, drawn, grid, kernel_names, launch_facts, load, points

SECONDS, GROUP_SECONDS = 230.0, 75.0
COMPILE_SHARE = 0.55
"""Of the time there is, what compiling may take."""
START_SECONDS, POINT_SECONDS = 4.0, 0.06
"""What a group takes: no list is begun that would be cut short."""
MERGE_SECONDS = 3.0
Row = dict[str, Any]


def main() -> int:
    options = _options()
    started = time.monotonic()
    deadline = started + options.seconds
    multiprocessing.set_start_method("fork")  # before torch has touched the device
    shapes = json.loads(options.shapes.read_text("utf-8")) if options.shapes else None
    kernels = tuple(options.kernels or shapes or kernel_names())
    every = list(points(kernels, shapes, whole=options.whole))
    earlier = _timed(options.earlier) if options.earlier else []
    done = {_group(row) for row in earlier}
    every = [point for point in every if point.group not in done]
    every = drawn(every, options.points) if options.points else every
    rows = [_row(point) for point in every]
    out = {"method": METHOD, "points": [*rows, *earlier]}  # new ones first: they are numbered
    print(f"{len(rows)} points of {len({row['kernel'] for row in rows})} kernels", flush=True)
    if not options.no_timing:
        _compile_all(every, rows, options, started + options.seconds * COMPILE_SHARE)
        print(f"compiled after {time.monotonic() - started:.0f} s", flush=True)
        _time_all(every, out, options, deadline)
        print(f"timed after {time.monotonic() - started:.0f} s", flush=True)
    if options.figures:
        add_figures(rows, options.workers)
    _write(options.out, out)
    failed = [row["failure"] for row in rows if "failure" in row]
    print(f"done after {time.monotonic() - started:.0f} s, {len(failed)} failed", flush=True)
    for text in sorted(set(failed))[:10]:
        print(f"  {failed.count(text)} x {text}", flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--no-timing", action="store_true", help="where there is no GPU")
    parser.add_argument("--kernels", nargs="*")
    parser.add_argument("--shapes", type=Path, help="shapes by kernel, in place of their own")
    parser.add_argument("--whole", action="store_true", help="whole lists of configurations")
    parser.add_argument("--points", type=int, help="at most so many: whole groups, by chance")
    parser.add_argument("--continue", dest="earlier", type=Path, help="what this wrote before")
    parser.add_argument("--gpus", nargs="+", default=["0"], help="as CUDA_VISIBLE_DEVICES has them")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for compiling and timing")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def _row(point: Point) -> Row:
    return {
        "kernel": point.kernel,
        "shape": dict(point.shape),
        "config": dict(point.config),
        "launch": launch_facts(point),
    }


def _timed(path: Path) -> list[Row]:
    """Points of an earlier output, of the groups of which any was timed; none if there is no file,
    so that the same command can be given again."""
    if not path.exists():
        print(f"nothing to go on from: there is no {path}", flush=True)
        return []
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    rows: list[Row] = json.loads(text)["points"]
    groups = {_group(row) for row in rows if "us" in row}
    return [row for row in rows if _group(row) in groups]


def _group(row: Row) -> str:
    return Point(row["kernel"], row["shape"], row["config"]).group


def _write(path: Path, out: Row) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    text = json.dumps(out, separators=(",", ":")).encode()
    beside.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    beside.replace(path)


# Compiling


def _compile_all(
    every: Sequence[Point], rows: Sequence[Row], options: argparse.Namespace, deadline: float
) -> None:
    """Fill Triton's cache; what the compiler refuses is refused again when it is timed."""
    first: dict[str, int] = {}  # what the compiler sees the same of is compiled once
    for at, row in enumerate(rows):
        first.setdefault(launch_key(row), at)
    waiting = set(first)
    taken = {at: name for name, at in first.items()}
    with multiprocessing.Pool(options.workers, _choose_gpu, (options.gpus,)) as pool:
        done = pool.imap_unordered(_compile, [(at, every[at]) for at in first.values()])
        for _ in taken:
            try:
                at, failure = done.next(max(0.0, deadline - time.monotonic()))
            except multiprocessing.TimeoutError:
                break
            waiting.discard(taken[at])
            if failure:
                print(f"  {failure}", flush=True)
    print(f"{len(taken)} to compile, {len(waiting)} not in time", flush=True)
    late = {
        point.group for point, row in zip(every, rows, strict=True) if launch_key(row) in waiting
    }
    for point, row in zip(every, rows, strict=True):
        if point.group in late:  # the best of a part of a list says nothing of the list's
            row["failure"] = "not timed: not all of its list was compiled in time"


def _choose_gpu(gpus: Sequence[str]) -> None:
    turn = multiprocessing.current_process()._identity[0]
    os.environ["CUDA_VISIBLE_DEVICES"] = gpus[turn % len(gpus)]


def _compile(task: tuple[int, Point]) -> tuple[int, str | None]:
    at, point = task
    try:
        kernel = load(point.kernel).KERNEL
        kernel.warmup(**arguments(point, absent), **point.config, grid=grid(point))
    except Exception as error:  # noqa: BLE001 - whatever a compiler raises is told
        return at, f"{point.name}: {told(error)}"
    return at, None


# Timing


def _time_all(
    every: Sequence[Point], out: Row, options: argparse.Namespace, deadline: float
) -> None:
    """Every GPU times groups of its own in a process; their rows are merged as they come."""
    groups: dict[str, list[int]] = {}
    for at, point in enumerate(every):
        if "failure" not in out["points"][at]:
            groups.setdefault(point.group, []).append(at)
    shares = _shares(list(groups.values()), len(options.gpus))
    folder = Path(tempfile.mkdtemp())
    parts = [folder / f"gpu{turn}.json" for turn in range(len(shares))]
    shards = [
        multiprocessing.Process(target=_shard, args=(gpu, every, out["points"], *rest, deadline))
        for gpu, *rest in zip(options.gpus, shares, parts, strict=True)
    ]
    for shard in shards:
        shard.start()
    while any(shard.is_alive() for shard in shards):
        time.sleep(MERGE_SECONDS)
        _merge(out, parts)
        _write(options.out, out)
    _merge(out, parts)
    shutil.rmtree(folder)


def _shares(groups: list[list[int]], count: int) -> list[list[list[int]]]:
    """Groups dealt out, the longest first, each to whom has the fewest points."""
    shares: list[list[list[int]]] = [[] for _ in range(count)]
    for group in sorted(groups, key=len, reverse=True):
        min(shares, key=lambda share: sum(map(len, share))).append(group)
    return [sorted(share) for share in shares]


def _shard(
    gpu: str, every: Sequence[Point], rows: Sequence[Row], groups: list[list[int]], part: Path,
    deadline: float,
) -> None:  # fmt: skip
    """Time groups on one GPU, and write what there is after each."""
    os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    about: Row = {}
    found: dict[str, Row] = {}
    for turn, group in enumerate(groups, 1):
        began = time.monotonic()
        mine = [rows[at] for at in group]
        if deadline - began < START_SECONDS + POINT_SECONDS * len(group):
            for row in mine:
                row["failure"] = "not timed: the benchmark's time was up"
        else:
            limit = min(deadline, began + GROUP_SECONDS)
            time_group([every[at] for at in group], mine, about, limit)
        found |= {
            str(at): {k: v for k, v in row.items() if k != "launch"}
            for at, row in zip(group, mine, strict=True)
        }
        _write(part, {"about": about, "rows": found})
        took = time.monotonic() - began
        print(f"gpu {gpu}: {turn}/{len(groups)} {every[group[0]].group} {took:.1f} s", flush=True)


def _merge(out: Row, parts: Sequence[Path]) -> None:
    """Take what the shards have written."""
    for part in parts:
        if part.exists():
            found = json.loads(part.read_text("utf-8"))
            out.update(found["about"])
            for at, row in found["rows"].items():
                out["points"][int(at)].update(row)


if __name__ == "__main__":
    sys.exit(main())
