"""What prompts say of a run: problem, times, profile, compile table, earlier trials."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_models import Roles, ScriptedCascade, source

from tilewright.analysis.model import AnalysisContext
from tilewright.evaluation.model import Candidate, Cause, text_hash
from tilewright.evaluation.workbench import BrokenOffError
from tilewright.harness_fault import HarnessFaultError
from tilewright.knowledge.stages import Stage
from tilewright.problems.loading import load_problem
from tilewright.source import parse_module
from tilewright.store.ledger import Ledger
from tilewright.store.store import Store
from tilewright.strategies import briefing
from tilewright.strategies.briefing import (
    Briefer,
    Position,
    problem_words,
    profile_words,
    report_words,
    trial_words,
)
from tilewright.strategies.model import Trial
from tilewright.targets.model import CompileMessage, CompileReport, LaunchFacts, Target

EXAMPLES = Path(__file__).parents[2] / "examples"
PROFILE: dict[str, Any] = {
    "kernels": [
        {
            "name": "softmax_kernel",
            "time": {"median_us": 251.0},
            "bottleneck": "memory",
            "facts": [
                {"name": "roof.percent", "value": 51.2, "unit": "%", "source": "datasheet"},
                {"name": "stall.long", "value": 40.0, "unit": "%", "source": "counter"},
            ],
            "findings": [
                {"text": "The row is read three times.", "weight": 0.4, "line": 31},
                {"text": "It runs at 51 % of the roof.", "weight": 2.0, "line": None},
            ],
        }
    ],
    "call": None,
}


def test_a_problem_is_told_with_entry_shapes_types_and_tolerance() -> None:
    words = "\n".join(
        problem_words(load_problem(EXAMPLES / "softmax.yaml", EXAMPLES / "softmax.py"))
    )
    assert "Entry point: function softmax." in words
    assert "Timed: bench-gpu[0]: X float32 [8192 x 8192]" in words
    assert "Checked as well: ci[1]: X float32 [5 x 1500]" in words
    assert "rtol 0.0001, atol 1e-06" in words


def test_a_profile_is_told_heaviest_finding_first() -> None:
    assert list(profile_words(PROFILE)) == [
        "It runs at 51 % of the roof.",
        "The row is read three times. (line 31)",
        "softmax_kernel: 251 us measured.",
        "softmax_kernel: bottleneck memory.",
        "softmax_kernel: roof.percent 51.2 %, datasheet.",
    ]


def test_a_compile_report_is_one_row() -> None:
    launch = LaunchFacts("k", (1,), (), {"num_warps": 8, "num_stages": 2})
    report = CompileReport(
        Target("cuda", "90"), "k", launch, True, registers=64, spill_bytes=0, shared_bytes=None
    )
    assert report_words(report) == (
        "k (num_stages=2, num_warps=8) compiled for cuda:90: 64 registers a thread, "
        "0 bytes spilled a thread."
    )
    failed = replace(report, ok=False, messages=(CompileMessage("out of resources", None),))
    assert report_words(failed).endswith("does not compile for cuda:90: out of resources")


def trial(us: float, *, kept: bool, reason: str = "") -> Trial:
    cascade = ScriptedCascade()
    candidate = Candidate(source(us), text_hash(source(100)), "model:small", f"take {us} us\nmore")
    evaluation = cascade.judge(source(us), source(100))
    return Trial(1, Stage.FUSION, candidate, evaluation, kept, reason or f"at {us} us")


def test_a_trial_is_one_line_of_bounded_length() -> None:
    assert trial_words(trial(50, kept=True)) == "fusion: take 50 us: kept: at 50 us"
    long = trial_words(trial(50, kept=False, reason="because " * 100))
    assert len(long) == 240
    assert long.endswith("...")


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Store(tmp_path / "store.sqlite").run("key", "kernel.py", {}) as (_, found):
        yield found
        found.close()


def told(ledger: Ledger, notes: list[str], text: str, *trials: Trial) -> Any:
    cascade = ScriptedCascade()
    briefer = Briefer(
        cascade.original,
        Path("kernel.py"),
        cascade.bench,
        Target("cuda", "90"),
        ledger,
        notes.append,
    )
    position = Position(parse_module(text), AnalysisContext(), (), trials, None)
    return briefer.briefing(position)


def test_the_time_of_the_present_text_comes_from_the_trial_that_measured_it(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    Roles().install(monkeypatch)
    kept, left = trial(50, kept=True), trial(120, kept=False)
    found = told(ledger, [], source(50), kept, left)
    assert found.facts[0] == "The present text takes 50 us on a GPU (bench-gpu[0])."
    assert (
        told(ledger, [], source(100), kept, left)
        .facts[0]
        .startswith("The present text takes 100 us")
    )
    assert found.schedule == ("fusion: take 50 us: kept: at 50 us",)
    assert [line.split(":")[1] for line in found.tried] == [" take 120 us", " take 50 us"]
    assert found.measured


def test_a_profile_is_made_once_and_one_that_broke_off_is_reported(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def breaks(text: str, *given: object, counters: bool, verify: bool) -> Any:
        made.append(text)
        assert not verify
        raise (
            BrokenOffError(Cause.MACHINE, "the GPU is busy")
            if counters
            else HarnessFaultError("a fault of ours", None)
        )

    monkeypatch.setattr(briefing, "profile_source", breaks)
    notes: list[str] = []
    for _ in range(2):
        told(ledger, notes, source(100))
        told(ledger, notes, source(50))
    assert made == [source(100), source(50)]
    assert notes[:2] == [
        "prompts are without a profile: the GPU is busy",
        "prompts are without a profile: a fault of ours",
    ]
