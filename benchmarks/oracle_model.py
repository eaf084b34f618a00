"""What the verifier's messages are worth to a model that can read them, with an oracle for a model.

    python benchmarks/oracle_model.py --out FILE [--first-seed 0] [--seeds 2] [--only softmax]
    python benchmarks/oracle_model.py --report FILE...

Kernels of `tests/evidence/bases` and `examples`, each with an issue put in by a rewind, are
optimized in Triton's interpreter by the whole loop (prompt, HTTP, parser, cascade) with no proposer
but the model, once with the cascade's messages in the prompts and once with each replaced by "The
candidate was not accepted". The model is `tests/models/oracle.py`: its rates of choices, mistakes
and repairs are set, so the shares say whether messages arrive and name what is wrong. They say
nothing about any real model.

A candidate is accepted if the interpreter finds it correct and the oracle's table says that it is
faster; the table stands in for a clock, and its verdicts are worded as the clock's are. The share
is that of accepted candidates among all that the model gave; the shares of stages in which one was
accepted, of all tries and of the first three, are printed as well. Intervals are over kernels.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, product
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "models"), str(ROOT / "tests" / "evidence")]

import oracle  # noqa: E402
from candidates import spec_of  # noqa: E402
from scripted_server import Answer, Request, serve  # noqa: E402

from tilewright.agents.model import Step  # noqa: E402
from tilewright.analysis.model import AnalysisContext, Issue  # noqa: E402
from tilewright.devices.model import Device  # noqa: E402
from tilewright.devices.opening import open_device  # noqa: E402
from tilewright.evaluation.cascade import Cascade  # noqa: E402
from tilewright.evaluation.model import (  # noqa: E402
    Evaluation,
    Level,
    StepName,
    StepResult,
    StepStatus,
)
from tilewright.knowledge.base import issue_type  # noqa: E402
from tilewright.knowledge.stages import Stage  # noqa: E402
from tilewright.models.client import Client  # noqa: E402
from tilewright.models.model import ModelChoice, Role  # noqa: E402
from tilewright.models.settings import CallPolicy, Ensemble  # noqa: E402
from tilewright.problems.loading import load_problem  # noqa: E402
from tilewright.rewrites.rewinds import all_rewinds  # noqa: E402
from tilewright.source import parse_module  # noqa: E402
from tilewright.store.store import open_store  # noqa: E402
from tilewright.strategies import briefing, cover, staged  # noqa: E402
from tilewright.strategies import optimize as optimizing  # noqa: E402
from tilewright.strategies.advice import Adviser  # noqa: E402
from tilewright.strategies.model import Trial  # noqa: E402
from tilewright.strategies.observer import Silent  # noqa: E402
from tilewright.strategies.optimize import OptimizeRequest, OriginalFailsError  # noqa: E402
from tilewright.strategies.verdict import Verdict, decide  # noqa: E402

TRIES = 5
BUDGET = 64
_OF_A_TARGET = {"device_option_on_wrong_backend", "missing_grf_mode"}
_NAMES = {True: "shown", False: "withheld"}
WITHHELD = "The candidate was not accepted."


@dataclass(frozen=True)
class Puzzle:
    """A kernel with an issue put in, which the oracle knows how to take out."""

    base: str
    rewind: str
    line: int
    stage: str
    text: str
    clean: str


@dataclass(frozen=True)
class Unit:
    """A stage in which the model was asked, and whether one of its candidates was kept.

    Attributes:
        tries: candidates that the model was asked for, the last one by the extractor included.
        solvable: False where the kernel before the rewind was refused, because the issue that was
            put in changes the results.
    """

    base: str
    rewind: str
    line: int
    seed: int
    stage: str
    shown: bool
    accepted: bool
    tries: int
    solvable: bool


@dataclass(frozen=True)
class Arm:
    """A model behind its server, with the messages shown or withheld."""

    shown: bool
    model: oracle.Oracle
    base_url: str


def puzzles(only: Sequence[str]) -> list[Puzzle]:
    """Every kernel with every issue that a rewind puts in and that shows without a target."""
    found = {}
    for base, source in sorted(sources().items()):
        if only and base not in only:
            continue
        text = source.read_text("utf-8")
        module = parse_module(text, source.name)
        for rewind in all_rewinds():
            if rewind.issue in _OF_A_TARGET:
                continue
            stage = issue_type(rewind.issue).stage.value
            for kernel in module.kernels:
                for rewound in rewind.apply(module, kernel, AnalysisContext()):
                    found[rewound.text] = Puzzle(
                        base, rewind.name, rewound.line, stage, rewound.text, text
                    )
    return list(found.values())


def sources() -> dict[str, Path]:
    """The kernels, by name, each with its spec beside it or in it."""
    bases = {p.parent.name: p for p in (ROOT / "tests/evidence/bases").glob("*/original.py")}
    examples = {
        f"example_{p.stem}": p.with_suffix(".py") for p in (ROOT / "examples").glob("*.yaml")
    }
    return bases | examples


def laid_out(puzzle: Puzzle, folder: Path) -> tuple[Path, Path]:
    """A copy of the kernel's folder with the puzzle in its place: the file and its spec."""
    source = sources()[puzzle.base]
    shutil.copytree(source.parent, folder)
    path = folder / source.name
    path.write_text(puzzle.text, "utf-8")
    if puzzle.base.startswith("example_"):
        return path, path.with_suffix(".yaml")
    return path, folder / spec_of(source).name


def ensemble(base_url: str) -> Ensemble:
    """The oracle in every role; nothing is answered from disk."""
    choice = ModelChoice("oracle", base_url)
    policy = CallPolicy(cache=False)
    return Ensemble(dict.fromkeys(Role, (choice,)), tries=TRIES, policy=policy, prices={})


@contextlib.contextmanager
def model_alone(stage: str) -> Iterator[None]:
    """No rewrite and no tuner proposes anything, as they would solve what the model is to solve;
    and the model is asked in one stage."""

    def wants(adviser: Adviser, asked: Stage, issues: Sequence[Issue], text: str) -> bool:
        return asked.value == stage and any(issue.stage is asked for issue in issues)

    with (
        mock.patch.object(optimizing, "_free_proposers", return_value=()),
        mock.patch.object(Adviser, "wants", wants),
    ):
        yield


@contextlib.contextmanager
def timed_by_table(gains: Mapping[str, float]) -> Iterator[None]:
    """The oracle's table in the place of a clock: what is correct there is faster or is not."""
    judge = Cascade.judge

    def timed(self: Cascade, text: str, baseline: str, **options: Any) -> Evaluation:
        found = judge(self, text, baseline, **options)
        if found.level is not Level.CORRECT or text == baseline:
            return found
        return by_table(found, gains.get(text, 1.0))

    def decided(*given: Any, **options: Any) -> Verdict:
        return decide(*given, **{**options, "can_time": True})

    with mock.patch.object(Cascade, "judge", timed), mock.patch.object(staged, "decide", decided):
        yield


def by_table(found: Evaluation, gain: float) -> Evaluation:
    """A correct candidate's evaluation with what the table says of its speed."""
    steps = tuple(step for step in found.steps if step.step is not StepName.SPEED)
    if gain > 1.0:
        passed = StepResult(StepName.SPEED, StepStatus.PASSED)
        return replace(found, level=Level.FASTER, steps=(*steps, passed))
    verdict = "slower" if gain < 1.0 else "not measurably faster"
    message = f"{verdict} than its input, by the table: {gain:.3f}x"
    failed = StepResult(StepName.SPEED, StepStatus.FAILED, message)
    return replace(found, steps=(*steps, failed))


def gains_of(puzzle: Puzzle, model: oracle.Oracle) -> dict[str, float]:
    """The table of one kernel."""
    moves = model.moves(puzzle.text, puzzle.stage)
    return {edit.text: edit.gain for edit in reversed(moves)}


@contextlib.contextmanager
def messages_withheld() -> Iterator[None]:
    """Prompts say that a try was not accepted, and nothing else about it."""
    line = briefing.trial_words

    def silent(thought: str, diff: str, observation: str) -> Step:
        return Step(thought, diff, WITHHELD)

    def short(trial: Trial) -> str:
        return line(replace(trial, reason=WITHHELD))

    with (
        mock.patch.object(cover, "Step", silent),
        mock.patch.object(briefing, "trial_words", short),
    ):
        yield


def units(puzzle: Puzzle, arm: Arm, device: Device) -> list[Unit]:
    """One run: the stages in which the model was asked."""
    seed, shown = arm.model.seed, arm.shown
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        path, spec = laid_out(puzzle, Path(folder) / "kernel")
        request = OptimizeRequest(
            path, puzzle.text, load_problem(spec, path), None, BUDGET, ensemble(arm.base_url)
        )
        stack.enter_context(model_alone(puzzle.stage))
        stack.enter_context(timed_by_table(gains_of(puzzle, arm.model)))
        stack.enter_context(contextlib.nullcontext() if shown else messages_withheld())
        with mock.patch.dict(os.environ, TILEWRIGHT_HOME=folder):
            store = open_store()
        stack.callback(store.close)
        try:
            result = optimizing.optimize(request, device, store, Silent(), Client)
        except OriginalFailsError:
            return []  # the issue that was put in is an error on this kernel
    assert result.models is not None
    asked = Counter(
        c.stage
        for c in result.models.calls
        if c.role in (Role.OPTIMIZER, Role.EXTRACTOR) and c.stage
    )
    solvable = not any(t.candidate.text == puzzle.clean and not t.kept for t in result.trials)
    kept = {t.stage for t in result.trials if t.kept and t.candidate.proposer == "model:oracle"}
    return [
        Unit(
            puzzle.base,
            puzzle.rewind,
            puzzle.line,
            seed,
            stage.value,
            shown,
            stage in kept,
            tries,
            solvable,
        )
        for stage, tries in asked.items()
    ]


def of_solvable(found: Sequence[Unit]) -> list[Unit]:
    """The units of kernels whose clean text was never refused."""
    bad = {(u.base, u.rewind, u.line) for u in found if not u.solvable}
    return [u for u in found if (u.base, u.rewind, u.line) not in bad]


Share = Callable[[Sequence[Unit]], float]


def by_kernel(found: Sequence[Unit]) -> list[list[Unit]]:
    """The units of each kernel that ran in both ways."""
    kernels: dict[tuple[str, ...], list[Unit]] = {}
    for unit in found:
        kernels.setdefault((unit.base, unit.rewind, str(unit.line)), []).append(unit)
    return [units for units in kernels.values() if len({unit.shown for unit in units}) == 2]


def gap(kernels: Sequence[Sequence[Unit]], share: Share) -> float:
    """How much higher a share is where messages are shown, over all kernels together."""
    units = list(chain.from_iterable(kernels))
    shown, hidden = ([u for u in units if u.shown is arm] for arm in (True, False))
    return share(shown) - share(hidden)


def interval(kernels: Sequence[Sequence[Unit]], share: Share) -> tuple[float, float]:
    """95 % bootstrap interval of the gap, resampled by kernel."""
    draw = random.Random(1)
    gaps = sorted(gap(draw.choices(kernels, k=len(kernels)), share) for _ in range(2000))
    return gaps[50], gaps[1949]


def of_candidates(found: Sequence[Unit]) -> float:
    """Accepted candidates among those that the model gave."""
    return sum(unit.accepted for unit in found) / sum(unit.tries for unit in found)


def of_stages(found: Sequence[Unit]) -> float:
    """Stages with an accepted candidate among those in which the model was asked."""
    return sum(unit.accepted for unit in found) / len(found)


def of_three_tries(found: Sequence[Unit]) -> float:
    """Stages with an accepted candidate among the first three."""
    return sum(unit.accepted and unit.tries <= 3 for unit in found) / len(found)


SHARES: Mapping[str, Share] = {
    "candidates": of_candidates,
    "stages, all tries": of_stages,
    "stages, first three tries": of_three_tries,
}


def difference(name: str, found: Sequence[Unit], share: Share) -> str:
    """By how much a share is higher where messages are shown, with its interval over kernels."""
    kernels = by_kernel(found)
    if not kernels:
        return f"{name}: no kernel in both ways"
    low, high = interval(kernels, share)
    arms = [share([u for u in found if u.shown is shown]) for shown in (True, False)]
    return (
        f"{name}: {arms[0]:.3f} accepted against {arms[1]:.3f}; difference over {len(kernels)}"
        f" kernels {gap(kernels, share):+.3f}, 95 % interval [{low:+.3f}, {high:+.3f}]"
    )


def report(found: Sequence[Unit], looks: Mapping[bool, Sequence[oracle.Look]]) -> str:
    """The table."""
    lines = ["oracle model, Triton's interpreter; not a result of any product"]
    every, found = len(found), of_solvable(found)
    lines.append(
        f"{every - len(found)} of {every} stages left out: the clean kernel is refused there"
    )
    for shown in (True, False):
        arm = [unit for unit in found if unit.shown is shown]
        if arm:
            accepted, tries = sum(u.accepted for u in arm), sum(u.tries for u in arm)
            lines.append(
                f"messages {_NAMES[shown]}: {accepted} of {tries} candidates accepted,"
                f" in {len(arm)} stages of {len({u.seed for u in arm})} seeds"
            )
    lines += [difference(name, found, share) for name, share in SHARES.items()]
    for shown in (True, False):
        for slip in dict.fromkeys(look.slip for look in looks[shown]):
            seen = [look for look in looks[shown] if look.slip == slip]
            named, repaired = sum(s.named for s in seen), sum(s.repaired for s in seen)
            lines.append(
                f"  {_NAMES[shown]}, {slip}: named in {named} of {len(seen)}"
                f" observations, repaired after {repaired}"
            )
    return "\n".join(lines)


def read(paths: Sequence[Path]) -> str:
    """The table of what runs have written."""
    lines = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    found = [Unit(**unit) for line in lines for unit in line["units"]]
    looks = {
        shown: [oracle.Look(**look) for line in lines for look in line["looks"]
                if line["shown"] is shown]
        for shown in (True, False)
    }  # fmt: skip
    return report(found, looks)


def run(chosen: Sequence[Puzzle], seed: int, device: Device, out: Path) -> None:
    """All kernels in both ways; what became of each is written at once."""
    known = {(p.text, p.stage): oracle.Edit(p.rewind, p.line, p.clean) for p in chosen}
    with contextlib.ExitStack() as stack:
        arms = [stack.enter_context(_arm(shown, seed, known)) for shown in (True, False)]
        for puzzle, arm in product(chosen, arms):
            seen = len(arm.model.seen)
            line = {
                "units": [asdict(unit) for unit in units(puzzle, arm, device)],
                "looks": [asdict(look) for look in arm.model.seen[seen:]],
                "shown": arm.shown,
            }
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            sys.stderr.write(f"{puzzle.base} {puzzle.rewind} {seed} {arm.shown}\n")


@contextlib.contextmanager
def _arm(shown: bool, seed: int, known: Mapping[tuple[str, str], oracle.Edit]) -> Iterator[Arm]:
    model = oracle.Oracle(known=known, seed=seed)

    def script(request: Request, number: int) -> Answer:
        return Answer(model.reply(request.messages))

    with serve(script, ("oracle",)) as server:
        yield Arm(shown, model, server.base_url)


def main() -> None:
    """Run the kernels, or print the table of runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", default="", help="names of bases, separated by commas")
    parser.add_argument("--most", type=int, default=None, help="kernels, spread over all")
    parser.add_argument("--out", type=Path, default=None, help="lines are added to it")
    parser.add_argument("--report", type=Path, nargs="+", help="files of runs; runs nothing")
    given = parser.parse_args()
    if given.report:
        print(read(given.report))
        return
    chosen = puzzles([name for name in given.only.split(",") if name])
    if given.most:
        chosen = random.Random(1).sample(chosen, min(given.most, len(chosen)))
    out = given.out or Path(tempfile.mkdtemp()) / "oracle.jsonl"
    device = open_device("interpreter")
    try:
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            run(chosen, seed, device, out)
    finally:
        device.close()
    print(read([out]))


if __name__ == "__main__":
    main()
