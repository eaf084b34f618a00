"""A model in a search of generations: its ideas, its plans, its candidates and its second tries."""

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any

import pytest
from scripted_models import (
    OTHER,
    QUIET,
    SMALL,
    ScriptedCascade,
    ScriptedClient,
    ensemble,
    learned,
    prompt_of,
)

from tilewright.evaluation.model import (
    text_hash,
)
from tilewright.knowledge.stages import Stage
from tilewright.memory.model import (
    Experience,
    Recalled,
)
from tilewright.models.model import (
    BudgetSpentError,
    CallRequest,
    ContextLengthError,
    Limits,
    ModelError,
    Role,
)
from tilewright.models.settings import Ensemble
from tilewright.search.node import IdeaKind, Node
from tilewright.search.spec import BeamSpec, MenuSpec, StopSpec, StrategySpec
from tilewright.store.store import Store
from tilewright.strategies import briefing
from tilewright.strategies.calls import Calls
from tilewright.strategies.generations import GenerationSearch
from tilewright.strategies.model import Trial
from tilewright.strategies.run_models import run_models

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * 2.0, mask=at < n)
"""
NO_ISSUES = '```json\n{"issues": []}\n```'
Script = Callable[[CallRequest, int], "str | ModelError"]


def text(us: float) -> str:
    return f"TIME = {float(us)} #{KERNEL}"


def whole(us: float) -> str:
    return f"It is faster.\n\n```python\n{text(us)}```\n"


def spec(*ideas: str, **more: Any) -> StrategySpec:
    beam = BeamSpec(width=2, ideas=2, diverse=0)
    values = {"strategy": "beam", "beam": beam, "stop": StopSpec(roof=None), "seed": 7, **more}
    return StrategySpec(ideas=ideas, **values)


def section(request: CallRequest, number: int) -> str:
    found = re.search(rf"(?ms)^## {number}\. \w+\n\n(.*?)(?=^## \d|\Z)", prompt_of(request))
    return found[1] if found else ""


class Run:
    """One search over the scripted cascade; its tree, its calls and its notes."""

    def __init__(
        self, folder: Path, script: Script, strategy: StrategySpec, budget: int,
        models: Ensemble, name: str = "one", memory: Any = None,
    ) -> None:  # fmt: skip
        self.client = ScriptedClient(script)
        self.notes: list[str] = []
        store = Store(folder / f"{name}.sqlite")
        with store.run("key", "kernel.py", {}) as (run, ledger):
            cascade = ScriptedCascade(original=text(100))
            used = run_models(
                models, lambda ensemble, spent: self.client, cascade, folder / "kernel.py",
                ledger, self.notes.append,
            )  # fmt: skip
            assert used is not None
            self.search = GenerationSearch(
                cascade, (), ledger, QUIET, budget, used, strategy, run.seed, self.notes.append
            )
            self.search.memory = memory
            self.search.run()
            self.use = used.use(ledger)
        store.close()

    def asked(self, role: Role) -> list[CallRequest]:
        return [request for request in self.client.sent if request.role is role]

    def tree(self) -> list[tuple[str, str | None, str]]:
        nodes = [trial.node for trial in self.search.trials if trial.node is not None]
        return [(n.hash, n.parent, n.idea.id if n.idea else "") for n in nodes]


Search = Callable[..., Run]


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    monkeypatch.setattr(briefing, "profile_source", lambda *given, **more: PROFILE)
    monkeypatch.setattr("tilewright.strategies.author.least_time", lambda case, info: None)

    def run(
        script: Script, *ideas: str, budget: int = 4, models: Ensemble | None = None,
        name: str = "one", memory: Any = None, **more: Any,
    ) -> Run:  # fmt: skip
        used = models or ensemble(concurrency=1)
        return Run(tmp_path, script, spec(*ideas, **more), budget, used, name, memory)

    return run


PROFILE: Mapping[str, Any] = {
    "kernels": [
        {
            "name": "scale", "time": None, "bottleneck": None, "facts": [],
            "findings": [
                {"text": "Loads are narrow.", "weight": 0.5, "line": 9},
                {"text": "The grid is small.", "weight": 0.2, "line": None},
                {"text": "Stores wait.", "weight": 0.1, "line": None},
            ],
        }
    ],
    "call": None,
}  # fmt: skip


def ever_faster() -> Script:
    """Each candidate takes 10 us less than the one before, and half as long in the end."""
    left = chain(range(90, 0, -10), (10 / 2**n for n in count(1)))

    def script(request: CallRequest, number: int) -> str | ModelError:
        return NO_ISSUES if request.role is Role.ANALYZER else whole(next(left))

    return script


def test_each_pattern_that_applies_is_an_idea_for_the_author(search: Search) -> None:
    run = search(ever_faster(), "patterns")
    trials = [trial for trial in run.search.trials if trial.node is not None]
    assert len(trials) == 4
    for trial, request in zip(trials, run.asked(Role.OPTIMIZER), strict=True):
        assert trial.node is not None
        idea = trial.node.idea
        assert idea is not None
        assert idea.source is IdeaKind.PATTERN
        goal = section(request, 10)
        assert idea.text in goal
        assert f"### `{idea.id.removeprefix('pattern:')}`" in goal
        assert goal.count("### `") == 1, "only the pattern that is to be made is described"
        assert trial.candidate.call is not None
        assert trial.candidate.proposer == "model:small"
    assert run.search.current == text(60)


def test_the_target_is_ten_percent_below_the_present_time(search: Search) -> None:
    run = search(ever_faster(), "model", budget=8)
    first, *later = [section(request, 10) for request in run.asked(Role.OPTIMIZER)]
    assert "is to take" not in first, "the original was not timed before its first contest"
    pairs = re.findall(
        r"at most ([\d.]+) us where the present one takes ([\d.]+) us", "".join(later)
    )
    assert pairs
    assert all(float(least) == pytest.approx(float(now) / 1.1, abs=0.1) for least, now in pairs)


def test_a_plan_is_made_and_then_written(search: Search) -> None:
    plans = iter(f"Do number {n} in `scale`." for n in range(20))
    write = ever_faster()

    def script(request: CallRequest, number: int) -> str | ModelError:
        if request.role is Role.PLANNER and "Plan exactly one change" in prompt_of(request):
            given = {"plan": next(plans), "entry": None, "stage": "fusion", "expects": []}
            return json.dumps(given)
        return write(request, number)

    run = search(script, "model", phases=2, menu=MenuSpec(invent=0.0))
    written = run.asked(Role.OPTIMIZER)
    assert [re.findall(r"Do number \d", section(one, 10)) for one in written] == [
        [f"Do number {n}"] for n in range(4)
    ]
    stages = {trial.stage for trial in run.search.trials if trial.node is not None}
    assert stages == {Stage.FUSION}
    assert len(run.asked(Role.PLANNER)) == 4


def test_without_a_plan_the_author_chooses_and_the_run_says_so(search: Search) -> None:
    write = ever_faster()

    def script(request: CallRequest, number: int) -> str | ModelError:
        return " " if request.role is Role.PLANNER else write(request, number)

    run = search(script, "model", phases=2, budget=2)
    assert run.search.current == text(80)
    assert "2 of 2 plans are of no use: the candidate's author chooses" in run.notes


def test_a_planner_that_repeats_a_plan_does_not_end_the_search(search: Search) -> None:
    replies = iter([*(whole(-n) for n in range(1, 7)), *(whole(us) for us in (90, 80))])
    same = json.dumps({"plan": "Do the same.", "entry": None, "stage": "fusion", "expects": []})

    def script(request: CallRequest, number: int) -> str | ModelError:
        if request.role is Role.PLANNER:
            return same
        return NO_ISSUES if request.role is Role.ANALYZER else next(replies)

    run = search(script, "model", phases=2, budget=8, strategy="incumbent")
    assert run.search.current == text(80)
    assert "1 of 1 plans are of no use: the candidate's author chooses" in run.notes


def test_menus_differ_from_slot_to_slot_and_are_the_same_again(search: Search) -> None:
    found = [
        [section(r, 10) for r in search(ever_faster(), "model", name=name).asked(Role.OPTIMIZER)]
        for name in ("one", "two")
    ]
    assert found[0] == found[1]
    assert len(set(found[0])) == len(found[0])
    for goal in found[0]:
        assert 3 <= goal.count("### `") <= 10


def test_a_refused_candidate_is_tried_again_with_what_was_found(search: Search) -> None:
    replies = iter([whole(-1), whole(-2), "no code", *(whole(us) for us in range(90, 50, -10))])

    def script(request: CallRequest, number: int) -> str | ModelError:
        return NO_ISSUES if request.role is Role.ANALYZER else next(replies)

    run = search(script, "model", budget=5)
    tries = run.asked(Role.OPTIMIZER)
    assert "## 11. TRIES" not in prompt_of(tries[0])
    again = [one for one in tries if "output 0 differs" in section(one, 11)]
    assert again, "a later try knows what the verifier found"
    assert "-TIME = 100.0 #" in section(again[0], 11)
    ideas = [trial.node.idea.id for trial in run.search.trials if trial.node and trial.node.idea]
    assert max(ideas.count(one) for one in ideas) <= 3


def test_samples_of_one_generation_are_one_try(search: Search) -> None:
    replies = iter([*(whole(-n) for n in range(1, 5)), whole(90), whole(80)])

    def script(request: CallRequest, number: int) -> str | ModelError:
        return NO_ISSUES if request.role is Role.ANALYZER else next(replies)

    beam = BeamSpec(width=1, ideas=1, samples=2, diverse=0)
    run = search(script, "model", budget=6, beam=beam)
    first = [trial.node for trial in run.search.trials if trial.node is not None]
    assert [node.generation for node in first] == [1, 1, 2, 2, 3, 3]
    assert len({node.idea.id for node in first if node.idea}) == 1, "two tries, and a third"
    assert run.search.current == text(80)


def test_bottlenecks_of_the_profile_are_ideas(search: Search) -> None:
    run = search(ever_faster(), "bottlenecks", "model", budget=2)
    goals = [section(request, 10) for request in run.asked(Role.OPTIMIZER)]
    assert "Loads are narrow. (line 9)" in goals[0]
    assert "The grid is small." in goals[1]


def test_models_take_turns_by_slot(search: Search) -> None:
    both = ensemble(SMALL, OTHER, concurrency=1)
    run = search(ever_faster(), "model", budget=8, models=both)
    names = [request.choice.name for request in run.asked(Role.OPTIMIZER)]
    assert abs(names.count("small") - names.count("other")) <= 1


def test_the_tree_is_the_same_for_any_number_of_threads(search: Search) -> None:
    def script(request: CallRequest, number: int) -> str | ModelError:
        if request.role is Role.ANALYZER:
            return NO_ISSUES
        return whole(int(text_hash(prompt_of(request))[:4], 16) % 90 + 5)

    runs = [
        search(script, "patterns", "model", budget=8, models=ensemble(concurrency=n), name=str(n))
        for n in (1, 2, 4)
    ]
    assert runs[0].tree() == runs[1].tree() == runs[2].tree()
    calls = [[(c.key, c.role, c.stage) for c in run.use.calls] for run in runs]
    assert calls[0] == calls[1] == calls[2]


def test_near_a_limit_on_calls_the_tree_is_the_same_for_any_number_of_threads(
    search: Search,
) -> None:
    def script(request: CallRequest, number: int) -> str | ModelError:
        if number > 6:
            return BudgetSpentError("the limit on calls does not allow another call", "calls")
        if request.role is Role.ANALYZER:
            return NO_ISSUES
        us = int(text_hash(prompt_of(request))[:4], 16) % 90 + 5
        time.sleep(us / 5000)  # another order of arrival than that of the slots
        return whole(us)

    runs = [
        search(
            script, "model", budget=20, name=str(n),
            models=replace(ensemble(concurrency=n), limits=Limits(calls=6)),
        )
        for n in (1, 4)
    ]  # fmt: skip
    assert runs[0].tree() == runs[1].tree()
    assert runs[0].use.ended == runs[1].use.ended == "calls"
    assert [len(run.client.sent) for run in runs] == [len(runs[0].client.sent)] * 2


def test_a_prompt_that_is_too_long_is_asked_again_in_half(search: Search) -> None:
    write, refused = ever_faster(), []

    def script(request: CallRequest, number: int) -> str | ModelError:
        if request.role is Role.OPTIMIZER and not refused:
            refused.append(request)
            return ContextLengthError("too long")
        return write(request, number)

    run = search(script, "model", budget=1)
    first, second = run.asked(Role.OPTIMIZER)
    assert len(prompt_of(second)) < len(prompt_of(first))
    assert run.search.current == text(90)


def test_a_limit_on_calls_ends_the_ideas_of_models(search: Search) -> None:
    write = ever_faster()

    def script(request: CallRequest, number: int) -> str | ModelError:
        if number > 3:
            return BudgetSpentError("the limit on calls does not allow another call", "calls")
        return write(request, number)

    run = search(script, "model", budget=50)
    assert run.search.current == text(70)
    assert run.use.ended == "calls"
    assert len(run.client.sent) <= 8, "no generation after the one that reached the limit asks"


def test_guidance_stands_before_the_schedule(search: Search) -> None:
    run = search(ever_faster(), "model", budget=12, guidance="bandit")
    shown = {section(request, 5).split("\n")[0] for request in run.asked(Role.OPTIMIZER)}
    assert any("Make the smallest" in one or "Prefer a change" in one for one in shown)
    plain = search(ever_faster(), "model", budget=12, name="plain")
    assert not any("Prefer a change" in section(r, 5) for r in plain.asked(Role.OPTIMIZER))


class Remembers:
    """A memory with one entry, which has to be named at the end."""

    def __init__(self) -> None:
        self.named: list[Experience] = []

    def recalled(self, node: Node, k: int) -> list[Recalled]:
        """The entry."""
        del node
        return [Recalled(learned("pattern:a"), 1.0, ("it fits",))][:k]

    def sources(self, others: object, *, writes: bool) -> dict[str, object]:
        """None of its own."""
        del others, writes
        return {}

    def learn(self, trial: Trial) -> None:
        """Nothing."""

    def summarize(self, work: Callable[[list[Experience]], list[Experience]]) -> None:
        """Have a free change named."""
        self.named = work([learned("free:1")])


def test_prompts_have_what_is_remembered_and_free_changes_are_named(search: Search) -> None:
    write, memory = ever_faster(), Remembers()

    def script(request: CallRequest, number: int) -> str | ModelError:
        if request.role is Role.SUMMARIZER:
            return '{"title": "Read the row once", "mechanism": "Memory bounds it."}'
        return write(request, number)

    run = search(script, "model", budget=2, memory=memory)
    for request in run.asked(Role.OPTIMIZER):
        shown = section(request, 6)
        assert "Do as I say: 1.50x faster [1.40, 1.60] on a GPU" in shown
        assert "+x = 2" in shown
    assert [one.title for one in memory.named] == ["Read the row once"]
    assert [call.role for call in run.use.calls][-1] is Role.SUMMARIZER


def test_calls_are_made_one_after_the_other_where_a_limit_may_not_allow_all(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    client = ScriptedClient(lambda request, number: "")
    models = replace(ensemble(concurrency=4), limits=Limits(calls=6))
    with store.run("key", "kernel.py", {}) as (_, ledger):
        calls = Calls(lambda ensemble, spent: client, models, ledger, lambda note: None)
        assert [calls.side_by_side(slots) for slots in (1, 3, 4)] == [4, 4, 1]
        ledger.close()
    store.close()
