"""The loop of tries over a scripted cascade and scripted models: what is asked, kept and said."""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scripted_models import (
    OTHER,
    SMALL,
    Fixed,
    Found,
    Roles,
    ScriptedCascade,
    ScriptedClient,
    ensemble,
    issue,
    searched,
    source,
)

from tilewright.agents import analyzer
from tilewright.agents.model import Unusable
from tilewright.analysis.model import Issue
from tilewright.errors import Stopped
from tilewright.evaluation.model import Level, StepName
from tilewright.knowledge.stages import Stage
from tilewright.models.model import (
    BudgetSpentError,
    CallRequest,
    ContextLengthError,
    Limits,
    ModelError,
    ModelUnavailableError,
    ReplyError,
    Role,
)
from tilewright.models.settings import Ensemble
from tilewright.source.text import Range
from tilewright.store.store import Store
from tilewright.strategies import cover, staged
from tilewright.strategies.observer import Silent, Standing
from tilewright.strategies.run_models import run_models

MODEL = "model:small"
Run = Callable[..., Found]


def replies(*texts: str | ModelError) -> Callable[[CallRequest, int], str | ModelError]:
    """The optimizer's and the extractor's replies in their order; other roles' do not matter."""
    left = list(texts)

    def script(request: CallRequest, number: int) -> str | ModelError:
        del number
        return left.pop(0) if request.role in (Role.OPTIMIZER, Role.EXTRACTOR) else "fine"

    return script


def prompt_of(request: CallRequest) -> str:
    return request.messages[-1].text


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite")


@pytest.fixture
def run(store: Store) -> Run:
    def run(
        *texts: str | ModelError,
        proposers: tuple[Any, ...] = (),
        cascade: ScriptedCascade | None = None,
        asked: Ensemble | None = None,
        **more: Any,
    ) -> Found:
        client = ScriptedClient(replies(*texts))
        with store.run("key", "kernel.py", {}) as (_, ledger):
            return searched(
                ledger,
                client,
                cascade or ScriptedCascade(),
                asked or ensemble(),
                *proposers,
                **more,
            )

    return run


@pytest.fixture(autouse=True)
def roles(monkeypatch: pytest.MonkeyPatch) -> Roles:
    found = Roles()
    found.install(monkeypatch)
    return found


def optimizer_calls(found: Found) -> list[CallRequest]:
    return [request for request in found.client.sent if request.role is Role.OPTIMIZER]


def test_success_on_the_first_try_ends_the_stage(run: Run) -> None:
    found = run("50")
    assert found.tree == [(MODEL, 50, True)]
    assert found.search.current == source(50)
    assert found.client.roles().count(Role.OPTIMIZER) == 1
    trial = found.search.trials[0]
    assert trial.candidate.rationale == "take 50.0 us"
    assert trial.candidate.issues == ("open_ended",)
    assert trial.candidate.call == optimizer_calls(found)[0].key()


def test_each_try_is_told_what_became_of_the_one_before(run: Run) -> None:
    found = run("nonsense", "-1", "120", "40")
    assert found.tree == [
        (MODEL, None, False),
        (MODEL, -1, False),
        (MODEL, 120, False),
        (MODEL, 40, True),
    ]
    last = prompt_of(optimizer_calls(found)[-1])
    assert "nonsense is no time" in last
    assert "output 0 differs" in last
    assert last.count("\n") >= 3


def test_a_correct_and_slow_try_is_profiled_and_counters_are_read_of_the_original_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts: list[tuple[str, ...]] = []
    build = cover.optimizer.build
    monkeypatch.setattr(
        cover.optimizer,
        "build",
        lambda told, *more: (facts.append(told.facts), build(told, *more))[1],
    )
    found = run("120", "-1", "40")
    last = prompt_of(optimizer_calls(found)[-1])
    assert "profile of TIME = 120.0\n" in last
    assert "profile of TIME = -1.0" not in last
    assert "profile of TIME = 100.0, counted" in facts[0]


def test_a_fault_that_a_model_suspects_is_no_reason_to_keep_a_slower_text(
    run: Run, roles: Roles
) -> None:
    roles.issues = (issue(Stage.CORRECTNESS),)
    found = run("120", "50")
    assert found.tree == [(MODEL, 120, False), (MODEL, 50, True)]
    assert not any(trial.fixes for trial in found.search.trials)


def test_a_fault_of_the_harness_is_not_the_candidates(run: Run) -> None:
    cascade = ScriptedCascade(faulty=(70.0,))
    found = run("70", "40", cascade=cascade)
    assert found.tree == [(MODEL, 70, False), (MODEL, 40, True)]
    assert [fault.message for fault in found.search.faults] == ["a fault of ours"]


def test_stopping_the_search_cancels_the_client(store: Store) -> None:
    def stop(request: CallRequest, number: int) -> str:
        raise Stopped

    client = ScriptedClient(stop)
    with store.run("key", "kernel.py", {}) as (_, ledger):
        with pytest.raises(Stopped):
            searched(ledger, client, ScriptedCascade(), ensemble())
        models = run_models(
            ensemble(),
            lambda asked, before: client,
            ScriptedCascade(),  # type: ignore[arg-type]
            Path("kernel.py"),
            ledger,
            print,
        )
        assert models is not None
        models.calls.cancel()
        assert client.cancelled


def test_without_a_problem_no_model_is_asked(store: Store) -> None:
    notes: list[str] = []
    cascade = SimpleNamespace(bench=None, no_problem=lambda: "there is no spec")
    with store.run("key", "kernel.py", {}) as (_, ledger):
        models = run_models(
            ensemble(),
            None,
            cascade,
            Path("kernel.py"),
            ledger,
            notes.append,  # type: ignore[arg-type]
        )
    assert models is None
    assert notes == ["no model was asked: there is no spec"]


def test_what_was_spent_before_a_kill_counts_towards_the_limits(store: Store) -> None:
    first = ScriptedClient(replies("-1", "-2"), dies_after=4)
    with store.run("key", "kernel.py", {}) as (_, ledger), pytest.raises(KeyboardInterrupt):
        searched(ledger, first, ScriptedCascade(), ensemble())
    again = ScriptedClient(replies("-1", "50"))
    with store.run("key", "kernel.py", {}) as (_, ledger):
        searched(ledger, again, ScriptedCascade(), ensemble())
    # Finished calls of the first part, and the one that was under way.
    assert again.before.calls == len(first.sent) + 1
    assert again.before.tokens_in == 100 * len(first.sent)


def test_a_reply_of_no_use_is_a_trial_that_costs_no_evaluation(run: Run) -> None:
    cascade = ScriptedCascade()
    found = run("nonsense", "40", cascade=cascade, budget=1)
    refused = found.search.trials[0]
    assert refused.evaluation.level is Level.REJECTED
    assert refused.evaluation.failed is not None
    assert refused.evaluation.failed.step is StepName.STRUCTURE
    assert refused.reason == "rejected at structure: nonsense is no time"
    assert found.tree[1] == (MODEL, 40, True)
    assert [text for text, _ in cascade.judged].count(source(100)) == 1


@pytest.mark.parametrize(("budget", "analyses"), [(1, 1), (2, 2)])
def test_models_are_not_asked_once_the_budget_is_spent(
    run: Run, budget: int, analyses: int
) -> None:
    found = run("50", budget=budget)
    assert found.tree == [(MODEL, 50, True)]
    assert found.client.roles().count(Role.ANALYZER) == analyses


def test_an_answer_of_no_use_to_the_client_is_such_a_trial_too(run: Run) -> None:
    found = run(ReplyError("small answered with an empty text"), "40")
    assert (
        found.search.trials[0].reason == "rejected at structure: small answered with an empty text"
    )
    assert found.search.current == source(40)


def test_after_the_last_try_the_extractor_is_asked_once_and_judged_alike(run: Run) -> None:
    found = run("-1", "-2", "60", asked=ensemble(tries=2))
    tries = [role for role in found.client.roles() if role in (Role.OPTIMIZER, Role.EXTRACTOR)]
    assert tries == [Role.OPTIMIZER, Role.OPTIMIZER, Role.EXTRACTOR]
    assert found.tree == [(MODEL, -1, False), (MODEL, -2, False), (MODEL, 60, True)]


def test_an_exhausted_stage_leaves_its_input_and_every_reason(run: Run) -> None:
    found = run("-1", "110", "-3", asked=ensemble(tries=2))
    assert found.search.current == source(100)
    assert [trial.stage for trial in found.search.trials] == [Stage.MEMORY_ACCESS] * 3
    assert [trial.reason for trial in found.search.trials] == [
        "rejected at correctness: output 0 differs",
        "not faster",
        "rejected at correctness: output 0 differs",
    ]


def test_the_same_text_again_is_not_judged_again(run: Run) -> None:
    cascade = ScriptedCascade()
    found = run("-1", "-1", "100", "50", cascade=cascade)
    assert found.tree == [(MODEL, -1, False), (MODEL, 50, True)]
    assert [text for text, _ in cascade.judged].count(source(-1)) == 1
    last = prompt_of(optimizer_calls(found)[-1])
    assert "The same text was tried before (trial 1): rejected at correctness" in last
    assert "nothing was changed" in last


def test_a_prompt_that_is_too_long_loses_its_oldest_step(run: Run) -> None:
    found = run("first", "second", "third", ContextLengthError("too long"), "50")
    refused, shorter = (prompt_of(request) for request in optimizer_calls(found)[-2:])
    assert "first is no time" in refused
    assert "first is no time" not in shorter
    assert "third is no time" in shorter
    assert found.search.current == source(50)


def test_a_prompt_that_stays_too_long_is_halved_once_and_then_given_up(run: Run) -> None:
    too_long = ContextLengthError("too long")
    found = run("first", too_long, too_long)
    assert "limit" in prompt_of(optimizer_calls(found)[-1])
    assert found.search.current == source(100)
    assert any("too long" in note for note in found.notes)


def test_rewrites_come_first_and_the_model_gets_what_they_reach(run: Run) -> None:
    found = run("50", proposers=(Fixed(80, 120),))
    assert found.tree[:2] == [("fixed", 80, True), ("fixed", 120, False)]
    assert source(80) in prompt_of(optimizer_calls(found)[0])
    assert found.search.current == source(50)


def test_of_several_samples_the_fastest_is_kept_by_the_clock(run: Run) -> None:
    found = run("-1", "60", "70", "30", "31", asked=ensemble(samples=4, concurrency=1))
    assert found.tree == [
        (MODEL, -1, False), (MODEL, 60, True), (MODEL, 70, False), (MODEL, 30, True),
        (MODEL, 31, False),
    ]  # fmt: skip
    asked = optimizer_calls(found)
    assert {request.messages for request in asked[1:]} == {asked[1].messages}
    assert [request.sample for request in asked] == [0, 0, 1, 2, 3]


def test_samples_are_asked_at_once_and_judged_in_their_order(store: Store) -> None:
    meeting = threading.Barrier(3)
    order = {0: "60", 1: "50", 2: "40", 3: "30"}

    def script(request: CallRequest, number: int) -> str:
        if request.role is Role.OPTIMIZER and request.sample:
            meeting.wait(600)
        return order[request.sample]

    client = ScriptedClient(script)
    with store.run("key", "kernel.py", {}) as (_, ledger):
        found = searched(ledger, client, ScriptedCascade(), ensemble(samples=4, concurrency=3))
    assert [us for _, us, _ in found.tree] == [60, 50, 40, 30]
    assert found.search.current == source(30)


def test_where_the_calls_do_not_suffice_the_first_samples_are_asked(store: Store) -> None:
    most = 5  # the analyzer, the planner, three samples

    def script(request: CallRequest, number: int) -> str | ModelError:
        if number > most:
            return BudgetSpentError("the limit on calls does not allow another call", "calls")
        return str(60 - 10 * request.sample) if request.role is Role.OPTIMIZER else "fine"

    client = ScriptedClient(script)
    asked = ensemble(samples=5, concurrency=4, limits=Limits(calls=most))
    with store.run("key", "kernel.py", {}) as (_, ledger):
        found = searched(ledger, client, ScriptedCascade(), asked)
    assert [us for _, us, _ in found.tree] == [60, 50, 40]
    sent = [request.sample for request in client.sent if request.role is Role.OPTIMIZER]
    assert sorted(sent[:3]) == [0, 1, 2]


def test_where_nothing_is_timed_one_sample_is_enough(run: Run) -> None:
    found = run("50", asked=ensemble(samples=4), cascade=ScriptedCascade(times=False))
    assert found.tree == [(MODEL, 50, True)]


def test_the_models_issues_add_stages_and_are_never_given_to_rewrites(
    run: Run, roles: Roles
) -> None:
    seen: list[tuple[str, ...]] = []

    class Looking(Fixed):
        def propose(self, request: Any) -> Any:
            seen.append(tuple(found.id for found in request.issues))
            return iter(())

    roles.issues = (issue(Stage.FUSION), issue(Stage.DISCOVERY))
    roles.order = (Stage.FUSION, Stage.DISCOVERY)
    found = run("50", "25", proposers=(Looking(),))
    assert [trial.stage for trial in found.search.trials] == [Stage.DISCOVERY, Stage.FUSION]
    assert set(seen) == {()}


def test_a_stage_that_the_planner_skips_costs_no_call(run: Run, roles: Roles) -> None:
    roles.issues = (issue(Stage.FUSION), issue(Stage.MEMORY_ACCESS))
    roles.skipped = (Stage.MEMORY_ACCESS,)
    found = run("50", proposers=(Fixed(90),))
    assert (Stage.MEMORY_ACCESS, "fixed") in {
        (trial.stage, trial.candidate.proposer) for trial in found.search.trials
    }
    assert found.client.roles().count(Role.OPTIMIZER) == 1
    assert any("skips memory_access" in note for note in found.notes)


def test_issues_whose_evidence_is_gone_add_nothing(run: Run, roles: Roles) -> None:
    roles.issues = (issue(Stage.FUSION, evidence="NOWHERE"),)
    found = run()
    assert found.search.trials == []


def test_without_an_analysis_the_stage_of_open_ended_changes_is_tried(
    run: Run, roles: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles.issues = Unusable("no list of issues")
    detected = Issue("multi_pass_row", Stage.ALGORITHMIC, 4, "slow", None, Range(1, 0, 1, 4))
    monkeypatch.setattr(
        staged, "analyze", lambda module, context: (detected,) if "100" in module.text else ()
    )
    found = run("50", proposers=(Fixed(80, stage=Stage.ALGORITHMIC),))
    stages = [trial.stage for trial in found.search.trials]
    assert stages == [Stage.ALGORITHMIC, Stage.DISCOVERY]
    assert "the analyzer reports no issues: no list of issues" in found.notes


def test_issues_of_the_analyzer_that_are_left_out_are_noted(
    run: Run, roles: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = analyzer.Analysis(roles.issues, ("issue 2 of the reply is left out: no fix",))
    monkeypatch.setattr(analyzer, "analysis", lambda reply, briefing: given)
    assert "the analyzer: issue 2 of the reply is left out: no fix" in run("90").notes


def test_a_limit_ends_the_calls_and_not_the_search(run: Run, roles: Roles) -> None:
    roles.issues = (issue(Stage.FUSION), issue(Stage.MEMORY_ACCESS))
    spent = BudgetSpentError("the limit on calls does not allow another call", "calls")
    found = run("-1", spent, proposers=(Fixed(90),))
    assert found.client.roles().count(Role.OPTIMIZER) == 2
    assert found.search.current == source(90)
    assert found.notes.count(f"no model is called any more: {spent}") == 1


def test_a_model_that_does_not_answer_is_replaced_by_another_one(run: Run) -> None:
    gone = ModelUnavailableError("small gave no reply")
    found = run(gone, "-1", "50", asked=ensemble(SMALL, OTHER))
    assert found.tree == [("model:other", -1, False), ("model:other", 50, True)]
    assert [request.choice.name for request in optimizer_calls(found)] == [
        "small",
        "other",
        "other",
    ]


def test_when_no_model_answers_the_search_goes_on_without(run: Run) -> None:
    found = run(ModelUnavailableError("small gave no reply"), proposers=(Fixed(90),))
    assert found.tree == [("fixed", 90, True)]
    assert "small is not called any more: small gave no reply" in found.notes


def test_progress_says_stage_try_best_and_cost(run: Run) -> None:
    heard: list[Standing | None] = []

    class Listening(Silent):
        def progress(self, percent: int, message: str, standing: Standing | None = None) -> None:
            heard.append(standing)

    run("-1", "40", proposers=(Fixed(80),), observer=Listening())
    last = [where for where in heard if where is not None and where.attempt][-1]
    assert (last.stage, last.attempt, last.best) == (Stage.MEMORY_ACCESS, 2, 1.25)
    assert last.spent is not None
    assert last.spent.calls >= 2


FUSION = ("20", "-7", "10")
MEMORY = (("nonsense",), ("-1",), ("6", "7", "3"))


def scripted_run(
    store: Store, cascade: ScriptedCascade, client: ScriptedClient, **more: Any
) -> Found:
    with store.run("key", "kernel.py", {}) as (_, ledger):
        asked = ensemble(samples=3, concurrency=1)
        return searched(ledger, client, cascade, asked, Fixed(90), **more)


def by_content(request: CallRequest, number: int) -> str:
    """A reply that follows from the request alone, so that an order of calls does not matter."""
    del number
    if request.role not in (Role.OPTIMIZER, Role.EXTRACTOR):
        return "fine"
    prompt = prompt_of(request)
    if "fusion" in prompt:
        return FUSION[request.sample]
    steps = prompt.partition("TIME")[2].split("\n")[2:-1]
    return MEMORY[len(steps)][request.sample]


@pytest.mark.parametrize("at", ["call", "evaluation"])
def test_killed_anywhere_it_resumes_with_the_same_tree_and_repeats_nothing(
    tmp_path: Path, roles: Roles, at: str
) -> None:
    roles.issues = (issue(Stage.MEMORY_ACCESS), issue(Stage.FUSION))
    whole = scripted_run(
        Store(tmp_path / "whole.sqlite"), ScriptedCascade(), ScriptedClient(by_content)
    )
    for dies_after in range(14):
        is_resumed(Store(tmp_path / f"{dies_after}.sqlite"), whole, dies_after, at)


def is_resumed(store: Store, whole: Found, dies_after: int, at: str) -> None:
    cascade, client = ScriptedCascade(), ScriptedClient(by_content)
    client.dies_after = dies_after if at == "call" else None
    cascade.dies_after = dies_after if at == "evaluation" else None
    with contextlib.suppress(KeyboardInterrupt):
        scripted_run(store, cascade, client)
    again = ScriptedClient(by_content)
    more = ScriptedCascade()
    found = scripted_run(store, more, again)
    assert found.tree == whole.tree
    assert found.search.trials == whole.search.trials
    sent = [request.key() for request in (*client.sent, *again.sent)]
    assert sorted(sent) == sorted(request.key() for request in whole.client.sent)
    assert len(sent) == len(set(sent))
    assert len(cascade.judged + more.judged) == len(set(cascade.judged + more.judged))
