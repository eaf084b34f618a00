"""Populations on synthetic landscapes: what each finds for equal budgets, and what hints save."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from bootstrap import Estimate, estimate, paired, ratio_of_medians, share_of_wins
from finding import Curve, Evidence, Figure, Finding, Panel, Table, median, quartiles
from landscapes import Kind, Landscape, Search, landscape, search

from tilewright.search.node import Node
from tilewright.search.population import Population
from tilewright.search.populations.beam import Beam
from tilewright.search.spec import BeamSpec, StrategySpec

STORED = True
KINDS: tuple[Kind, ...] = ("independent", "valley", "deceptive")
BEAM_GAINS: tuple[tuple[Kind, float], ...] = (("valley", 0.6), ("deceptive", 0.7))
EVALUATIONS = 160
FAILS = 0.4
HINTED = 30
"""Landscapes on which hints are tried."""
_NARROW = {"width": 4, "ideas": 4, "diverse": 0}
Values = dict[object, list[float]]


class LastChildren(Beam):
    """The rule of AccelOpt's published code: only the children of the last generation stay."""

    def __init__(self, spec: BeamSpec) -> None:
        super().__init__(spec)
        self._frontier: list[Node] = []

    def select(self, want: int, rng: object) -> Sequence[Node]:
        """The fastest of the last children; those before them where all failed."""
        chosen = self._chosen()
        self._frontier = chosen or self._frontier
        self._competing = []
        slots = self._spec.ideas * self._spec.samples
        return [node for node in self._frontier for _ in range(slots)][:want]

    def best(self) -> Node:
        """The fastest of those that stayed."""
        members = self._ranked() or self._frontier
        return members[0] if members else super().best()


@dataclass(frozen=True)
class Strategy:
    """A specification, the population if it is none of the engine's, and whether axes are wrong."""

    spec: StrategySpec
    members: Callable[[], Population] | None = None
    shuffled: bool = False

    def search(self, on: Landscape, seed: int, evaluations: int = EVALUATIONS) -> Search:
        """One search of a landscape."""
        made = self.members() if self.members else None
        return search(
            on, self.spec, seed, evaluations, FAILS, shuffled=self.shuffled, members=made
        )  # fmt: skip


def _beam(**given: object) -> Strategy:
    beam = BeamSpec.model_validate(_NARROW | given)
    return Strategy(StrategySpec(strategy="beam", beam=beam))


WIDE = BeamSpec(width=6, ideas=6, samples=2, diverse=0, tolerance=float("inf"))
STRATEGIES: Mapping[str, Strategy] = {
    "greedy": Strategy(StrategySpec(strategy="incumbent")),
    "beam, strict": _beam(tolerance=1.0),
    "beam, 1.1 in two generations": _beam(tolerance=(1.1, 1.1, 1.0)),
    "beam, 1.1": _beam(tolerance=1.1),
    "beam, 1.1, two samples": _beam(tolerance=1.1, samples=2),
    "AccelOpt's code rule": Strategy(
        StrategySpec(strategy="beam", beam=WIDE), lambda: LastChildren(WIDE)
    ),
    "beam": Strategy(StrategySpec(strategy="beam")),
    "greedy, then beam": Strategy(StrategySpec(strategy="stall")),
    "grid": Strategy(StrategySpec(strategy="grid")),
    "grid, random cells": Strategy(StrategySpec(strategy="grid"), shuffled=True),
}


@dataclass(frozen=True)
class Runs:
    """All searches of one kind of landscape, by strategy and landscape."""

    kind: Kind
    by_name: Mapping[str, Mapping[int, Sequence[Search]]]

    def finals(self, name: str) -> Values:
        """The share of the best log-gain at the end, by landscape."""
        return {on: [one.final for one in found] for on, found in self.by_name[name].items()}

    def cells(self, name: str) -> Values:
        """Cells that hold a correct text, by landscape."""
        return {on: [float(s.cells) for s in found] for on, found in self.by_name[name].items()}

    def needed(self, name: str, share: float = 0.9) -> Values:
        """Evaluations to a share of the best log-gain; one more than there were if never."""
        return {
            on: [float(one.evaluations_to(share) or EVALUATIONS + 1) for one in found]
            for on, found in self.by_name[name].items()
        }

    def curve(self, name: str) -> Curve:
        """Median and quartiles of the best so far."""
        every = [one.fractions for found in self.by_name[name].values() for one in found]
        low, middle, high = quartiles(every)
        return Curve(name, tuple(range(1, EVALUATIONS + 1)), middle, low, high)


@cache
def runs(kind: Kind, landscapes: int, seeds: int) -> Runs:
    """Each strategy on the same landscapes with the same seeds."""
    grounds = [landscape(kind, number) for number in range(landscapes)]
    return Runs(
        kind,
        {
            name: {
                at: [strategy.search(on, seeds * at + seed) for seed in range(seeds)]
                for at, on in enumerate(grounds)
            }
            for name, strategy in STRATEGIES.items()
        },
    )


def evidence(size: str) -> Evidence:
    """What each population finds, and what hints by gradients save."""
    landscapes, seeds = (60, 2) if size == "whole" else (3, 1)
    every = {kind: runs(kind, landscapes, seeds) for kind in KINDS}
    findings = (
        _greedy_kept(every["independent"]),
        *(_beam_gains(every[kind], asked) for kind, asked in BEAM_GAINS),
        *(_diversity(every[kind]) for kind in KINDS),
        _hints(min(landscapes, HINTED)),
    )
    panels = tuple(
        Panel(kind, tuple(found.curve(name) for name in _SHOWN), steps=True)
        for kind, found in every.items()
    )
    figure = Figure(
        "populations", "Best so far by population", "evaluations",
        "share of the best log-gain", panels, top=1.0,
    )  # fmt: skip
    notes = (
        f"{landscapes} landscapes of each kind, {seeds} seeds, {EVALUATIONS} evaluations of which "
        f"{FAILS:.0%} fail, 1 % noise. A move is one bit, so that samples of one idea do not "
        "differ in speed: several samples of one idea gain more with a model whose replies vary.",
    )
    return Evidence("Populations", findings, (_table(every),), (figure,), notes)


_SHOWN = ("greedy", "beam, strict", "beam", "greedy, then beam", "grid")


def _table(every: Mapping[Kind, Runs]) -> Table:
    head = ("strategy", *(f"{kind}: share, reach 90 %, median" for kind in KINDS))
    rows = [(name, *(_cell(every[kind], name) for kind in KINDS)) for name in STRATEGIES]
    return Table(f"Share of the best log-gain after {EVALUATIONS} evaluations", head, tuple(rows))


def _cell(found: Runs, name: str) -> str:
    needed = [one for values in found.needed(name).values() for one in values]
    reached = [one for one in needed if one <= EVALUATIONS]
    middle = f"{median(reached):.0f}" if reached else "never"
    share = len(reached) / len(needed)
    return f"{estimate(found.finals(name))}, {share:.0%}, {middle}"


def _finding(
    claim: str, landscape: str, asked: str, found: str, at: Estimate, control: str, reached: bool
) -> Finding:
    return Finding(claim, landscape, asked, found, at.low, at.high, control, reached)


def _greedy_kept(on: Runs) -> Finding:
    ratio = ratio_of_medians(on.needed("greedy, then beam"), on.needed("greedy"))
    plain = ratio_of_medians(on.needed("beam"), on.needed("greedy"))
    return _finding(
        "A search that is greedy until it stalls is no slower than greedy search where moves are "
        "independent.",
        "L0 independent", "at most 1.15 times greedy's median evaluations to 90 %",
        f"{ratio} times", ratio,
        f"a beam from the start must fail it: {plain} times", ratio.high <= 1.15 < plain.low,
    )  # fmt: skip


def _beam_gains(on: Runs, asked: float) -> Finding:
    final = estimate(on.finals("beam"))
    gains = paired(on.finals("greedy"), on.finals("beam"))
    gain, wins = estimate(gains), share_of_wins(gains)
    strict = estimate(paired(on.finals("greedy"), on.finals("beam, strict")))
    stalled = estimate(on.finals("greedy, then beam"))
    reached = final.low >= asked and gain.low >= 0.25 and wins >= 0.8 and strict.high < 0.10
    return _finding(
        "A beam that tolerates slower parents finds texts that greedy search does not find.",
        f"L0 {on.kind}",
        f"at least {asked:.2f} of the best log-gain, 0.25 more than greedy, in 80 % of pairs",
        f"{final}; {gain} more than greedy, in {wins:.0%} of pairs; greedy, then beam: {stalled}",
        final, f"a strict beam must gain less than 0.10: {strict}", reached,
    )  # fmt: skip


def _diversity(on: Runs) -> Finding:
    cells = {name: estimate(on.cells(name)) for name in ("greedy", "beam, strict", "grid")}
    over_greedy = ratio_of_means(on.cells("grid"), on.cells("greedy"))
    over_strict = ratio_of_means(on.cells("grid"), on.cells("beam, strict"))
    best = ratio_of_means(on.finals("grid"), on.finals("beam"))
    random = estimate(paired(on.finals("grid"), on.finals("grid, random cells")))
    reached = over_greedy.low >= 1.5 and over_strict.low >= 1.2 and best.low >= 0.7
    return _finding(
        "A grid keeps texts that work in different ways.", f"L0 {on.kind}",
        "1.5 times greedy's cells, 1.2 times the strict beam's, 0.70 times the beam's gain",
        f"{over_greedy}, {over_strict} and {best} times ({cells['grid'].value:.1f} cells)",
        over_greedy, f"random cells must gain nothing: {random}", reached and random.low <= 0,
    )  # fmt: skip


def ratio_of_means(
    first: Mapping[object, Sequence[float]], second: Mapping[object, Sequence[float]]
) -> Estimate:
    """Mean of the first over mean of the second, with the bootstrap's interval of pairs."""
    below = estimate(second).value
    shift = estimate(paired(second, first))
    return Estimate(1 + shift.value / below, 1 + shift.low / below, 1 + shift.high / below)


def _hints(landscapes: int) -> Finding:
    """On landscapes whose first axis gains and whose last one costs, and with wrong axes."""
    ratios = {}
    for shuffled in (False, True):
        needed: dict[str, Values] = {}
        for hints in ("none", "gradient"):
            spec = StrategySpec.model_validate({"strategy": "beam", "hints": hints})
            strategy = Strategy(spec, shuffled=shuffled)
            needed[hints] = {
                at: [_needed(strategy.search(_predictive(at), seed, 240)) for seed in range(2)]
                for at in range(landscapes)
            }
        ratios[shuffled] = ratio_of_medians(needed["gradient"], needed["none"])
    right, wrong = ratios[False], ratios[True]
    return _finding(
        "Hints by gradients save evaluations where the axes of behaviour predict gains.",
        "L0 independent, 24 moves, axes by gain",
        "at most 0.85 times the evaluations to 80 % without hints", f"{right} times", right,
        f"with random axes at most 1.10 times: {wrong}", right.high <= 0.85 and wrong.value <= 1.10,
    )  # fmt: skip


def _needed(found: Search) -> float:
    return float(found.evaluations_to(0.8) or len(found.fractions) + 1)


@cache
def _predictive(seed: int) -> Landscape:
    drawn = landscape("independent", seed, 24)
    found = replace(drawn, axes=tuple((gain >= 0) + (gain > 0) for gain in drawn.gains))
    # Moves are independent, so that the optimum is their sum, and need not be searched.
    found.__dict__["optimum"] = -sum(gain for gain in drawn.gains if gain < 0)
    return found
