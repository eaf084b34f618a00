"""What the verifier's messages are worth to a model that can read them, with an oracle for a model.

    python benchmarks/oracle_model.py [--seeds 2] [--only softmax,matmul] [--out FILE]

Kernels of `tests/evidence/bases` and `examples`, each with an issue put in by a rewind, are
optimized in Triton's interpreter by the whole loop (prompt, HTTP, parser, cascade) with no proposer
but the model, once with the cascade's messages in the prompts and once with each replaced by "The
candidate was not accepted". The model is `tests/models/oracle.py`: its rates of mistakes and of
repairs are set, so the shares say whether messages arrive and name what is wrong. They say nothing
about any real model.
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
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "models"), str(ROOT / "tests" / "evidence")]

import oracle  # noqa: E402
from candidates import spec_of  # noqa: E402
from scripted_server import Answer, Request, serve  # noqa: E402

from tilewright.agents.model import Step  # noqa: E402
from tilewright.analysis.model import AnalysisContext, Issue  # noqa: E402
from tilewright.devices import open_device  # noqa: E402
from tilewright.devices.model import Device  # noqa: E402
from tilewright.knowledge.base import issue_type  # noqa: E402
from tilewright.knowledge.stages import Stage  # noqa: E402
from tilewright.models.client import Client  # noqa: E402
from tilewright.models.model import ModelChoice, Role  # noqa: E402
from tilewright.models.settings import CallPolicy, Ensemble  # noqa: E402
from tilewright.problems import load_problem  # noqa: E402
from tilewright.rewrites.rewinds import all_rewinds  # noqa: E402
from tilewright.source import parse_module  # noqa: E402
from tilewright.store import open_store  # noqa: E402
from tilewright.strategies import briefing, cover  # noqa: E402
from tilewright.strategies import optimize as optimizing  # noqa: E402
from tilewright.strategies.advice import Adviser  # noqa: E402
from tilewright.strategies.model import Trial  # noqa: E402
from tilewright.strategies.observer import Silent  # noqa: E402
from tilewright.strategies.optimize import OptimizeRequest, OriginalFailsError  # noqa: E402

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

    ``solvable``: False where the kernel before the rewind was refused, because the issue that was
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
    return path, folder / spec_of(puzzle.base).name


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


def units(puzzle: Puzzle, seed: int, shown: bool, device: Device, base_url: str) -> list[Unit]:
    """One run: the stages in which the model was asked."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        path, spec = laid_out(puzzle, Path(folder) / "kernel")
        request = OptimizeRequest(
            path, puzzle.text, load_problem(spec, path), None, BUDGET, ensemble(base_url)
        )
        stack.enter_context(model_alone(puzzle.stage))
        stack.enter_context(contextlib.nullcontext() if shown else messages_withheld())
        stack.enter_context(mock.patch.dict(os.environ, TILEWRIGHT_HOME=folder))
        store = open_store()
        stack.callback(store.close)
        try:
            result = optimizing.optimize(request, device, store, Silent(), Client)
        except OriginalFailsError:
            return []  # the issue that was put in is an error on this kernel
    assert result.models is not None
    asked = Counter(c.stage for c in result.models.calls if c.role is Role.OPTIMIZER and c.stage)
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


def interval(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """95 % bootstrap interval of the mean difference of pairs, resampled by pair."""
    draw = random.Random(1)
    means = sorted(
        sum(shown - hidden for shown, hidden in draw.choices(pairs, k=len(pairs))) / len(pairs)
        for _ in range(5000)
    )
    return means[125], means[4874]


def of_solvable(found: Sequence[Unit]) -> list[Unit]:
    """The units of kernels whose clean text was never refused."""
    bad = {(u.base, u.rewind, u.line) for u in found if not u.solvable}
    return [u for u in found if (u.base, u.rewind, u.line) not in bad]


def paired(found: Sequence[Unit]) -> list[tuple[float, float]]:
    """The accepted shares of each kernel, shown and withheld, over its seeds and stages."""
    by_kernel: dict[tuple[str, ...], tuple[list[bool], list[bool]]] = {}
    for unit in found:
        key = (unit.base, unit.rewind, str(unit.line))
        by_kernel.setdefault(key, ([], []))[0 if unit.shown else 1].append(unit.accepted)
    return [
        (sum(shown) / len(shown), sum(hidden) / len(hidden))
        for shown, hidden in by_kernel.values()
        if shown and hidden
    ]


def difference(name: str, found: Sequence[Unit]) -> str:
    """By how much the accepted share is higher where messages are shown, with its interval."""
    pairs = paired(found)
    if not pairs:
        return f"{name}: no kernel in both ways"
    mean = sum(shown - hidden for shown, hidden in pairs) / len(pairs)
    low, high = interval(pairs)
    arms = [[u.accepted for u in found if u.shown is shown] for shown in (True, False)]
    shares = " against ".join(f"{sum(arm)} of {len(arm)}" for arm in arms)
    return (
        f"{name}: {shares}; difference over {len(pairs)} kernels {mean:+.3f},"
        f" 95 % interval [{low:+.3f}, {high:+.3f}]"
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
        if not arm:
            continue
        accepted = sum(unit.accepted for unit in arm)
        lines.append(
            f"messages {_NAMES[shown]}: {accepted} of {len(arm)} stages accepted"
            f" ({accepted / len(arm):.3f}), {sum(u.tries for u in arm) / len(arm):.2f} tries each"
        )
    lines.append(difference("all stages", found))
    lines.append(difference("stages whose first try failed", [u for u in found if u.tries > 1]))
    for shown in (True, False):
        for slip in dict.fromkeys(look.slip for look in looks[shown]):
            seen = [look for look in looks[shown] if look.slip == slip]
            named, mended = sum(s.named for s in seen), sum(s.repaired for s in seen)
            lines.append(
                f"  {_NAMES[shown]}, {slip}: named in {named} of {len(seen)}"
                f" observations, repaired after {mended}"
            )
    return "\n".join(lines)


def main() -> None:
    """Run all puzzles in both ways and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--cheat", type=float, default=oracle.Knobs().cheat)
    parser.add_argument("--only", default="", help="names of bases, separated by commas")
    parser.add_argument("--most", type=int, default=None, help="kernels, spread over all")
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    chosen = puzzles([name for name in given.only.split(",") if name])
    if given.most:
        chosen = random.Random(1).sample(chosen, min(given.most, len(chosen)))
    found: list[Unit] = []
    looks: dict[bool, list[oracle.Look]] = {True: [], False: []}
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    knobs = oracle.Knobs(cheat=given.cheat)
    known = {(p.text, p.stage): oracle.Edit(p.rewind, p.line, p.clean) for p in chosen}
    device = open_device("interpreter")
    began = time.monotonic()
    try:
        for seed, shown in product(seeds, (True, False)):
            model = oracle.Oracle(knobs, known=known, seed=seed, seen=looks[shown])

            def script(request: Request, number: int, model: oracle.Oracle = model) -> Answer:
                return Answer(model.reply(request.messages))

            with serve(script, ("oracle",)) as server:
                for puzzle in chosen:
                    found += units(puzzle, seed, shown, device, server.base_url)
                    sys.stderr.write(f"{puzzle.base} {puzzle.rewind} {seed} {shown}\n")
    finally:
        device.close()
        text = report(found, looks)
        print(f"{text}\n{len(chosen)} kernels, {time.monotonic() - began:.0f} s")
        if given.out:
            told = {"units": [asdict(u) for u in found]} | {
                f"looks_{_NAMES[shown]}": [asdict(look) for look in looks[shown]] for shown in looks
            }
            given.out.write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
