"""Compare estimates of NKI kernels with the profiles that NKIBench publishes for trn1.

    python benchmarks/nki_cost.py count FOLDER > benchmarks/nki_cost.json
    python benchmarks/nki_cost.py table
    python benchmarks/nki_cost.py streams FOLDER

FOLDER is a checkout of AccelOpt, with NKIBench/ and experiments/full_complete_local/. ``count``
writes the published times and terms, and what Tilewright counts in the texts; ``table`` needs that
file alone: the fit of the constants in ``knowledge/hardware/aws.yaml``, the same with each problem
left out in turn, and the terms. ``streams`` compares the instructions of the text with those of the
simulator.
"""

import csv
import importlib.util
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from nki_peaks import nkibench_amounts, peak_share

from tilewright.analysis.nki import Given, TensorGiven, launched_flow
from tilewright.costs.nki.estimate import estimate, footprint_of, together
from tilewright.costs.nki.model import Engine
from tilewright.costs.nki.stream import instruction_stream
from tilewright.hardware.chips import neuron_chip
from tilewright.source import parse_module

STORED = Path(__file__).with_suffix(".json")
TERMS = (
    "hardware_flops", "transpose_flops", "hbm_read_bytes", "hbm_write_bytes", "psum_write_bytes",
    "spill_reload_bytes", "spill_save_bytes",
)  # fmt: skip
MARGIN = 1.05
"""The range that is stated: the extremes that were seen, and so much more."""


@dataclass(frozen=True)
class Point:
    """One kernel: what was measured, what Tilewright counts. Times in ms.

    Attributes:
        best: the best time that AccelOpt published for the problem; its text is not public.
        busy: of each engine, on trn1 and trn2; bound: on trn1.
    """

    problem: str
    sizes: Mapping[str, int]
    measured: float
    best: float
    profile: Mapping[str, float | None]
    terms: Mapping[str, float | None]
    busy: Mapping[str, Mapping[str, float]]
    bound: Mapping[str, float]


def main() -> None:
    """Run the subcommand."""
    match sys.argv[1:]:
        case ["count", folder]:
            points = [asdict(point) for point in counted(Path(folder))]
            print(json.dumps(points, indent=1, sort_keys=True))
        case ["table"]:
            for line in page(stored()):
                print(line)
        case ["streams", folder]:
            for line in agreement(Path(folder)):
                print(line)
        case _:
            sys.exit(__doc__)


def stored() -> list[Point]:
    """The points of the committed file."""
    return [Point(**point) for point in json.loads(STORED.read_text(encoding="utf-8"))]


def counted(folder: Path) -> Iterator[Point]:
    """Each problem of NKIBench, read from the text of its kernel."""
    results = folder / "experiments" / "full_complete_local"
    best = _best(results / "results" / "11110904_best_plan_id.csv")
    with (results / "profile_results.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            profile = json.loads(row["profile"])
            flow = launched_flow(*_launch(folder, row["problem"]))
            records = instruction_stream(flow).records
            found = {
                name: estimate(records, chip, footprint_of(flow, chip))
                for name in ("trn1", "trn2")
                for chip in (neuron_chip(f"neuron:{name}"),)
            }
            yield Point(
                problem=row["problem"],
                sizes=json.loads(row["values"]),
                measured=profile["latency"],
                best=best[row["case_name"]],
                profile={name: profile.get(name) for name in TERMS},
                terms={name: found["trn1"].terms[name] for name in TERMS},
                busy={
                    name: {engine: seconds * 1e3 for engine, seconds in one.busy.items()}
                    for name, one in found.items()
                },
                bound={name: one.bound * 1e3 for name, one in found.items()},
            )


def _best(path: Path) -> dict[str, float]:
    with path.open(encoding="utf-8") as file:
        return {
            row["case_name"]: json.loads(row["kernel_metadata"])["latency"]
            for row in csv.DictReader(file)
        }


def _launch(folder: Path, problem: str) -> tuple[Any, Any, dict[str, Given]]:
    """Module, kernel and arguments of a problem's first case."""
    bench = folder / "NKIBench"
    summary = json.loads((bench / "summary.json").read_text(encoding="utf-8"))
    (case, *_) = summary[problem]["cases"].values()
    path = bench / case["impls"][0]["kernel"]
    module = parse_module(path.read_text(encoding="utf-8"), str(path))
    (kernel,) = module.kernels
    values = arguments(bench / case["impls"][0]["task"])
    names = [parameter.arg for parameter in kernel.node.args.args]
    given: dict[str, Given] = {
        name: TensorGiven(value.shape, str(value.dtype)) if isinstance(value, np.ndarray) else value
        for name, value in zip(names, values, strict=True)
    }
    return module, kernel, given


def arguments(reference: Path) -> list[Any]:
    """What a reference passes to its kernel."""
    module = _imported(reference)
    return list(module.transform_to_nki_inputs(module.get_inputs()))


@dataclass(frozen=True)
class Fit:
    """``serial_share`` and ``scale`` of the chip's calibration, and the spread they leave."""

    share: float
    scale: float
    low: float
    high: float

    def ratio(self, point: Point) -> float:
        """Measured time over the estimate."""
        return point.measured / self.estimate(point)

    def estimate(self, point: Point, chip: str = "trn1") -> float:
        """In ms."""
        busy = {Engine(name): time for name, time in point.busy[chip].items()}
        return max(point.bound[chip], self.scale * together(busy, self.share))


def fitted(points: Sequence[Point]) -> Fit:
    """The share whose ratios scatter least in their logarithms, and the scale that centres them."""
    found = []
    for step in range(101):
        plain = Fit(step / 100, 1.0, 0, 0)
        logs = [math.log(plain.ratio(point)) for point in points]
        mean = sum(logs) / len(logs)
        found.append((sum((one - mean) ** 2 for one in logs), step / 100, math.exp(mean)))
    _, share, scale = min(found)
    ratios = [Fit(share, scale, 0, 0).ratio(point) for point in points]
    return Fit(share, scale, min(ratios) / MARGIN, max(ratios) * MARGIN)


def rank_correlation(one: Sequence[float], two: Sequence[float]) -> float:
    """Spearman's, without ties."""
    places = [{value: place for place, value in enumerate(sorted(values))} for values in (one, two)]
    distances = (places[0][a] - places[1][b] for a, b in zip(one, two, strict=True))
    count = len(one)
    return 1 - 6 * sum(d * d for d in distances) / (count * (count * count - 1))


@dataclass(frozen=True)
class Transfer:
    """A problem estimated by constants that were fitted without it."""

    point: Point
    fit: Fit

    @property
    def ratio(self) -> float:
        return self.fit.ratio(self.point)

    @property
    def inside(self) -> bool:
        return self.fit.low <= self.ratio <= self.fit.high


def left_out(points: Sequence[Point]) -> list[Transfer]:
    """Each problem in turn, by the fit of all others."""
    return [
        Transfer(point, fitted([other for other in points if other is not point]))
        for point in points
    ]


def halves(points: Sequence[Point]) -> list[Transfer]:
    """Every other problem by the fit of the rest, both ways, in alphabetical order."""
    ordered = sorted(points, key=lambda point: point.problem)
    found = []
    for first in (0, 1):
        known, others = ordered[first::2], ordered[1 - first :: 2]
        found += [Transfer(point, fitted(known)) for point in others]
    return found


def mean_error(found: Sequence[Transfer]) -> float:
    """Mean of the factors by which estimate and measurement differ."""
    return math.exp(sum(abs(math.log(one.ratio)) for one in found) / len(found))


def page(points: Sequence[Point]) -> Iterator[str]:
    """The tables of docs/nki-cost.md."""
    yield from _times(points)
    yield ""
    yield from _terms(points)
    yield ""
    yield from _peaks(points)


def _times(points: Sequence[Point]) -> Iterator[str]:
    fit, alone = fitted(points), left_out(points)
    yield "| problem | measured ms | bound ms | share | estimate ms | range ms | left out |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for point, other in zip(points, alone, strict=True):
        usual = fit.estimate(point)
        low = max(point.bound["trn1"], usual * fit.low)
        note = "" if other.inside else " outside"
        yield (
            f"| {point.problem} | {point.measured:.3f} | {point.bound['trn1']:.3f} | "
            f"{point.bound['trn1'] / point.measured:.2f} | {usual:.3f} | {low:.3f} to "
            f"{usual * fit.high:.3f} | {other.fit.estimate(point):.3f}{note} |"
        )
    yield ""
    constants = f"serial_share {fit.share:.2f}, scale {fit.scale:.3f}"
    yield f"fit: {constants}, range {fit.low:.2f} to {fit.high:.2f}"
    whole = [Transfer(point, fit) for point in points]
    for name, found in (("all", whole), ("one left out", alone), ("by halves", halves(points))):
        inside = sum(one.inside for one in found)
        measured = [one.point.measured for one in found]
        usual_times = [one.fit.estimate(one.point) for one in found]
        yield (
            f"{name}: mean factor {mean_error(found):.3f}, worst "
            f"{max(math.exp(abs(math.log(one.ratio))) for one in found):.2f}, inside the range "
            f"{inside} of {len(found)}, rank correlation "
            f"{rank_correlation(measured, usual_times):.3f}"
        )


def _terms(points: Sequence[Point]) -> Iterator[str]:
    yield "| problem | " + " | ".join(TERMS) + " |"
    yield "| --- |" + " --- |" * len(TERMS)
    for point in points:
        cells = []
        for name in TERMS:
            ours, published = point.terms[name] or 0, point.profile[name] or 0
            if ours == published:
                cells.append("exact")
            elif not published:
                cells.append(f"{ours / 1e6:.0f} M for 0")
            else:
                cells.append(f"{ours / published:.3f}")
        yield f"| {point.problem} | " + " | ".join(cells) + " |"


def _peaks(points: Sequence[Point]) -> Iterator[str]:
    """Percentages of peak: of measured times, and of estimates for both chips."""
    fit = fitted(points)
    yield "| problem | limit | measured % | with GB/s | estimated trn1 % | estimated trn2 % |"
    yield "| --- | --- | --- | --- | --- | --- |"
    shares: dict[str, list[float]] = {"measured": [], "trn1": [], "trn2": []}
    for point in points:
        amounts = nkibench_amounts(point.problem, point.sizes)
        one, two = (neuron_chip(f"neuron:{name}") for name in ("trn1", "trn2"))
        measured = peak_share(amounts, point.measured / 1e3, one)
        first = peak_share(amounts, fit.estimate(point) / 1e3, one)
        second = peak_share(amounts, fit.estimate(point, "trn2") / 1e3, two)
        assert measured is not None
        assert first is not None
        assert second is not None
        yield (
            f"| {point.problem} | {measured.limit} | {measured.benchmark:.1f} | "
            f"{measured.data_sheet:.1f} | {first.benchmark:.1f} | {second.benchmark:.1f} |"
        )
        for name, share in (("measured", measured), ("trn1", first), ("trn2", second)):
            shares[name].append(share.benchmark)
    yield ""
    for name, found in shares.items():
        geometric = math.exp(sum(map(math.log, found)) / len(found))
        yield f"{name}: mean {sum(found) / len(found):.1f} %, geometric mean {geometric:.1f} %"


def agreement(folder: Path) -> Iterator[str]:
    """Records of the text and of the simulator, problem by problem; the latter takes minutes."""
    from tilewright.worker.nki.modules import install

    install()
    for problem in json.loads((folder / "NKIBench" / "summary.json").read_text(encoding="utf-8")):
        text = totals(instruction_stream(launched_flow(*_launch(folder, problem))).records)
        run = totals(_simulated(folder, problem))
        counts = ", ".join(f"{count} {name}" for name, count in sorted(_named(run).items()))
        yield f"{problem}: {'the same' if text == run else 'not the same'}: {counts}"
        for key in sorted(text.keys() | run.keys()):
            if text[key] != run[key]:
                yield f"  {key}: {text[key]} from the text, {run[key]} in the simulator"


def _simulated(folder: Path, problem: str) -> Sequence[Mapping[str, Any]]:
    from tilewright.worker.nki.simulation import simulate

    bench = folder / "NKIBench"
    summary = json.loads((bench / "summary.json").read_text(encoding="utf-8"))
    (case, *_) = summary[problem]["cases"].values()
    np.random.seed(42)
    values = arguments(bench / case["impls"][0]["task"])
    module = _imported(bench / case["impls"][0]["kernel"])
    kernel = getattr(module, "kernel", None) or module.optimized_kernel
    return simulate(getattr(kernel, "function", kernel), values).records


def _imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_Key = tuple[int, str, bool, int, int, int]


def totals(records: Sequence[Mapping[str, Any]]) -> Counter[_Key]:
    """How often each operation runs, by line, shape and bytes."""
    found: Counter[_Key] = Counter()
    for record in records:
        shape = record["partitions"], record["free"], record.get("bytes", 0)
        transpose = bool(record.get("transpose"))
        found[record["line"], record["op"], transpose, *shape] += record["count"]
    return found


def _named(found: Counter[_Key]) -> Counter[str]:
    """The totals by operation alone; products that transpose apart."""
    names: Counter[str] = Counter()
    for (_, name, transpose, *_), count in found.items():
        names[name.rpartition(".")[2] + (" (transposes)" if transpose else "")] += count
    return names


if __name__ == "__main__":
    main()
