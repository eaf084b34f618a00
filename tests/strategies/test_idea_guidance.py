"""What guidance and notes on a search say: plans, menus, pitfalls, costs, summaries."""

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest
from scripted_models import ScriptedClient, ensemble, learned, prompt_of

from tilewright.agents.change import FACTS, Plan, parse_plan
from tilewright.agents.model import Unusable
from tilewright.evaluation.model import (
    Evaluation,
    Level,
    StepName,
    StepResult,
    StepStatus,
)
from tilewright.knowledge.stages import Stage
from tilewright.models.model import (
    Role,
    Spent,
)
from tilewright.search.spec import MenuSpec
from tilewright.serialize import dump
from tilewright.store.store import Store
from tilewright.strategies.author import expectation_words
from tilewright.strategies.calls import Calls
from tilewright.strategies.guidance import Bandit, pitfalls, summarized
from tilewright.strategies.ideas.patterns import random_subset
from tilewright.strategies.model import Trial
from tilewright.strategies.present import gain_words
from tilewright.targets.model import CompileReport, LaunchFacts, Target


@pytest.mark.parametrize(
    ("reply", "plan"),
    [
        (
            '{"plan": "Fuse  both.", "entry": "a", "stage": "fusion", "expects": ["registers-"]}',
            Plan("Fuse both.", "a", Stage.FUSION, ("registers-",)),
        ),
        (
            '{"plan": "Fuse.", "entry": "z", "stage": "?", "expects": ["speed+", 3, "registers+"]}',
            Plan("Fuse.", None, Stage.DISCOVERY, ("registers+",)),
        ),
        ("<think>hm</think>Fuse both\nkernels.", Plan("Fuse both kernels.")),
        ("", None),
    ],
)
def test_plans_are_read_from_json_or_from_text(reply: str, plan: Plan | None) -> None:
    found = parse_plan(reply, ["a"])
    assert isinstance(found, Unusable) if plan is None else found == plan


def test_dropout_keeps_the_order_and_its_bounds() -> None:
    menu = MenuSpec(keep=0.3, least=3, most=10)
    every = list(range(30))
    found = [random_subset(every, Random(seed), menu) for seed in range(200)]
    assert all(one == sorted(one) and 3 <= len(one) <= 10 for one in found)
    assert len({tuple(one) for one in found}) > 150
    assert random_subset([1, 2], Random(1), menu) == [1, 2]


def compiled(spilled: int, registers: int) -> Evaluation:
    """A correct candidate with one compile report, which says nothing of shared memory."""
    report = CompileReport(
        Target("cuda", "90"), "k", LaunchFacts("k", (1,), ()), True,
        registers=registers, spill_bytes=spilled,
    )  # fmt: skip
    step = StepResult(StepName.COMPILE, StepStatus.PASSED, data={"reports": [dump(report)]})
    return Evaluation("0", "1", Level.CORRECT, (step,))


def test_what_an_idea_expected_is_compared_with_what_the_compilers_say() -> None:
    words = list(
        expectation_words(
            ("spill_bytes-", "registers-", "shared_bytes+"), compiled(64, 30), compiled(0, 40)
        )
    )
    assert words == [
        "bytes spilled 64 -> 0, as expected",
        "registers a thread 30 -> 40, expected to fall",
    ]
    assert set(FACTS) == {"spill_bytes", "registers", "shared_bytes"}


def trial_of(generation: int, *, alive: bool, step: StepName | None = None) -> Trial:
    """What a bandit looks at of a trial."""
    failed = SimpleNamespace(step=step) if step else None
    found = SimpleNamespace(
        node=SimpleNamespace(generation=generation, alive=alive),
        candidate=SimpleNamespace(call="c"),
        evaluation=SimpleNamespace(failed=failed),
    )
    return cast("Trial", found)


def test_guidance_that_leads_to_parents_is_chosen_more_often() -> None:
    trials: list[Trial] = []
    bandit = Bandit(lambda: trials, 3, "spec")
    found = []
    for generation in range(1, 60):
        found.append(bandit.guidance(generation))
        good = found[-1] != () and found[-1][0].startswith("Make the smallest")
        trials += [trial_of(generation, alive=good)] * 4
    last = found[-30:]
    assert sum(one[:1] == ("Make the smallest change that can have the gain: what stays as it is "
                           "cannot fail.",) for one in last) >= 24  # fmt: skip
    assert [bandit.guidance(n) for n in range(1, 60)] == found, "a generation keeps its guidance"


def test_pitfalls_quote_nothing_of_a_candidate() -> None:
    trials = [trial_of(1, alive=False, step=StepName.COMPILE)] * 3
    trials += [trial_of(1, alive=False, step=StepName.SYNTAX)]
    (sentence,) = pitfalls(trials)
    assert sentence == "Many candidates do not compile: use only names that section 2 has."


def test_free_changes_are_summarized_once_and_stay_private(tmp_path: Path) -> None:
    told = '{"title": "Read the row once", "mechanism": "Memory bounds it."}'
    client = ScriptedClient(lambda request, number: told)
    with Store(tmp_path / "s.sqlite").run("key", "k.py", {}) as (_, ledger):
        calls = Calls(lambda ensemble, spent: client, ensemble(), ledger, lambda note: None)
        given = [learned("free:1"), learned("pattern:a"), learned("free:2", "")]
        found = summarized(calls, given)
        assert (found[0].title, found[0].mechanism) == ("Read the row once", "Memory bounds it.")
        assert found[0].private
        assert found[1:] == given[1:]
        (request,) = client.sent
        assert request.role is Role.SUMMARIZER
        assert "1.50 times the speed [1.40, 1.60]" in prompt_of(request)
        assert "+x = 2" in prompt_of(request)
        summarized(calls, given)
        assert len(client.sent) == 1, "the same change is not asked about again"


def test_an_experience_stays_as_it_is_without_a_usable_summary(tmp_path: Path) -> None:
    client = ScriptedClient(lambda request, number: "It is good.")
    with Store(tmp_path / "s.sqlite").run("key", "k.py", {}) as (_, ledger):
        calls = Calls(lambda ensemble, spent: client, ensemble(), ledger, lambda note: None)
        assert summarized(calls, [learned("free:1")]) == [learned("free:1")]


@pytest.mark.parametrize(
    ("spent", "ratio", "words"),
    [
        (Spent(calls=8, dollars=0.2), 4.0, "4.0 calls, $0.1000 for each doubling of the speed"),
        (Spent(calls=8, dollars=None), 2.0, "8.0 calls for each doubling of the speed"),
        (Spent(calls=8, dollars=0.2), 0.9, ""),
        (Spent(), 2.0, ""),
    ],
)
def test_cost_is_said_for_each_doubling_of_the_speed(
    spent: Spent, ratio: float, words: str
) -> None:
    assert gain_words(spent, ratio) == words
