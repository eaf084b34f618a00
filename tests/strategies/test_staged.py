"""The staged search over a scripted evaluation: what is kept, what is recorded, how it resumes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from scripted_models import FAULTY, ScriptedCascade, source, time_of

from tilewright.evaluation.model import Candidate, text_hash
from tilewright.harness_fault import HarnessFaultError
from tilewright.knowledge.stages import Stage
from tilewright.store.store import Store
from tilewright.strategies.model import ProposalRequest
from tilewright.strategies.observer import Silent
from tilewright.strategies.staged import StagedSearch


@dataclass
class Fixed:
    """Proposes the same texts whatever it is given."""

    times: tuple[float, ...]
    name: str = "fixed"

    def propose(self, request: ProposalRequest) -> Iterator[Candidate]:
        for us in self.times:
            yield Candidate(source(us), text_hash(request.module.text), self.name, f"{us} us")


def search(store: Store, cascade: ScriptedCascade, *times: float, budget: int = 50) -> StagedSearch:
    with store.run("key", "kernel.py", {}) as (_, ledger):
        found = StagedSearch(cascade, (Fixed(times),), ledger, Silent(), budget)  # type: ignore[arg-type]
        found.run()
    return found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite")


def test_only_what_beats_its_input_is_kept(store: Store) -> None:
    found = search(store, ScriptedCascade(source(100)), 100.5, 80, -1, 80.5, 40)
    assert found.current == source(40)
    told = [(time_of(t.candidate.text), t.kept) for t in found.trials]
    assert told == [(100.5, False), (80, True), (-1, False), (80.5, False), (40, True)]


def test_a_tie_keeps_the_original(store: Store) -> None:
    found = search(store, ScriptedCascade(source(100)), 99.9)
    assert found.current == source(100)
    assert [t.reason for t in found.trials] == ["not faster"]


def test_a_wrong_result_is_rejected_whatever_its_speed(store: Store) -> None:
    found = search(store, ScriptedCascade(source(100)), -0.1)
    assert found.current == source(100)
    assert found.trials[0].reason == "rejected at correctness: output 0 differs"


def test_a_fault_of_ours_is_no_verdict_and_not_on_record(store: Store) -> None:
    cascade = ScriptedCascade(source(100))
    for _ in range(2):
        found = search(store, cascade, FAULTY, 40)
        assert (found.trials[0].kept, found.trials[0].reason) == (False, "a fault of ours")
        assert found.current == source(40)
        assert [fault.message for fault in found.faults] == ["a fault of ours"]
    assert [text for text, _ in cascade.judged].count(source(FAULTY)) == 2
    assert [text for text, _ in cascade.judged].count(source(40)) == 1


def test_three_faults_of_ours_in_a_row_end_the_search(store: Store) -> None:
    cascade = ScriptedCascade(source(100))
    spoiled = [f"TIME = {FAULTY}  # {at}\n" for at in range(4)]
    cascade.judge = lambda text, baseline, *, thorough=True, **_: ScriptedCascade.judge(  # type: ignore[method-assign]
        cascade, source(FAULTY) if text in spoiled else text, baseline, thorough=thorough
    )

    class Spoiled(Fixed):
        def propose(self, request: ProposalRequest) -> Iterator[Candidate]:
            for text in spoiled:
                yield Candidate(text, text_hash(request.module.text), self.name, "spoiled")

    with store.run("key", "kernel.py", {}) as (_, ledger):
        found = StagedSearch(cascade, (Spoiled(()),), ledger, Silent(), 50)  # type: ignore[arg-type]
        with pytest.raises(HarnessFaultError, match="a fault of ours"):
            found.run()
    assert len(found.trials) == 3


def test_every_candidate_is_measured_against_what_is_current(store: Store) -> None:
    cascade = ScriptedCascade(source(100))
    search(store, cascade, 80, 60)
    assert (source(60), source(80)) in cascade.judged
    assert (source(60), source(100)) not in cascade.judged


def test_the_budget_bounds_the_trials(store: Store) -> None:
    found = search(store, ScriptedCascade(source(100)), 90, 80, 70, 60, budget=2)
    assert len(found.trials) == 2


@pytest.mark.parametrize("dies_after", range(6))
def test_killed_anywhere_it_resumes_on_the_same_path_and_repeats_nothing(
    store: Store, dies_after: int
) -> None:
    times = (100.5, 80.0, -1.0, 40.0)
    whole = ScriptedCascade(source(100))
    expected = search(Store(store.path.with_name("other.sqlite")), whole, *times)
    first = ScriptedCascade(source(100), dies_after=dies_after)
    with pytest.raises(KeyboardInterrupt):
        search(store, first, *times)
    second = ScriptedCascade(source(100))
    found = search(store, second, *times)
    assert found.current == expected.current
    assert found.trials == expected.trials
    assert first.judged + second.judged == whole.judged


def test_what_may_be_kept_though_it_is_slower_has_every_check_made(store: Store) -> None:
    cascade = ScriptedCascade(source(100))
    with store.run("key", "kernel.py", {}) as (_, ledger):
        found = StagedSearch(cascade, (Fixed((120.0,)),), ledger, Silent(), 50)  # type: ignore[arg-type]
        found.run()
        assert source(120) not in cascade.whole
        mend = Candidate(source(120), text_hash(source(100)), "mend", "mends a fault")
        assert found._try(mend, Stage.CORRECTNESS)
        assert source(120) in cascade.whole
