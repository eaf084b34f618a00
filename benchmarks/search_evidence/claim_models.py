"""Models in the search: messages, phases, hostile replies, prompts. The model is an oracle."""

import ast
import json
import random
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median
from types import SimpleNamespace
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(ROOT / "tests" / "strategies"), str(ROOT / "tests" / "models"), str(ROOT / "benchmarks")
]  # fmt: skip

import oracle  # noqa: E402
import oracle_model  # noqa: E402
import prompt_sizes  # noqa: E402
from finding import Evidence, Finding  # noqa: E402
from scripted_models import CASE, PROBLEM, QUIET, ScriptedClient, ensemble  # noqa: E402

from tilewright.agents import cards, change, optimizer  # noqa: E402
from tilewright.agents.briefing import Briefing  # noqa: E402
from tilewright.agents.change import Task  # noqa: E402
from tilewright.agents.model import Proposal  # noqa: E402
from tilewright.agents.sections import CAPS, MOST_TOKENS  # noqa: E402
from tilewright.analysis.model import AnalysisContext  # noqa: E402
from tilewright.evaluation.cascade import OnStep, silent  # noqa: E402
from tilewright.evaluation.model import (  # noqa: E402
    Evaluation,
    Level,
    Speedup,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.evaluation.workbench import Capture  # noqa: E402
from tilewright.models.model import CallRequest, Role  # noqa: E402
from tilewright.search.spec import BeamSpec, MenuSpec, StopSpec, StrategySpec  # noqa: E402
from tilewright.store.store import Store  # noqa: E402
from tilewright.strategies import briefing  # noqa: E402
from tilewright.strategies.generations import GenerationSearch  # noqa: E402
from tilewright.strategies.ideas.patterns import random_subset  # noqa: E402
from tilewright.strategies.run_models import run_models  # noqa: E402

STORED = True
RUNS = Path(__file__).resolve().parent / "results" / "oracle_model.jsonl"
_EVALUATIONS = 8
_SLOTS = 6
_GAP = 0.25
_NOTE = """\
The oracle errs at fixed rates (`tests/models/oracle.py`). It follows the goal with probability
0.8, otherwise takes the best change with probability 0.5, makes a mistake in 0.4 of its first
tries, and repairs a fault with probability 0.6 if a message names it and 0.1 if none does. These
numbers are no measure of a language model. `tests/models/test_cheating_replies.py` shows that no
cheat of the evidence is accepted as a model's reply, `benchmarks/cheating_replies.py` on a GPU."""


def evidence(size: str) -> Evidence:
    """All claims; the small form has a few kernels and replies."""
    whole = size == "whole"
    return Evidence(
        "Models in the search",
        (
            _messages(),
            _phases(12 if whole else 1),
            _replies(10_000 if whole else 100),
            *_prompts(None if whole else 2),
        ),
        notes=(_NOTE,),
    )


# What messages are worth.


def _messages() -> Finding:
    """From the lines that ``benchmarks/oracle_model.py`` wrote."""
    lines = [json.loads(line) for line in RUNS.read_text("utf-8").splitlines()]
    units = oracle_model.of_solvable(
        [oracle_model.Unit(**u) for one in lines for u in one["units"]]
    )
    kernels = oracle_model.by_kernel(units)
    share = oracle_model.of_candidates
    low, high = oracle_model.interval(kernels, share)
    shown, hidden = (share([u for u in units if u.shown is arm]) for arm in (True, False))
    stages = oracle_model.gap(kernels, oracle_model.of_stages)
    bounds = oracle_model.interval(kernels, oracle_model.of_stages)
    return Finding(
        "A model that reads the verifier's messages has more candidates accepted",
        f"oracle, Triton's interpreter, {len(kernels)} kernels, "
        f"{len({u.seed for u in units})} seeds",
        f"a share of accepted candidates higher by {_GAP} at least, by the interval's lower end",
        f"{shown:.3f} against {hidden:.3f}: {oracle_model.gap(kernels, share):+.3f}",
        low,
        high,
        "every message replaced by one sentence; by stages with an accepted candidate the "
        f"difference is {stages:+.3f} [{bounds[0]:+.3f}, {bounds[1]:+.3f}]",
        low >= _GAP,
    )


# One phase and two.


class _ByTable:
    """A cascade whose verdicts the oracle knows: its changes are right, its slips are not."""

    path = "kernel.py"
    target = None
    triton_version = None

    def __init__(self, model: oracle.Oracle, original: str) -> None:
        self.original = original
        self._model = model
        self._moves: dict[str, dict[str, float]] = {}

    @property
    def bench(self) -> Any:
        info = SimpleNamespace(can_time=True)
        capture: Callable[..., Capture] = lambda text, case: Capture(())  # noqa: E731
        return SimpleNamespace(device=SimpleNamespace(info=info), problem=PROBLEM, capture=capture)

    def no_problem(self) -> str:
        """Not asked: there is a problem."""
        return ""

    def judge(
        self, text: str, baseline: str, *, thorough: bool = True, on_step: OnStep = silent
    ) -> Evaluation:
        """What the table says of a text that was made from ``baseline``."""
        del thorough, on_step
        if text == baseline:
            return _evaluated(text, baseline, 1.0)
        if baseline not in self._moves:
            moves = self._model.moves(baseline, "")
            self._moves[baseline] = {edit.text: edit.gain for edit in reversed(moves)}
        gain = self._moves[baseline].get(text)
        if gain is not None:
            return _evaluated(text, baseline, gain)
        name, message = StepName.CORRECTNESS, "output: 3 of 64 elements differ, expected 1, got 2"
        try:
            ast.parse(text)
        except SyntaxError as error:
            name, message = StepName.SYNTAX, f"syntax error, line {error.lineno}"
        if "libdevice" in text:
            name, message = StepName.COMPILE, "triton.language has no attribute libdevice"
        refused = StepResult(name, StepStatus.FAILED, message)
        return Evaluation(text_hash(text), text_hash(baseline), Level.REJECTED, (refused,))


def _evaluated(text: str, baseline: str, gain: float) -> Evaluation:
    speedup = Speedup(
        gain, gain * 0.99, gain * 1.01, 0.99, 0.005, 100.0, 100.0 / gain, text_hash(baseline),
        "a table", CASE.name, 20,
    )  # fmt: skip
    status = StepStatus.PASSED if speedup.is_faster else StepStatus.FAILED
    step = StepResult(StepName.SPEED, status, "" if speedup.is_faster else "slower than its input")
    level = Level.FASTER if speedup.is_faster else Level.CORRECT
    return Evaluation(text_hash(text), text_hash(baseline), level, (step,), speedup)


def _phases(kernels: int) -> Finding:
    """Calls for each accepted candidate, with a plan and without."""
    puzzles = oracle_model.puzzles([])
    chosen = random.Random(1).sample(puzzles, min(kernels, len(puzzles)))
    one = [_calls(p.text, 1, oracle.Knobs()) for p in chosen]
    two = [_calls(p.text, 2, oracle.Knobs()) for p in chosen]
    deaf = [_calls(p.text, 2, oracle.Knobs(follow=0.0)) for p in chosen]
    return Finding(
        "Two phases alone bring no gain: their cost is reported",
        f"oracle, {len(chosen)} kernels, {_EVALUATIONS} evaluations each, verdicts by table",
        "calls for each accepted candidate, for one phase and two; no gain is claimed",
        f"{_ratio(one):.2f} with one phase, {_ratio(two):.2f} with two",
        None,
        None,
        f"a model that ignores the plan: {_ratio(deaf):.2f}",
        True,
    )


def _ratio(found: Sequence[tuple[int, int]]) -> float:
    accepted = sum(count for _, count in found)
    return sum(calls for calls, _ in found) / accepted if accepted else float("inf")


def _calls(text: str, phases: int, knobs: oracle.Knobs) -> tuple[int, int]:
    """The calls of one search and its accepted candidates."""
    model = oracle.Oracle(knobs, AnalysisContext())

    def script(request: CallRequest, number: int) -> str:
        del number
        return model.reply([{"content": message.text} for message in request.messages])

    beam = BeamSpec(width=2, ideas=2, diverse=0)
    spec = StrategySpec(
        strategy="beam", beam=beam, ideas=("model",), phases=1 if phases == 1 else 2,
        menu=MenuSpec(invent=0.0), stop=StopSpec(roof=None), seed=5,
    )  # fmt: skip
    client, notes = ScriptedClient(script), list[str]()
    silent: Mapping[str, Any] = {"kernels": [], "call": None}
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(briefing, "profile_source", return_value=silent),
        mock.patch("tilewright.strategies.author.least_time", return_value=None),
        Store(Path(folder) / "s.sqlite").run("key", "kernel.py", {}) as (run, ledger),
    ):
        cascade: Any = _ByTable(model, text)
        models = run_models(
            ensemble(concurrency=1), lambda ensemble, spent: client, cascade,
            Path(folder) / "kernel.py", ledger, notes.append,
        )  # fmt: skip
        search = GenerationSearch(
            cascade, (), ledger, QUIET, _EVALUATIONS, models, spec, run.seed, notes.append
        )
        search.run()
        ledger.close()
    asked = sum(request.role in (Role.OPTIMIZER, Role.PLANNER) for request in client.sent)
    accepted = sum(
        trial.node is not None and trial.evaluation.level is Level.FASTER for trial in search.trials
    )
    return asked, accepted


# Hostile replies.


def _replies(count: int) -> Finding:
    """Replies that were cut, doubled and mixed: none breaks the parser, none changes the rest."""
    draw = random.Random(3)
    known = [prompt_sizes.briefing(spec) for spec in sorted(ROOT.glob("examples/*.yaml"))]
    broken = changed = 0
    usable = 0
    for _ in range(count):
        one = draw.choice(known)
        try:
            found = optimizer.parse(_mutated(one.text, draw), one)
        except Exception:  # noqa: BLE001 (what is counted is that there is none of any kind)
            broken += 1
            continue
        usable += isinstance(found, Proposal)
        changed += isinstance(found, Proposal) and not _keeps_the_problem(one.text, found.text)
    return Finding(
        "No reply breaks the parser or changes the text that describes the problem",
        f"{count:,} mutated replies to the examples",
        "0 faults, 0 changes of inputs and references",
        f"{broken} faults, {changed} changes",
        None,
        None,
        f"{usable:,} of the replies were usable changes, so the parser does not refuse all",
        broken == changed == 0 and usable > 0,
    )


def _mutated(text: str, draw: random.Random) -> str:
    """A reply with the file, or edits of it, damaged at random places."""
    lines = text.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    kind = draw.randrange(4)
    if kind == 0:
        reply = f"I change it.\n```python\n{text}```\n"
    elif kind == 1:
        edit = lines[at].rstrip("\n")
        reply = f"<<<<<<< SEARCH\n{edit}\n=======\n{edit} # x\n>>>>>>> REPLACE\n"
    elif kind == 2:
        reply = json.dumps({"answer": text, "thought": lines[at]})
    else:
        reply = f"```python\ndef get_inputs():\n    return []\n{''.join(lines[at:])}\n```"
    for _ in range(draw.randrange(4)):
        here, there = sorted(draw.randrange(len(reply) + 1) for _ in range(2))
        part = reply[here : min(there, here + 200)]
        reply = draw.choice([reply[:here] + reply[there:], reply[:there] + part + reply[there:],
                             reply.replace("```", draw.choice(["``", "````", "~~~"]), 1),
                             reply.replace("\n", "\r\n"), reply[::-1]])  # fmt: skip
    return reply


def _keeps_the_problem(before: str, after: str) -> bool:
    """Whether the references and the tests of a file are as they were."""
    fixed = (
        ast.get_source_segment(before, node)
        for node in ast.parse(before).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(("ref", "test_", "bench_"))
    )
    return all(one is not None and one in after.replace("\r\n", "\n") for one in fixed)


# Prompts.


def _prompts(most: int | None) -> tuple[Finding, Finding]:
    specs = sorted([*ROOT.glob("examples/*.yaml"), *ROOT.glob("benchmarks/replies/*.yaml")])
    known = [prompt_sizes.briefing(spec) for spec in specs[:most]]
    found = [_generation(one, shuffled=False) for one in known]
    broken = [_generation(one, shuffled=True) for one in known]
    tries = prompt_sizes.shares_of(prompt_sizes.composed(most))
    across = tries["stage after stage"] or [1.0]
    largest = [_sizes(one) for one in known]
    within = min(share for one in found for share in one)
    return (
        Finding(
            "Prompts of a generation have a common beginning",
            f"{len(known)} kernels, {_SLOTS} slots on one text, each with a menu of its own",
            "0.70 of the characters in common within a generation, 0.35 from stage to stage",
            f"{within:.2f} at least within (median {median(map(min, found)):.2f}), "
            f"{min(across):.2f} at least from stage to stage",
            None,
            None,
            f"facts in another order for each slot: {mean(map(min, broken)):.2f}",
            within >= 0.70 and min(across) >= 0.35,
        ),
        Finding(
            "Prompts do not exceed their caps",
            f"{len(known)} kernels and a text of 4,000 lines",
            f"every section within its tokens, {MOST_TOKENS:,} in all",
            f"at most {max(total for total, _ in largest):,} tokens, {sum(n for _, n in largest)} "
            "sections over their caps",
            None,
            None,
            "the text of 4,000 lines has more tokens than a whole prompt may have",
            all(total <= MOST_TOKENS and over == 0 for total, over in largest),
        ),
    )


def _generation(known: Briefing, *, shuffled: bool) -> list[float]:
    """The share of each slot's prompt that all slots begin with."""
    facts = tuple(f"kernel: figure {n} is {n * 7} us, measured." for n in range(20))
    texts = []
    for slot in range(_SLOTS):
        draw = random.Random(slot)
        shown = tuple(draw.sample(facts, len(facts))) if shuffled else facts
        menu = random_subset(cards.applicable(known), draw, MenuSpec())
        prompt = change.build(
            replace(known, facts=shown), Task(menu=tuple(map(cards.brief_words, menu)))
        )
        texts.append("\n".join(message.text for message in prompt.messages()))
    common = prompt_sizes.shared(texts)
    return [common / len(text) for text in texts]


def _sizes(known: Briefing) -> tuple[int, int]:
    """The largest prompt of a kernel, and sections over their caps, its text made long as well."""
    long = known.text + "".join(f"\n\ndef more_{n}(x):\n    return x + {n}\n" for n in range(1000))
    totals, over = [], 0
    for text in (known.text, long):
        menu = tuple(map(cards.full_words, cards.applicable(known)))
        prompt = change.build(replace(known, text=text), Task("x" * 500, menu=menu))
        totals.append(prompt.tokens)
        over += sum(s.tokens > CAPS[s.number] for s in prompt.sections if s.number in CAPS)
    return max(totals), over
