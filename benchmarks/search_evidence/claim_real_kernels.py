"""Whether real kernels have valleys, and which strategy wins on them at 48, 96 and 160 evaluations.

Parameters of ``auto`` are chosen on the open half of the kernels; both halves are reported.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bootstrap import Estimate, estimate, mean, paired, ratio_of_medians, share_of_wins
from finding import Curve, Evidence, Figure, Finding, Panel, Table, quartiles
from table_search import TableRun, table_search
from tabulated import FILE, Shape, kernels, shape
from tabulated import Table as Kernel

from tilewright.search.spec import BeamSpec, StallSpec, StrategySpec

STORED = False
LIVE = Path(__file__).resolve().parent / "results" / "live.json"
BUDGETS = (48, 96, 160)
_SHARE = 0.90
_EASY = 0.95
_STRICT = BeamSpec(diverse=0, tolerance=1.0)
STRATEGIES: Mapping[str, StrategySpec] = {
    "staged": StrategySpec(strategy="staged"),
    "greedy": StrategySpec(strategy="incumbent"),
    "strict beam": StrategySpec(strategy="beam", beam=_STRICT),
    "beam": StrategySpec(strategy="beam"),
    "grid": StrategySpec(strategy="grid"),
    "greedy, then beam": StrategySpec(strategy="stall"),
}
CHOICES: Mapping[str, StrategySpec] = {
    f"beam {width} x {ideas}, tolerance {tolerance}, after {after}": StrategySpec(
        strategy=("staged", "stall"),
        beam=BeamSpec(width=width, ideas=ideas, diverse=width // 2, tolerance=tolerance),
        stall=StallSpec(after=after),
    )
    for width, ideas in ((6, 4), (3, 4))
    for tolerance in (1.10, 1.25)
    for after in (10, 30)
}
Runs = Mapping[str, Sequence[TableRun]]


@dataclass(frozen=True)
class Results:
    """Runs by strategy and kernel, and what the tables look like."""

    tables: Mapping[str, Kernel]
    shapes: Mapping[str, Shape]
    runs: Mapping[str, Runs]
    chosen: str

    def values(self, strategy: str, evaluations: int) -> dict[object, list[float]]:
        """The share of the best log-gain at a budget, by kernel."""
        found = self.runs[strategy]
        return {name: [run.at(evaluations) for run in found[name]] for name in self.tables}

    def reached(self, strategy: str) -> dict[object, list[float]]:
        """Evaluations to 90 %; one more than the budget where it is not reached."""
        found = self.runs[strategy]
        never = BUDGETS[-1] + 1.0
        return {
            name: [float(run.evaluations_to(_SHARE) or never) for run in found[name]]
            for name in self.tables
        }


def evidence(size: str, file: Path = FILE) -> Evidence:
    """All claims on the tables; a sentence where there are none yet."""
    tables = kernels(file)
    if not tables:
        missing = Finding(
            "Real kernels have valleys", "L1", "-", "not measured: no table was measured yet",
            None, None, "-", None,
        )  # fmt: skip
        return Evidence("Real kernels", (missing,))
    whole = size == "whole"
    chosen = dict(list(tables.items())[: None if whole else 2])
    return _evidence(_results(chosen, 12 if whole else 2))


def _results(tables: Mapping[str, Kernel], seeds: int) -> Results:
    runs = {name: _runs(tables, spec, seeds) for name, spec in STRATEGIES.items()}
    open_half = {name: one for name, one in tables.items() if not one.unit.blind} or dict(tables)
    tried = {name: _runs(open_half, spec, seeds) for name, spec in CHOICES.items()}
    chosen = max(tried, key=lambda name: _mean_at(tried[name], 96))
    runs["auto"] = _runs(tables, CHOICES[chosen], seeds)
    runs["grid, random cells"] = _runs(tables, STRATEGIES["grid"], seeds, shuffled=True)
    return Results(tables, {name: shape(one) for name, one in tables.items()}, runs, chosen)


def _runs(
    tables: Mapping[str, Kernel], spec: StrategySpec, seeds: int, *, shuffled: bool = False
) -> Runs:
    return {
        name: [
            table_search(table, spec, seed, BUDGETS[-1], shuffled=shuffled) for seed in range(seeds)
        ]
        for name, table in tables.items()
    }


def _mean_at(runs: Runs, evaluations: int) -> float:
    return mean([run.at(evaluations) for several in runs.values() for run in several])


def _evidence(results: Results) -> Evidence:
    return Evidence(
        "Real kernels",
        (
            _valleys(results), _greedy_is_kept(results), _beam_gains(results),
            _auto_gains(results), *_live(), *_grid_is_diverse(results),
        ),
        (_shapes(results), *_budgets(results), _pairs(results), _by_kernel(results)),
        (_curves(results), _ecdf(results)),
        (_about(results),),
        _machine(results),
    )  # fmt: skip


def _machine(results: Results) -> str:
    missing = sum(
        len(set(one.unit.points.values()) - set(one.points)) for one in results.tables.values()
    )
    texts = sum(len(one.points) for one in results.tables.values())
    left = f"; {missing} texts have no verdict yet" if missing else ""
    return f"on one NVIDIA H200: {texts} texts of {len(results.tables)} kernels{left}"


def _about(results: Results) -> str:
    blind = ", ".join(name for name, one in results.tables.items() if one.unit.blind)
    return f"""A step changes one site (a rewrite, or an edit) or goes to another launch setting.
A local optimum is a text, or several adjacent texts, that no step makes 2 % faster. The valley is
the greatest loss on the best path from the end of the steepest climb to a text within 5 % of the
fastest. At 0 % there is a path on which no step is slower, but some steps gain nothing, and greedy
search does not take these. `staged` takes each
stage once and tries three launch settings at last. `auto` goes through the stages, then searches:
{results.chosen}; this was chosen on the kernels other than
{blind}."""


def _valleys(results: Results) -> Finding:
    several = [name for name, one in results.shapes.items() if one.optima - one.near > 0]
    stuck = [name for name, one in results.shapes.items() if one.from_start < _SHARE]
    greedy = results.values("greedy", BUDGETS[-1])
    easy = [name for name in results.shapes if mean(greedy[name]) > _EASY]
    count = len(results.shapes)
    return Finding(
        "Real kernels have valleys", "L1",
        "more than half of the kernels have a local optimum that is over 5 % slower than the best",
        f"{len(several)} of {count}; the steepest climb from the start stays below 90 % of the "
        f"best log-gain on {', '.join(stuck) or 'none'}, and greedy search exceeds {_EASY} on "
        f"{len(easy)}, which therefore do not separate the populations",
        None, None,
        "greedy search and the steepest climb are compared with the known best text of each table",
        2 * len(several) > count,
    )  # fmt: skip


def _greedy_is_kept(results: Results) -> Finding:
    ratio = ratio_of_medians(results.reached("auto"), results.reached("greedy"))
    control = ratio_of_medians(results.reached("strict beam"), results.reached("greedy"))
    return Finding(
        "auto is no slower than greedy search", "L1",
        "at most 1.15 times greedy's median evaluations to 90 %",
        f"{ratio.value:.2f} times", ratio.low, ratio.high,
        f"a strict beam needs {control} times, and has to fail", ratio.high <= 1.15,
    )  # fmt: skip


def _beam_gains(results: Results) -> Finding:
    names = [name for name, one in results.shapes.items() if one.optima >= 2]
    gain = _gain(results, "greedy", "beam", 96, names)
    strict = _gain(results, "greedy", "strict beam", 96, names)
    return Finding(
        "A beam beats greedy search on real kernels with at least two local optima", "L1",
        "a paired gain of at least 0.05 of the log-gain at 96 evaluations",
        f"{gain.value:+.3f} over {len(names)} kernels" if names else "no such kernel",
        gain.low, gain.high, f"a strict beam gains {strict}", gain.low >= 0.05,
    )  # fmt: skip


def _auto_gains(results: Results) -> Finding:
    names = list(results.tables)
    gain = _gain(results, "staged", "auto", 48, names)
    later = _gain(results, "staged", "auto", 96, names)
    strict = _gain(results, "greedy", "auto", 48, names)
    return Finding(
        "auto finds more than the stages alone", "L1",
        "a paired gain above 0 at 48 evaluations, of which the stages need about ten",
        f"{gain.value:+.3f}, and {later} at 96", gain.low, gain.high,
        f"greedy search, which goes back to earlier stages, is {strict} behind auto", gain.low > 0,
    )  # fmt: skip


def _live() -> Iterator[Finding]:
    """What ``live_searches.py`` found on a GPU."""
    found = json.loads(LIVE.read_text("utf-8")) if LIVE.is_file() else {}
    # A tiling has no pair.
    stems = [name.removesuffix(".staged") for name in found if name.endswith(".staged")]
    said, pairs = [], []
    for stem in stems:
        staged, auto = (_end(found.get(f"{stem}.{one}")) for one in ("staged", "auto"))
        said.append(f"{stem}: {auto[0]} against {staged[0]}")
        pairs += [auto[1] > staged[1]] if auto[1] and staged[1] else []
    replayed = sum(one.get("replayed") is True for one in found.values())
    withdrawn = sum("withdrawn" in note for one in found.values() for note in one.get("notes", ()))
    yield Finding(
        "auto ends faster than the stages alone in live searches", "L2, one H200, budget 48",
        "a higher final speed-up on each kernel",
        "; ".join(said) or "not measured: live_searches.py was not run", None, None,
        f"{replayed} of {len(found)} replayed equal; of {withdrawn} the fastest text was withdrawn "
        "at the end, as its times were not trusted",
        all(pairs) if pairs else None,
    )  # fmt: skip


def _end(run: Mapping[str, Any] | None) -> tuple[str, float | None]:
    """The final speed-up of a live search, in words and as a number."""
    if not run or not run.get("speedup"):
        return "not run", None
    value = run["speedup"]["value"]
    return f"{value:.2f}x after {run['evaluations']} evaluations", value


def _gain(
    results: Results, first: str, second: str, evaluations: int, names: Sequence[str]
) -> Estimate:
    before, after = results.values(first, evaluations), results.values(second, evaluations)
    pairs = paired({n: before[n] for n in names}, {n: after[n] for n in names})
    return estimate(pairs) if pairs else Estimate(0.0, 0.0, 0.0)


def _grid_is_diverse(results: Results) -> Iterator[Finding]:
    cells = {
        name: {one: [float(run.cells) for run in runs] for one, runs in found.items()}
        for name, found in results.runs.items()
    }
    over_greedy = estimate(_quotients(cells["grid"], cells["greedy"]))
    over_strict = estimate(_quotients(cells["grid"], cells["strict beam"]))
    shuffled = _gain(results, "grid, random cells", "grid", 160, list(results.tables))
    control = f"with random cells as axes the best is {shuffled} below"
    yield Finding(
        "MAP-Elites keeps diversity on real kernels", "L1",
        "at least 1.5 times the cells of greedy search and 1.2 times those of a strict beam",
        f"{over_greedy} and {over_strict}", over_greedy.low, over_greedy.high, control,
        over_greedy.low >= 1.5 and over_strict.low >= 1.2,
    )  # fmt: skip
    best = {name: mean(values) for name, values in results.values("grid", 160).items()}
    beam = {name: mean(values) for name, values in results.values("beam", 160).items()}
    share = estimate({name: [best[name] / (beam[name] or 1.0)] for name in best})
    yield Finding(
        "MAP-Elites finds nearly as much as a diverse beam on real kernels", "L1",
        "at least 0.70 times the best of the beam", f"{share.value:.2f} times", share.low,
        share.high, control, share.low >= 0.70,
    )  # fmt: skip


def _quotients(
    first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]
) -> dict[object, list[float]]:
    return {
        name: [a / (b or 1.0) for a, b in zip(first[name], second[name], strict=True)]
        for name in first
    }


def _by_kernel(results: Results) -> Table:
    rows = [
        (name, *(f"{mean(results.values(strategy, 48)[name]):.2f}" for strategy in results.runs))
        for name in results.tables
    ]
    return Table("By kernel, at 48 evaluations, means", ("kernel", *results.runs), tuple(rows))


def _shapes(results: Results) -> Table:
    rows = [
        (
            f"{name}{' (blind)' if results.tables[name].unit.blind else ''}",
            f"{one.alive} of {one.texts}", f"{2.718281828**one.optimum:.2f}x", str(one.optima),
            str(one.near), f"{100 * one.climbing:.0f} %", f"{one.from_start:.2f}",
            "no way" if one.valley == float("inf") else f"{100 * one.valley:.0f} %",
        )
        for name, one in results.shapes.items()
    ]  # fmt: skip
    head = (
        "kernel", "correct texts", "best over the start", "local optima", "within 5 % of the best",
        "climbs that get there", "climb from the start", "valley",
    )  # fmt: skip
    return Table("The tables", head, tuple(rows))


def _budgets(results: Results) -> Iterator[Table]:
    halves = {
        "all kernels": list(results.tables),
        "open half": [name for name, one in results.tables.items() if not one.unit.blind],
        "blind half": [name for name, one in results.tables.items() if one.unit.blind],
    }
    for half, names in halves.items():
        if not names:
            continue
        rows = [
            (
                strategy,
                *(str(estimate({n: results.values(strategy, at)[n] for n in names}))
                  for at in BUDGETS),
                f"{mean([one for n in names for one in results.reached(strategy)[n]]):.0f}",
                f"{_spent(results.runs[strategy], names):.0f}",
            )
            for strategy in results.runs
        ]  # fmt: skip
        head = (
            "strategy", *(f"at {at}" for at in BUDGETS), "evaluations to 90 %, mean", "spent",
        )  # fmt: skip
        yield Table(f"Share of the best log-gain, {half}", head, tuple(rows))


def _spent(runs: Runs, names: Sequence[str]) -> float:
    return mean([float(run.spent) for name in names for run in runs[name]])


def _pairs(results: Results) -> Table:
    names = list(results.tables)
    rows = []
    for strategy in results.runs:
        if strategy == "greedy":
            continue
        cells = []
        for at in BUDGETS:
            before, after = results.values("greedy", at), results.values(strategy, at)
            wins = share_of_wins(paired(before, after))
            cells.append(f"{_gain(results, 'greedy', strategy, at, names)}; {100 * wins:.0f} %")
        rows.append((strategy, *cells))
    head = ("strategy", *(f"at {at}" for at in BUDGETS))
    return Table(
        "Paired difference to greedy search, and the share of pairs won", head, tuple(rows)
    )


def _curves(results: Results) -> Figure:
    places = tuple(range(1, BUDGETS[-1] + 1, 3))
    panels = []
    for name in results.tables:
        curves = []
        for strategy in ("greedy", "staged", "beam", "grid", "auto"):
            runs = [[run.at(at) for at in places] for run in results.runs[strategy][name]]
            low, middle, high = quartiles(runs)
            curves.append(Curve(strategy, tuple(map(float, places)), middle, low, high))
        panels.append(Panel(name, tuple(curves)))
    return Figure(
        "real_kernels", "Best so far on real kernels, medians and quartiles", "evaluations",
        "share of the best log-gain", tuple(panels), 1.0,
    )  # fmt: skip


def _ecdf(results: Results) -> Figure:
    curves = []
    for strategy in ("greedy", "staged", "strict beam", "beam", "grid", "auto"):
        every = [one for values in results.reached(strategy).values() for one in values]
        places = range(BUDGETS[-1] + 1)
        shares = tuple(sum(one <= at for one in every) / len(every) for at in places)
        curves.append(Curve(strategy, tuple(map(float, places)), shares))
    panel = Panel("all kernels", tuple(curves), steps=True)
    return Figure(
        "real_kernels_reached", "Share of runs that reached 90 % of the best log-gain",
        "evaluations", "share of runs", (panel,), 1.0,
    )  # fmt: skip
