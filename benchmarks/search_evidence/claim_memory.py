"""What a memory of one problem is worth on another, and what it costs where it is wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bootstrap import Estimate, estimate, ratio_of_medians
from finding import Curve, Evidence, Figure, Finding, Panel, Table, median, quartiles
from landscapes import Landscape, drifted, landscape
from transfer import Arm, Run, banked, search

from tilewright.memory.bank import Snapshot

STORED = True
MOVES, BUDGET, LEARNING, FAILS = 24, 160, 320, 0.4
FIRST = 1000
"""Landscapes from this seed on: weights were chosen on others."""
DRIFTS = (0.0, 0.2, 0.4, 0.7, 1.0)
ARMS: Mapping[str, Arm] = {
    "none": Arm("nothing"),
    "local evidence": Arm("run"),
    "memory": Arm("bank"),
    "memory, not used": Arm("bank", blind=1.0),
    "memory, not corrected": Arm("bank", blind=0.0, believes=True),
    "poisoned": Arm("bank", poisoned=True),
    "schedule": Arm("schedule"),
}
_SHARE = 0.80
Runs = Mapping[str, Mapping[object, Sequence[Run]]]


@dataclass(frozen=True)
class Results:
    """Runs by drift, arm and landscape."""

    runs: Mapping[float, Runs]

    def reached(self, drift: float, arm: str) -> dict[object, list[float]]:
        """Evaluations to 80 % by landscape; one more than the budget where it is not reached."""
        return {
            name: [float(one.evaluations_to(_SHARE) or BUDGET + 1) for one in several]
            for name, several in self.runs[drift][arm].items()
        }

    def ratio(self, drift: float, arm: str, other: str = "none") -> Estimate:
        """Median evaluations of an arm over those of another."""
        return ratio_of_medians(self.reached(drift, arm), self.reached(drift, other))

    def final(self, drift: float, arm: str, other: str = "none") -> Estimate:
        """The share that an arm ends with over that of another."""
        return estimate({
            name: [one.fractions[-1] / other_run.fractions[-1]
                   for one, other_run in zip(several, self.runs[drift][other][name], strict=True)]
            for name, several in self.runs[drift][arm].items()
        })  # fmt: skip


def evidence(size: str) -> Evidence:
    """All claims on landscapes that drift away from the one that was learned."""
    count, seeds = (80, 1) if size == "whole" else (3, 1)
    results = Results({drift: _runs(drift, count, seeds) for drift in DRIFTS})
    return Evidence(
        "Memory and schedules",
        (*_helps(results), *_harmless(results), *_schedules(results)),
        (_table(results),),
        (_figure(results),),
        (
            f"""Problem A has {MOVES} independent moves and is searched greedily with {LEARNING}
evaluations. Results of its contests that pass the thresholds are stored in a bank, and the search
of problem B recalls them. B is A with a share of the effects drawn again; B counts as related to A
at every drift, also at 1.0. {FAILS:.0%} of the candidates fail. {count} landscapes,
{seeds} seeds each. Medians count runs that do not reach 80 % as {BUDGET + 1}.""",
        ),
    )


def _runs(drift: float, count: int, seeds: int) -> Runs:
    found: dict[str, dict[object, list[Run]]] = {name: {} for name in ARMS}
    for number in range(FIRST, FIRST + count):
        first = landscape("independent", number, MOVES)
        second = drifted(first, drift, number) if drift else first
        held = _learned(first, number)
        for name, arm in ARMS.items():
            found[name][number] = [
                search(second, arm, held, number + 10_000 * seed, BUDGET, FAILS)
                for seed in range(1, seeds + 1)
            ]
    return found


def _learned(first: Landscape, number: int) -> Snapshot:
    run = search(first, ARMS["none"], Snapshot(), number + 100_000, LEARNING, FAILS)
    return banked([run.learned])


def _helps(results: Results) -> list[Finding]:
    control = "; ".join(
        f"drift {drift}: {results.ratio(drift, 'memory, not used')}" for drift in (0.0, 0.2)
    )
    ignored = results.ratio(0.0, "memory, not used"), results.ratio(0.2, "memory, not used")
    fair = all(0.9 <= one.value <= 1.1 for one in ignored)
    words = f"recalled and not used, {control} (required: within 0.9 and 1.1, " + (
        "reached)" if fair else "not reached)"
    )
    found = []
    for drift in (0.0, 0.2):
        for other, most in (("none", 0.50), ("local evidence", 0.55)):
            ratio = results.ratio(drift, "memory", other)
            found.append(
                Finding(
                    "Memory of a problem halves the evaluations on a related problem, "
                    f"drift {drift}",
                    "L0",
                    f"at most {most:.2f} of the median evaluations with {other}",
                    f"{ratio.value:.2f}",
                    ratio.low,
                    ratio.high,
                    words,
                    ratio.high <= most,
                )
            )
    return found


def _harmless(results: Results) -> list[Finding]:
    believed = results.ratio(1.0, "memory, not corrected")
    control = f"a memory that ignores new measurements needs {believed} times"
    found = []
    for drift, arm, what in (
        (1.0, "memory", "an unrelated problem"),
        (1.0, "poisoned", "an unrelated problem, gains stored as losses"),
        (0.0, "poisoned", "the same problem, gains stored as losses"),
    ):
        ratio, final = results.ratio(drift, arm), results.final(drift, arm)
        found.append(
            Finding(
                f"Memory does no harm on {what}",
                "L0",
                "at most 1.15 of the median evaluations, at least 0.98 of the final gain",
                f"{ratio.value:.2f}, and {final} of the final gain",
                ratio.low,
                ratio.high,
                control,
                ratio.high <= 1.15 and final.low >= 0.98,
            )
        )
    return found


def _schedules(results: Results) -> list[Finding]:
    unrelated = results.ratio(1.0, "schedule")
    control = f"an unrelated schedule needs {unrelated} times (required: at most 1.1)"
    found = []
    for drift, most in ((0.0, 0.45), (0.2, 0.45), (0.4, 0.55)):
        ratio = results.ratio(drift, "schedule")
        found.append(
            Finding(
                f"A schedule of a related problem saves evaluations, drift {drift}",
                "L0",
                f"at least {1 - most:.0%} fewer evaluations to 80 %",
                f"{1 - ratio.value:.0%} fewer, {ratio.value:.2f} times",
                ratio.low,
                ratio.high,
                control,
                ratio.high <= most,
            )
        )
    return found


def _table(results: Results) -> Table:
    rows = []
    for arm in ARMS:
        cells = []
        for drift in DRIFTS:
            every = [one for several in results.reached(drift, arm).values() for one in several]
            share = sum(one <= BUDGET for one in every) / len(every)
            cells.append(f"{median(every):.0f} ({share:.2f})")
        rows.append((arm, *cells))
    return Table(
        "Median evaluations to 80 % of the best log-gain, and the share of runs that get there",
        ("", *(f"drift {drift}" for drift in DRIFTS)),
        tuple(rows),
    )


def _figure(results: Results) -> Figure:
    panels = []
    places = tuple(range(1, BUDGET + 1, 3))
    for drift in (0.0, 0.2, 0.4, 1.0):
        curves = []
        for arm in ("none", "local evidence", "memory", "schedule", "memory, not corrected"):
            runs = [
                [one.fractions[at - 1] for at in places]
                for several in results.runs[drift][arm].values()
                for one in several
            ]
            low, middle, high = quartiles(runs)
            curves.append(Curve(arm, tuple(map(float, places)), middle, low, high))
        panels.append(Panel(f"drift {drift}", tuple(curves)))
    return Figure(
        "memory_transfer", "Best so far on a problem that drifted from the learned one",
        "evaluations", "share of the best log-gain", tuple(panels), 1.0,
    )  # fmt: skip
