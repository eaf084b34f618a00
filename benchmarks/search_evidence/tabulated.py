"""Landscape L1 as a judge: verdicts that an H200 gave once are given again, with their noise.

A text is looked up by its hash. Its speed is the quotient of the medians of its contest with the
anchor, which a single disturbed block does not move. A contest of two texts gets the difference of
their speeds, noise as wide as the intervals of texts about as fast as their anchor, and an interval
as wide as that of a contest of the same kernel, drawn, so that some contests are disturbed as some
were. What was rejected is rejected again, for the same reason. Searches use labels in place of
texts, which cost nothing to parse.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from landscape_plan import Unit, read, units_of

from tilewright.evaluation.model import (
    Evaluation,
    Level,
    Speedup,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)

FILE = Path(__file__).resolve().parent / "results" / "landscape.json.xz"
SIGMAS = 2.576
"""Half of an interval at 99 %, in standard deviations."""
CLOSE = 0.1
"""Up to this difference of logarithms two texts are about equally fast."""
_LABEL = "POINT = "


@dataclass(frozen=True)
class Verdict:
    """What was measured of a text.

    Attributes:
        log_speed: over the first anchor of its kernel; minus infinity where it was rejected.
        half_width: of its own contest.
        facts: registers and memory of each kernel.
    """

    level: Level
    log_speed: float
    half_width: float
    noise: float
    step: str
    message: str
    facts: Mapping[str, Any]

    @property
    def alive(self) -> bool:
        return self.log_speed > -math.inf


@dataclass(frozen=True)
class Move:
    """A step from one text to another: a site changed, or a launch setting."""

    name: str
    kind: str
    stage: str
    text: str


@dataclass(frozen=True)
class Table:
    """A kernel's texts with their verdicts; a text that was not judged is not part of it."""

    unit: Unit
    verdicts: Mapping[str, Verdict]
    texts: Mapping[str, str]

    @cached_property
    def points(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """Of each text its points: changed sites as a bit mask, and the number of a setting."""
        found: dict[str, list[tuple[int, int]]] = {}
        for point, text in self.unit.points.items():
            if text in self.verdicts:
                sites, setting = map(int, point.split(":"))
                found.setdefault(text, []).append((sites, setting))
        return {text: tuple(points) for text, points in found.items()}

    @property
    def start(self) -> str:
        """Where searches begin."""
        return self.unit.points[self.unit.start]

    @cached_property
    def alive(self) -> tuple[str, ...]:
        """Texts that are correct and were timed."""
        return tuple(text for text in self.points if self.verdicts[text].alive)

    @cached_property
    def best(self) -> str:
        """The fastest of all."""
        return max(self.alive, key=lambda text: self.verdicts[text].log_speed)

    @property
    def optimum(self) -> float:
        """The logarithm of the best speed-up over the start."""
        return self.gain(self.best)

    @cached_property
    def close_width(self) -> float:
        """Half of the interval of a contest of two texts that are about equally fast."""
        top = self.verdicts[self.best].log_speed
        every = [v for v in self.verdicts.values() if v.alive and v.half_width]
        close = [v.half_width for v in every if v.log_speed > top - CLOSE]
        widths = sorted(close or [v.half_width for v in every] or [0.0])
        return widths[len(widths) // 2]

    @cached_property
    def widths(self) -> tuple[float, ...]:
        """Half of the interval of each contest that was made, least first."""
        return tuple(sorted(v.half_width for v in self.verdicts.values() if v.half_width))

    def gain(self, text: str) -> float:
        """The logarithm of a text's speed-up over the start."""
        return self.verdicts[text].log_speed - self.verdicts[self.start].log_speed

    def moves(self, text: str) -> tuple[Move, ...]:
        """Every text that one step leads to: one site more or less, or another setting."""
        if text not in self._moves:
            self._moves[text] = tuple(self._steps(text))
        return self._moves[text]

    @cached_property
    def _moves(self) -> dict[str, tuple[Move, ...]]:
        return {}

    def _steps(self, text: str) -> Iterator[Move]:
        seen = {text}
        for sites, setting in self.points[text]:
            for point, name, kind, stage in self._next(sites, setting):
                other = self.unit.points.get(point)
                if other is not None and other in self.points and other not in seen:
                    seen.add(other)
                    yield Move(name, kind, stage, other)

    def _next(self, sites: int, setting: int) -> Iterator[tuple[str, str, str, str]]:
        for number, site in enumerate(self.unit.sites):
            back = "undo " if sites >> number & 1 else ""
            name, stage = f"{back}{site['name']}", site["stage"]
            yield f"{sites ^ 1 << number}:{setting}", name, "rewrite", stage
        for other, words in enumerate(self.unit.settings):
            if other != setting:
                yield f"{sites}:{other}", f"launch {words or 'as written'}", "launch", "autotuning"


@cache
def tables(file: Path = FILE) -> Mapping[str, Table]:
    """The tables of a file by their units' names; those without a timed start are left out."""
    value = read(file)
    found = {}
    for unit in units_of(value):
        verdicts = _verdicts(unit, value.get("verdicts", {}).get(unit.name, {}))
        start = verdicts.get(unit.points[unit.start])
        if start is not None and start.alive:
            found[unit.name] = Table(unit, verdicts, value["texts"])
    return found


def kernels(file: Path = FILE) -> dict[str, Table]:
    """The tables of whole kernels, without those of single texts at other shapes."""
    return {name: one for name, one in tables(file).items() if one.unit.shape is None}


def _verdicts(unit: Unit, lines: Mapping[str, Mapping[str, Any]]) -> dict[str, Verdict]:
    """Verdicts with speeds over the first anchor; an anchor was itself timed against another."""
    del unit
    speeds: dict[str, float] = {}

    def speed(text: str) -> float:
        if text not in speeds:
            line = lines.get(text, {})
            speeds[text] = 0.0  # the first anchor, or one without a contest of its own
            if line.get("ratio") and line["anchor"] != text:
                gain = math.log(line["anchor_us"] / line["us"])
                speeds[text] = speed(line["anchor"]) + gain
        return speeds[text]

    return {text: _verdict(text, line, speed) for text, line in lines.items()}


def _verdict(text: str, line: Mapping[str, Any], speed: Any) -> Verdict:
    level = Level(line["level"])
    timed = bool(line.get("ratio")) or line["anchor"] == text
    alive = level.reaches(Level.CORRECT) and timed
    half = 0.0
    if line.get("ratio"):
        _, low, high = line["ratio"]
        half = (math.log(high) - math.log(low)) / 2
    return Verdict(
        level if alive else Level.REJECTED,
        speed(text) if alive else -math.inf,
        half,
        float(line.get("noise", 0.0)),
        line.get("failed", ""),
        line.get("message", ""),
        line.get("facts", {}),
    )


def label(text: str) -> str:
    """What stands for a text in a search, by its hash."""
    return f'{_LABEL}"{text}"\n'


def name_of(text: str) -> str:
    """The hash that a label or a text stands for."""
    if text.startswith(_LABEL):
        return text.removeprefix(_LABEL).strip().strip('"')
    return text_hash(text)


@dataclass
class TabulatedJudge:
    """Gives the verdicts of a table; equal questions have equal answers for one seed.

    Attributes:
        noisy: False: contests give what was measured, and no contest is disturbed.
        curve: the best gain over the start so far, after each evaluation.
        found: texts that were judged and are correct.
    """

    table: Table
    seed: int
    noisy: bool = True

    def __post_init__(self) -> None:
        self.curve: list[float] = []
        self.found: dict[str, None] = {}

    def judge(self, text: str, parent: str, thorough: bool) -> Evaluation:
        """What the cascade said of ``text``, with its speed against ``parent``."""
        del thorough
        name, before = name_of(text), name_of(parent)
        verdict = self.table.verdicts[name]
        best = self.curve[-1] if self.curve else 0.0
        hashes = text_hash(text), text_hash(parent)
        if not verdict.alive:
            self.curve.append(best)
            step = StepName(verdict.step or StepName.CORRECTNESS)
            failed = StepResult(step, StepStatus.FAILED, verdict.message)
            return Evaluation(*hashes, Level.REJECTED, (failed,))
        self.found[name] = None
        self.curve.append(max(best, self.table.gain(name)))
        speedup = self._contest(name, before, hashes[1])
        faster = speedup.is_faster
        status = StepStatus.PASSED if faster else StepStatus.FAILED
        step_of_speed = StepResult(StepName.SPEED, status, "" if faster else "not faster")
        level = Level.FASTER if faster else Level.CORRECT
        return Evaluation(*hashes, level, (step_of_speed,), speedup)

    def _contest(self, name: str, before: str, baseline: str) -> Speedup:
        verdict, other = self.table.verdicts[name], self.table.verdicts[before]
        draw = random.Random(f"{self.seed}:{name}:{before}")
        moved = draw.gauss(0, self.table.close_width / SIGMAS)
        half = draw.choice(self.table.widths or (0.0,))
        true = verdict.log_speed - other.log_speed
        ratio = math.exp(true + (moved if self.noisy else 0.0))
        wide = math.exp(half if self.noisy else self.table.close_width)
        return Speedup(
            ratio, ratio / wide, ratio * wide, 0.99, max(verdict.noise, other.noise),
            100.0, 100.0 / ratio, baseline, "an H200, replayed", self.table.unit.name, 20,
        )  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """What a table looks like to a climber.

    Attributes:
        optima: texts, or plateaus of texts, that no single step improves by the threshold, even if
            both were measured wrong by a standard deviation.
        near: of those, how many are within 5 % of the fastest.
        climbing: the share of texts from which the steepest climb ends within 5 % of the fastest.
        from_start: the share of the best gain that it reaches from the start.
        valley: the least loss that one has to accept on a way from where the climb from the start
            ends to a text within 5 % of the fastest; infinite where no way leads there.
    """

    texts: int
    alive: int
    optimum: float
    optima: int
    near: int
    climbing: float
    from_start: float
    valley: float


THRESHOLD = math.log(1.02)
NEAR = math.log(1.05)


def shape(table: Table) -> Shape:
    """Local optima, how much a climb from anywhere reaches, and how deep the valley is."""
    ends = {text: _climb(table, text) for text in table.alive}
    top = table.verdicts[table.best].log_speed
    speed = {text: table.verdicts[text].log_speed for text in table.alive}
    peaks = _plateaus(table, {end for end in ends.values() if _is_sure(table, end)})
    near = sum(any(speed[text] >= top - NEAR for text in peak) for peak in peaks)
    reached = ends[table.start]
    return Shape(
        texts=len(table.points), alive=len(table.alive), optimum=table.optimum,
        optima=len(peaks), near=near,
        climbing=sum(speed[end] >= top - NEAR for end in ends.values()) / len(ends),
        from_start=table.gain(reached) / (table.optimum or 1.0),
        valley=_valley(table, reached, top - NEAR),
    )  # fmt: skip


def _climb(table: Table, text: str) -> str:
    """Where the steepest single steps lead, each better than the threshold."""
    while True:
        speed = table.verdicts[text].log_speed
        steps = [move.text for move in table.moves(text) if table.verdicts[move.text].alive]
        best = max(steps, key=lambda one: table.verdicts[one].log_speed, default=text)
        if table.verdicts[best].log_speed <= speed + THRESHOLD:
            return text
        text = best


def _is_sure(table: Table, text: str) -> bool:
    """Whether no neighbour may be faster by the threshold, as far as the widths tell."""
    own = table.verdicts[text]
    error = math.sqrt(2) * table.close_width / SIGMAS
    for move in table.moves(text):
        other = table.verdicts[move.text]
        if other.alive and other.log_speed - own.log_speed > max(THRESHOLD - error, 0.0):
            return False
    return True


def _plateaus(table: Table, ends: set[str]) -> list[set[str]]:
    """Ends that are neighbours and differ by less than the threshold are one."""
    left, found = set(ends), []
    while left:
        group = {left.pop()}
        waiting: Sequence[str] = list(group)
        while waiting:
            near = {move.text for text in waiting for move in table.moves(text)} & left
            left -= near
            group |= near
            waiting = list(near)
        found.append(group)
    return found


def _valley(table: Table, text: str, goal: float) -> float:
    """The least depth below where one is at which some way leads to a text of the goal's speed."""
    speed = table.verdicts
    start = speed[text].log_speed
    levels = sorted({min(start, speed[one].log_speed) for one in table.alive}, reverse=True)
    for level in levels:
        if _leads(table, text, level, goal):
            return start - level
    return math.inf


def _leads(table: Table, text: str, level: float, goal: float) -> bool:
    seen, waiting = {text}, [text]
    while waiting:
        one = waiting.pop()
        if table.verdicts[one].log_speed >= goal:
            return True
        for move in table.moves(one):
            if move.text not in seen and table.verdicts[move.text].log_speed >= level:
                seen.add(move.text)
                waiting.append(move.text)
    return False
