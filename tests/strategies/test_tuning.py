"""The launch tuner over scripted screenings: what it proposes, and that it repeats nothing."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.analysis.model import AnalysisContext
from tilewright.devices.model import JobOutcome, JobStatus
from tilewright.devices.pool import DevicePool
from tilewright.evaluation.model import text_hash
from tilewright.evaluation.screening import Kept, Screened
from tilewright.knowledge.stages import Stage
from tilewright.source import parse_module
from tilewright.store.ledger import Ledger
from tilewright.store.store import Store
from tilewright.strategies import tuning
from tilewright.strategies.model import ProposalRequest
from tilewright.strategies.observer import Silent
from tilewright.strategies.optimize import _proposers
from tilewright.targets.model import ArgumentFacts, LaunchFacts
from tilewright.targets.registry import parse_target

EXAMPLE = Path(__file__).parents[2] / "examples" / "matmul.py"
CUDA = parse_target("cuda:90")


def launch() -> LaunchFacts:
    tensors = [ArgumentFacts(n, "tensor", "*fp16") for n in ("a_ptr", "b_ptr", "c_ptr")]
    sizes = [ArgumentFacts(n, "int", "i32", 4096) for n in ("M", "N", "K")]
    blocks = [ArgumentFacts(f"BLOCK_{n}", "constexpr", "constexpr", 32) for n in "MNK"]
    return LaunchFacts("matmul_kernel", (128, 128), (*tensors, *sizes, *blocks))


def us_of(text: str) -> float:
    """Tall tiles are fast here, and one stage more is a little better still."""
    module = parse_module(text)
    (call,) = module.launches_of("matmul_kernel")
    named = {**call.arguments, **call.options}
    value = {name: getattr(node, "value", 0) or 0 for name, node in named.items()}
    return 1e6 / (value["BLOCK_M"] * 4 + value["BLOCK_N"]) - 10 * value.get("num_stages", 3)


@pytest.fixture
def screened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    texts: list[str] = []

    def screen(bench: Any, text: str, case: object, own: str, kept: Kept) -> Screened:
        texts.append(text)
        bench.device.run({"text": text_hash(text)}, 600)
        return Screened(text_hash(text), us_of(text))

    def prune(bench: object, text: str, case: object, target: object) -> str | None:
        return "spills 4096 bytes a thread" if "BLOCK_N=256" in text else None

    monkeypatch.setattr(tuning, "kept_results", lambda bench, own, case: Kept({"own": own}))
    monkeypatch.setattr(tuning, "screen", screen)
    monkeypatch.setattr(tuning, "prune", prune)
    return texts


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Store(tmp_path / "store.sqlite").run("key", "matmul.py", {}) as (_, found):
        yield found


class Gpu:
    """Keeps the jobs it is given; its first configuration lasts until ``others`` have one too."""

    def __init__(self, number: int, others: threading.Barrier | None = None) -> None:
        self.info = SimpleNamespace(id=f"cuda:{number}", name="a GPU", target=CUDA)
        self.jobs: list[Any] = []
        self._others = others

    def run(self, job: Any, timeout_s: float) -> JobOutcome:
        self.jobs.append(job)
        configurations = [one for one in self.jobs if one["text"] != text_hash(EXAMPLE.read_text())]
        if self._others is not None and len(configurations) == 1 and job in configurations:
            self._others.wait(timeout_s)
        return JobOutcome(JobStatus.OK, {})


def bench_on(device: Any) -> Any:
    problem = SimpleNamespace(measured_cases=lambda: (None,))
    return SimpleNamespace(problem=problem, device=device, on_device=bench_on)


def tuner(
    ledger: Ledger, notes: list[str], budget: int = 60, device: Any = None
) -> tuning.LaunchTuner:
    bench = bench_on(device or Gpu(0))
    return tuning.LaunchTuner(bench, ledger, CUDA, budget, Silent(), notes.append)


def request(text: str) -> ProposalRequest:
    module = parse_module(text, "matmul.py")
    return ProposalRequest(module, (), Stage.AUTOTUNING, AnalysisContext(CUDA, None, (launch(),)))


def test_the_fastest_come_first_and_all_beat_the_present_one(
    screened: list[str], ledger: Ledger
) -> None:
    text = EXAMPLE.read_text()
    best = list(tuner(ledger, []).propose(request(text)))
    times = [us_of(candidate.text) for candidate in best]
    assert len(best) == tuning.FINALISTS
    assert times == sorted(times)
    assert times[-1] < us_of(text)
    assert times[0] == min(map(us_of, screened))
    assert all(candidate.promise for candidate in best)
    promised = [candidate.promise.gain for candidate in best if candidate.promise]
    assert promised == pytest.approx([us_of(text) / us for us in times])


def test_what_the_compiler_rules_out_is_never_timed(screened: list[str], ledger: Ledger) -> None:
    notes: list[str] = []
    list(tuner(ledger, notes).propose(request(EXAMPLE.read_text())))
    assert not any("BLOCK_N=256" in text for text in screened)
    assert any("ruled out" in note for note in notes)


def test_no_configuration_is_screened_twice_and_the_budget_holds(
    screened: list[str], ledger: Ledger
) -> None:
    list(tuner(ledger, [], budget=20).propose(request(EXAMPLE.read_text())))
    assert len(screened) == len(set(screened)) <= 20


def test_several_gpus_screen_side_by_side_and_find_the_same(
    screened: list[str], ledger: Ledger, tmp_path: Path
) -> None:
    text = EXAMPLE.read_text()
    on_one = list(tuner(ledger, []).propose(request(text)))
    count = len(screened)
    meeting = threading.Barrier(3)
    gpus: Any = [Gpu(number, meeting) for number in range(3)]
    with Store(tmp_path / "other.sqlite").run("key", "matmul.py", {}) as (_, other):
        found = list(tuner(other, [], device=DevicePool(gpus)).propose(request(text)))
    assert found == on_one
    jobs = [job["text"] for gpu in gpus for job in gpu.jobs]
    assert sorted(jobs) == sorted(map(text_hash, screened[:count]))
    assert not meeting.broken


def test_a_resumed_run_answers_from_the_record(screened: list[str], ledger: Ledger) -> None:
    text = EXAMPLE.read_text()
    first = list(tuner(ledger, []).propose(request(text)))
    count = len(screened)
    assert list(tuner(ledger, []).propose(request(text))) == first
    assert len(screened) == count


def test_once_one_is_kept_the_other_finalists_are_offered_again(
    screened: list[str], ledger: Ledger
) -> None:
    asked = tuner(ledger, [])
    best = list(asked.propose(request(EXAMPLE.read_text())))
    count = len(screened)
    again = list(asked.propose(request(best[1].text)))
    assert [one.text for one in again] == [one.text for one in best]
    assert all(one.promise for one in again)
    gains = [one.promise.gain for one in again if one.promise]
    kept = us_of(best[1].text)  # what they have to beat by now
    assert gains == pytest.approx([kept / us_of(one.text) for one in best])
    assert list(asked.propose(request(best[0].text + "\n# edited\n"))) == []
    assert len(screened) == count


def test_other_stages_are_none_of_its_business(screened: list[str], ledger: Ledger) -> None:
    module = parse_module(EXAMPLE.read_text(), "matmul.py")
    other = ProposalRequest(module, (), Stage.DTYPE_FIX, AnalysisContext(CUDA, None, (launch(),)))
    assert list(tuner(ledger, []).propose(other)) == []
    assert screened == []


def test_what_differs_is_discarded_before_it_costs_a_trial(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []

    def screen(bench: Any, text: str, case: object, own: str, kept: Kept) -> Screened:
        assert kept.results == {"own": own}
        if "BLOCK_N=32" not in text:  # those who compute less are faster
            return Screened(text_hash(text), None, "output: 9 of 10 elements differ", differs=True)
        return Screened(text_hash(text), us_of(text))

    monkeypatch.setattr(tuning, "prune", lambda *given: None)
    monkeypatch.setattr(tuning, "kept_results", lambda bench, own, case: Kept({"own": own}))
    monkeypatch.setattr(tuning, "screen", screen)
    best = list(tuner(ledger, notes).propose(request(EXAMPLE.read_text())))
    assert all("BLOCK_N=32" in candidate.text for candidate in best)
    (told,) = (note for note in notes if "screened" in note)
    assert "discarded because their results differ" in told
    assert "(the first: output: 9 of 10 elements differ)" in told


def test_results_that_change_by_themselves_discard_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []

    def screen(bench: Any, text: str, case: object, own: str, kept: Kept) -> Screened:
        if kept.results is not None:
            return Screened(text_hash(text), None, "output: all differ", differs=True)
        return Screened(text_hash(text), us_of(text))

    monkeypatch.setattr(tuning, "prune", lambda *given: None)
    monkeypatch.setattr(tuning, "kept_results", lambda bench, own, case: Kept({"own": own}))
    monkeypatch.setattr(tuning, "screen", screen)
    best = list(tuner(ledger, notes).propose(request(EXAMPLE.read_text())))
    assert len(best) == tuning.FINALISTS
    assert all(one.promise for one in best), "the text as it stands is timed all the same"
    assert any("they change from call to call" in note for note in notes)
    assert not any("discarded" in note for note in notes)


@pytest.mark.parametrize("steady", ["steady", "unsteady", "unknown"])
def test_a_replay_offers_and_notes_the_same_and_asks_no_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steady: str
) -> None:
    def screen(bench: Any, text: str, case: object, own: str, kept: Kept) -> Screened:
        if kept.results is not None and steady == "unsteady":
            return Screened(text_hash(text), None, "output: all differ", differs=True)
        return Screened(text_hash(text), us_of(text))

    def refuse(*given: object) -> Any:
        raise AssertionError("a replay asks no device")

    results = Kept(None, "it ran out of memory") if steady == "unknown" else Kept({})
    monkeypatch.setattr(tuning, "prune", lambda *given: None)
    monkeypatch.setattr(tuning, "kept_results", lambda *given: results)
    monkeypatch.setattr(tuning, "screen", screen)
    store = Store(tmp_path / "store.sqlite")
    said: list[list[str]] = [[], []]
    with store.run("key", "matmul.py", {}) as (run, ledger):
        found = list(tuner(ledger, said[0], 12).propose(request(EXAMPLE.read_text())))
    for name in ("prune", "kept_results", "screen"):
        monkeypatch.setattr(tuning, name, refuse)
    recorded = store.records.ledger(run.id)
    assert list(tuner(recorded, said[1], 12).propose(request(EXAMPLE.read_text()))) == found != []
    assert said[1] == said[0]
    assert any("not compared" in note for note in said[0]) is (steady != "steady")


def test_a_chip_is_not_tuned_for_on_that_of_another_vendor() -> None:
    def names(target: str) -> tuple[list[str], list[str]]:
        info = SimpleNamespace(can_time=True, name="NVIDIA H200", target=CUDA)
        bench: Any = SimpleNamespace(device=SimpleNamespace(info=info))
        asked: Any = SimpleNamespace(target=parse_target(target), budget=10)
        notes: list[str] = []
        ledger: Any = None
        return [one.name for one in _proposers(bench, ledger, asked, Silent(), notes, None)], notes

    assert names("cuda:100") == (["rewrite", "tuner:launch"], [])
    proposers, notes = names("xpu:bmg-g31")
    assert "tuner:launch" not in proposers
    assert notes == ["launch configurations are not tuned: NVIDIA H200 cannot time xpu:bmg-g31"]
