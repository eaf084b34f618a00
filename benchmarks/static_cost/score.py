"""Static cost held against what an H200 measured: rank correlation, and where the best stands.

    python benchmarks/static_cost/score.py [--json OUT] [--markdown] [--times JSON --reports GZ]
    TILEWRIGHT_PYTHON=PYTHON python benchmarks/static_cost/score.py --compile

Needs no GPU: ``h200.json`` has the times, ``reports.json.gz`` the compile reports, made by Triton
of the version that was measured. ``--compile`` makes the reports anew.

A group is a kernel in one shape. Reckoned are groups whose slowest configuration takes at least
1.15 times the fastest's time, as ranks within the noise mean nothing.

The criterion is whether the best configuration is among the tenth predicted fastest, that is the
first ``ceil(N / 10)`` of N; of equal predictions the one that was measured first counts as first.
It is held in two ways, and both are told of all groups, of kernels that constants were fitted to,
and of the others:

- ``top`` (strict): the configuration with the least measured median is among these.
- ``tied`` (indistinguishable by the measurement): one of these overlaps the best one: its lower
  quartile is no more than the best one's upper quartile.

Where more than a tenth of a list overlap the best one, a second measurement does not always find
the same best (``repeats.py``). The lists in which no more do are told by themselves as well.

``lost`` is what the best of these takes over the fastest, ``first`` what the first takes.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from launch_key import launch_key

from tilewright.costs import estimate
from tilewright.serialize import dump, load
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.targets.model import CompileReport, LaunchFacts, Target

HERE = Path(__file__).parent
TIMES = HERE / "h200.json"
REPORTS = HERE / "reports.json.gz"
SETS = (
    (False, TIMES, REPORTS),
    (False, HERE / "h200_other_shapes.json.gz", HERE / "reports_other_shapes.json.gz"),
    (False, HERE / "h200_fresh.json.gz", HERE / "reports_fresh.json.gz"),
    (True, HERE / "h200_whole.json.gz", HERE / "reports_whole.json.gz"),
    (True, HERE / "h200_known.json.gz", HERE / "reports_known.json.gz"),
    (True, HERE / "blind.json.gz", HERE / "reports_blind.json.gz"),
)
"""What constants are fitted to: whether lists are whole, times and compile reports."""
FITTED = frozenset((
    "add_gelu", "add_rms_norm", "attention", "column_sum", "cross_entropy", "decode_attention",
    "depthwise_conv", "dequantize", "embedding", "gated_matmul", "group_norm", "kl_div",
    "layernorm", "matmul", "matmul_batched", "matmul_descriptor", "matmul_gelu",
    "matmul_int8_weight", "matmul_split", "quantize", "rope", "row_argmax", "scan", "softmax",
    "stencil", "strided_copy", "swiglu", "transpose",
))  # fmt: skip
"""Kernels of these sets; the others are set aside."""
FOLDERS = ("", "fresh", "blind")
LEAST_SPREAD = 1.15
TARGET = Target("cuda", "90")
Point = Mapping[str, Any]


@dataclass(frozen=True)
class Group:
    """How the estimates of one kernel and shape fare.

    Attributes:
        top: the configuration measured as the fastest is in the tenth predicted fastest.
        tied: one of these is, as far as the measurement tells.
        ties: configurations that the measurement cannot tell from the fastest, it among them.
        lost: what the best of these takes over the fastest, less 1; ``first``: what the first does.
        bias: estimated over measured time, at the median.
    """

    name: str
    fitted: bool
    points: int
    spread: float
    rank_correlation: float
    top: bool
    tied: bool
    ties: int
    lost: float
    first: float
    bias: float

    @property
    def settled(self) -> bool:
        """Whether the measurement itself names the fastest, but for a tenth of the list at most."""
        return self.ties <= tenth(self.points)


def tenth(points: int) -> int:
    """How many configurations the first tenth of a list has."""
    return math.ceil(points / 10)


def main() -> int:
    options = _options()
    points = measured(options.times)
    if options.compile:
        _compile_all(points, options.reports)
    groups = scored(points, reports(options.reports))
    print(table(groups, options.markdown))
    if options.json:
        options.json.write_text(json.dumps([asdict(g) for g in groups], indent=1), "utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--times", type=Path, default=TIMES, help="what measure.py wrote")
    parser.add_argument("--reports", type=Path, default=REPORTS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


def measured(times: Path = TIMES) -> list[Point]:
    """The points that were timed."""
    opened = gzip.open if times.suffix == ".gz" else open
    with opened(times, "rt", encoding="utf-8") as file:
        found = json.load(file)["points"]
    return [point for point in found if "us" in point]


def reports(file_name: Path = REPORTS) -> Mapping[str, Mapping[str, Any]]:
    """Reports by what the compiler sees of a launch."""
    with gzip.open(file_name, "rt", encoding="utf-8") as file:
        found: dict[str, Mapping[str, Any]] = json.load(file)
    return found


def scored(points: Sequence[Point], compiled: Mapping[str, Mapping[str, Any]]) -> list[Group]:
    """Every group that spreads enough."""
    modules: dict[str, Module] = {}
    groups: dict[str, list[tuple[Point, float]]] = {}
    for point in points:
        name = point["kernel"]
        if name not in modules:
            file = file_of(name)
            modules[name] = parse_module(file.read_text("utf-8"), str(file))
        report = load(CompileReport, {**compiled[launch_key(point)], "launch": point["launch"]})
        found = estimate(modules[name], report)
        if found is not None:
            shape = ", ".join(f"{k}={v}" for k, v in point["shape"].items())
            groups.setdefault(f"{name} {shape}", []).append((point, found.us))
    made = (group_of(name, pairs) for name, pairs in groups.items())
    return [group for group in made if group.spread >= LEAST_SPREAD]


def file_of(kernel: str) -> Path:
    """The file of a kernel, fresh and blind ones among them."""
    files = [HERE / "kernels" / folder / f"{kernel}.py" for folder in FOLDERS]
    return next((file for file in files if file.exists()), files[0])


def group_of(name: str, pairs: Sequence[tuple[Point, float]]) -> Group:
    """How estimates fare, by points and their estimated microseconds."""
    times = [point["us"] for point, _ in pairs]
    predicted = [us for _, us in pairs]
    order = sorted(range(len(pairs)), key=predicted.__getitem__)
    chosen = order[: tenth(len(pairs))]
    best = min(range(len(pairs)), key=times.__getitem__)
    limit = pairs[best][0]["quartiles"][1]
    alike = {at for at, (point, _) in enumerate(pairs) if point["quartiles"][0] <= limit}
    return Group(
        name=name,
        fitted=name.split()[0] in FITTED,
        points=len(pairs),
        spread=max(times) / min(times),
        rank_correlation=statistics.correlation(ranks(times), ranks(predicted)),
        top=best in chosen,
        tied=not alike.isdisjoint(chosen),
        ties=len(alike),
        lost=min(times[at] for at in chosen) / times[best] - 1,
        first=times[order[0]] / times[best] - 1,
        bias=math.exp(statistics.median(map(math.log, map(_over, predicted, times)))),
    )


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value; equal ones share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    for value, same in itertools.groupby(enumerate(order), key=lambda at: values[at[1]]):
        del value
        places = list(same)
        mean = statistics.mean(rank for rank, _ in places)
        for _, at in places:
            found[at] = mean
    return found


def _over(one: float, other: float) -> float:
    return one / other


def table(groups: Sequence[Group], markdown: bool) -> str:
    """One row a group, and the sums."""
    head = (
        "kernel and shape", "kernel is", "N", "rank corr.", "top", "tied", "ties", "lost", "first",
        "bias",
    )  # fmt: skip
    rows = [
        (
            g.name, "fitted" if g.fitted else "set aside", str(g.points),
            f"{g.rank_correlation:.2f}", _mark(g.top), _mark(g.tied), str(g.ties),
            f"{g.lost:.1%}", f"{g.first:.1%}", f"{g.bias:.2f}",
        )
        for g in groups
    ]  # fmt: skip
    if markdown:
        lines = [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]
    else:
        widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (head, *rows)
        ]
    halves = (("all", groups), ("fitted", [g for g in groups if g.fitted]))
    held = ("set aside", [g for g in groups if not g.fitted])
    return "\n".join([*lines, "", *(summed(name, some) for name, some in (*halves, held) if some)])


def _mark(value: bool) -> str:
    return "yes" if value else "no"


def summed(name: str, groups: Sequence[Group]) -> str:
    """Groups in a sentence."""
    count = len(groups)
    settled = [g.top for g in groups if g.settled]
    told = f"{sum(settled)} of {len(settled)} ({_part(settled)})" if settled else "none"
    return (
        f"{name}: {sum(g.points for g in groups)} points in {count} groups; median rank "
        f"correlation {statistics.median(g.rank_correlation for g in groups):.3f}, least "
        f"{min(g.rank_correlation for g in groups):.2f}; the best among the top tenth: strictly in "
        f"{sum(g.top for g in groups)} ({_part(g.top for g in groups)}), indistinguishable from it "
        f"in {sum(g.tied for g in groups)} ({_part(g.tied for g in groups)}); strictly where the "
        f"measurement names it but for a tenth: {told}; at most 2 % lost in "
        f"{sum(g.lost <= 0.02 for g in groups)}, 5 % in {sum(g.lost <= 0.05 for g in groups)}"
    )


def _part(held: Iterable[bool]) -> str:
    values = list(held)
    return f"{sum(values) / len(values):.0%}"


def _compile_all(points: Sequence[Point], out: Path) -> None:
    from tilewright.devices.opening import open_device
    from tilewright.targets.compilation import compile_launch

    device = open_device("interpreter")
    print(f"compiling with Triton {device.info.triton}", file=sys.stderr)
    wanted = {launch_key(point): point for point in points}

    def work(point: Point) -> dict[str, Any]:
        path = str(file_of(point["kernel"]))
        report = compile_launch(device, path, load(LaunchFacts, point["launch"]), TARGET)
        return compact(report)

    with ThreadPoolExecutor() as pool:
        found = dict(zip(wanted, pool.map(work, wanted.values()), strict=True))
    device.close()
    with gzip.GzipFile(out, "wb", mtime=0) as file:
        file.write(json.dumps(found, separators=(",", ":")).encode())


def compact(report: CompileReport) -> dict[str, Any]:
    """A report without its launch, and without what says nothing."""
    made = dump(report)
    kept = {k: v for k, v in made.items() if k not in ("launch", "seconds", "cached", "lines")}
    kept["details"] = {k: v for k, v in kept["details"].items() if not k.endswith("_seconds")}
    kept["lines"] = [{k: v for k, v in line.items() if v} for line in made["lines"]]
    for line in kept["lines"]:
        line.setdefault("instructions", 0)
    return kept


if __name__ == "__main__":
    sys.exit(main())
