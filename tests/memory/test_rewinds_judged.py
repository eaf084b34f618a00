"""Optimization rewind: which sites are judged, and that only measured cost is remembered."""

from itertools import count
from pathlib import Path

import pytest
from memory_entries import evaluation

from tilewright.analysis.model import AnalysisContext
from tilewright.evaluation.model import (
    Evaluation,
    Level,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.memory.model import Origin, Outcome, Provenance
from tilewright.memory.rewinds import Effect, rewound, sites
from tilewright.source import parse_module
from tilewright.targets.registry import parse_target

SOURCE = Path(__file__).parents[2] / "examples" / "matmul.py"
TEXT = SOURCE.read_text()
MODULE = parse_module(TEXT, SOURCE.name)
CONTEXT = AnalysisContext(parse_target("cuda:90"), (3, 9))
FROM = Provenance("/p", "examples/matmul.py", "", "", Origin.MINED)


def test_every_issue_comes_before_a_second_site_of_one() -> None:
    issues = [site.rewind.issue for site in sites(MODULE, CONTEXT)]
    firsts = list(dict.fromkeys(issues))
    assert issues[: len(firsts)] == firsts
    assert {"dtype_float64", "stride_one_runtime"} <= set(firsts)


def test_a_rewind_for_another_chip_is_left_out() -> None:
    issues = {site.rewind.issue for site in sites(MODULE, CONTEXT)}
    assert "missing_grf_mode" not in issues
    intel = AnalysisContext(parse_target("xpu:bmg-g31"), (3, 9))
    assert "missing_grf_mode" in {site.rewind.issue for site in sites(MODULE, intel)}


@pytest.mark.parametrize(
    ("ratio", "effect"),
    [
        (0.8, Effect.SLOWER),
        (0.999, Effect.NONE),  # slower by less than its interval and the noise
        (1.2, Effect.FASTER),
        (None, Effect.REFUSED),
    ],
)
def test_only_what_really_cost_time_is_remembered(ratio: float | None, effect: Effect) -> None:
    def judge(text: str) -> Evaluation:
        return evaluation(TEXT, text, ratio)

    chosen = sites(MODULE, CONTEXT)[:3]
    found = list(rewound(MODULE, CONTEXT, chosen, judge, FROM, "2026-01-01"))
    assert [one.effect for one in found] == [effect] * 3
    assert [one.entry is not None for one in found] == [effect is Effect.SLOWER] * 3


def test_an_entry_is_the_way_back_with_its_conditions() -> None:
    every = sites(MODULE, CONTEXT)
    site = next(one for one in every if one.rewind.issue == "stride_one_runtime")
    (found,) = rewound(
        MODULE, CONTEXT, [site], lambda text: evaluation(TEXT, text, 0.8, 0.02), FROM, "2026-01-01"
    )
    entry = found.entry
    assert entry is not None
    assert entry.outcome is Outcome.HELPED
    assert entry.key == "rewrite:constexpr_stride"
    assert entry.issue == "stride_one_runtime"
    assert entry.measured.ratio == pytest.approx(1 / 0.8)
    assert (entry.measured.low, entry.measured.high) == pytest.approx((1 / 0.82, 1 / 0.78))
    assert entry.source.origin is Origin.MINED
    assert entry.signature.dot
    slow, fast = (
        [line[1:].strip() for line in entry.diff.splitlines() if line.startswith(sign)]
        for sign in "-+"
    )
    assert all(line in site.rewound.text for line in slow)
    assert all(line in TEXT for line in fast)
    assert slow != fast
    assert not entry.private


def test_a_fault_of_the_machine_is_no_verdict() -> None:
    def judge(text: str) -> Evaluation:
        step = StepResult(StepName.SPEED, StepStatus.ERROR, "the clock stopped")
        return Evaluation(text_hash(text), text_hash(TEXT), Level.CORRECT, (step,))

    (found,) = rewound(MODULE, CONTEXT, sites(MODULE, CONTEXT)[:1], judge, FROM)
    assert found.effect is Effect.UNKNOWN
    assert found.reason == "the clock stopped"
    assert found.entry is None


def test_the_good_text_is_judged_once_for_its_figures() -> None:
    calls = count()

    def judge(text: str) -> Evaluation:
        next(calls)
        return evaluation(TEXT, text, 0.8)

    list(rewound(MODULE, CONTEXT, sites(MODULE, CONTEXT)[:2], judge, FROM))
    assert next(calls) == 3
    assert list(rewound(MODULE, CONTEXT, [], judge, FROM)) == []
    assert next(calls) == 4
