"""The search for tilings: lists from quick looks at each case, their neighbours, their grades."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.evaluation.model import (
    Evaluation,
    Level,
    Speedup,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.evaluation.screening import Kept, Screened
from tilewright.evaluation.workbench import Capture
from tilewright.problems.loading import load_problem
from tilewright.rewrites.tilings import tiling_in
from tilewright.search.node import Idea, IdeaKind, Node, Slot, State
from tilewright.strategies.grades import CaseGrader
from tilewright.strategies.ideas import tilings
from tilewright.targets.model import ArgumentFacts, LaunchFacts
from tilewright.targets.registry import parse_target

EXAMPLES = Path(__file__).parents[2] / "examples"
MATMUL = (EXAMPLES / "matmul.py").read_text("utf-8")
SHAPES = ({"M": 64, "N": 4096, "K": 4096}, {"M": 4096, "N": 4096, "K": 4096})
TARGET = parse_target("cuda:90")
NOTHING = Evaluation("", "", Level.CORRECT, ())


def node(text: str) -> Node:
    name = text_hash(text)
    return Node(name, text, None, None, "0", 0, 0, NOTHING, 0.0, 0.0, (0,), State.ALIVE, True)


class Ledger:
    """Works each unit once, and counts."""

    def __init__(self) -> None:
        self.units: dict[str, Any] = {}

    def once(self, kind: str, key: str, about: object, work: Callable[[], Any]) -> Any:
        del kind, about
        if key not in self.units:
            self.units[key] = work()
        return self.units[key]


class Bench:
    """Two cases of a product; what launches it captures follows from the case."""

    def __init__(self, *shapes: Mapping[str, int]) -> None:
        problem = load_problem(EXAMPLES / "matmul.yaml", EXAMPLES / "matmul.py")
        (case,) = problem.measured_cases()
        self.cases = tuple(
            replace(case, index=at, dims=dict(shape)) for at, shape in enumerate(shapes)
        )
        self.problem = SimpleNamespace(measured_cases=lambda: self.cases)
        self.source_path = EXAMPLES / "matmul.py"
        self.device = SimpleNamespace()

    def on_device(self, device: object) -> "Bench":
        return self

    def capture(self, text: str, case: Any) -> Capture:
        dims = case.dims
        tensors = {"a_ptr": ("M", "K"), "b_ptr": ("K", "N"), "c_ptr": ("M", "N")}
        arguments = [
            ArgumentFacts(
                name, "tensor", "*fp16", None, tuple(dims[d] for d in of), (dims[of[1]], 1)
            )
            for name, of in tensors.items()
        ]
        arguments += [ArgumentFacts(name, "int", "i32", dims[name]) for name in ("M", "N", "K")]
        arguments += [ArgumentFacts(f"BLOCK_{x}", "constexpr", "constexpr", 32) for x in "MNK"]
        return Capture((LaunchFacts("matmul_kernel", (1, 1), tuple(arguments)),))


def small_tiles_win_on_few_rows(text: str, case: Any) -> float:
    """Microseconds: tiles of 64 rows or fewer on the case of 64, of 128 on the other."""
    rows = int(text.partition("BLOCK_M=")[2].partition(",")[0])
    wanted = 64 if case.dims["M"] == 64 else 128
    return 100.0 if rows == wanted else 130.0


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[tilings.Tilings, list[str]]]:
    """A source on a bench whose times a function gives."""

    def made(
        times: Callable[[str, Any], float | None], *shapes: Mapping[str, int]
    ) -> tuple[tilings.Tilings, list[str]]:
        def screen(bench: Any, text: str, case: Any, own: str, kept: Kept) -> Screened:
            return Screened(text_hash(text), times(text, case))

        monkeypatch.setattr(tilings, "screen", screen)
        monkeypatch.setattr(tilings, "kept_results", lambda *given: Kept(None))
        notes: list[str] = []
        bench: Any = Bench(*(shapes or SHAPES))
        ledger: Any = Ledger()
        return tilings.Tilings(bench, ledger, TARGET, notes.append), notes

    return made


def test_the_first_idea_is_the_list_of_what_wins_on_each_case(source: Any) -> None:
    found, notes = source(small_tiles_win_on_few_rows)
    by_rows, single = found.ideas(node(MATMUL), 9, Random(0))
    assert notes == []
    tiling = tiling_in(by_rows.candidate.text, "matmul_kernel")
    assert tiling is not None
    assert tiling.extents == ("M",)
    assert [tiling.choice(shape)["BLOCK_M"] for shape in SHAPES] == [64, 128]
    assert tiling_in(single.candidate.text, "matmul_kernel") is None
    assert by_rows.id.startswith("tiling:by M")


def test_where_one_setting_wins_everywhere_there_is_no_list(source: Any) -> None:
    def times(text: str, case: Any) -> float:
        return 90.0 if "BLOCK_M=128" in text else 100.0

    found, _ = source(times)
    (only,) = found.ideas(node(MATMUL), 9, Random(0))
    assert "BLOCK_M=128" in only.candidate.text
    assert "tiling" not in only.candidate.text


def test_a_text_with_a_list_gets_its_neighbours(source: Any) -> None:
    found, _ = source(small_tiles_win_on_few_rows)
    first = found.ideas(node(MATMUL), 9, Random(0))[0]
    text = first.candidate.text
    present = tiling_in(text, "matmul_kernel")
    assert present is not None
    steps = found.ideas(node(text), 99, Random(0))
    assert len(steps) > 8
    for step in steps:
        near = tiling_in(step.candidate.text, "matmul_kernel")
        assert near is not None
        changed = [
            (name, choice[name], other[name])
            for choice, other in zip(present.choices, near.choices, strict=True)
            for name in choice
            if choice[name] != other[name]
        ]
        ((name, before, after),) = changed
        assert after in (
            (before - 1, before + 1) if name == "num_stages" else (before // 2, before * 2)
        )


def test_what_does_not_run_on_a_case_is_no_single_setting(source: Any) -> None:
    found, notes = source(lambda text, case: None)
    assert found.ideas(node(MATMUL), 9, Random(0)) == ()
    assert notes[-1] == "matmul_kernel has no tiling: no setting runs on every case"
    assert "quick looks gave no time (the first: bench-gpu" in notes[0]


def judged(*ratios: float) -> Evaluation:
    cases = [
        {"case": f"case {n}", "value": ratio, "low": ratio * 0.99, "high": ratio * 1.01}
        for n, ratio in enumerate(ratios)
    ]
    faster = min(ratios) > 1.02
    worst = min(ratios)
    speedup = Speedup(worst, worst, worst, 0.99, 0.0, 1.0, 1.0 / worst, "b", "gpu", "c", 9)
    status = StepStatus.PASSED if faster else StepStatus.FAILED
    step = StepResult(StepName.SPEED, status, "", data={"cases": cases})
    return Evaluation("a", "b", Level.FASTER if faster else Level.CORRECT, (step,), speedup)


SLOT = Slot(1, 1, node("parent"), Idea("tiling:x", "x", IdeaKind.LAUNCH))


def test_the_geometric_mean_of_all_cases_is_the_grade() -> None:
    grade = CaseGrader().grade(SLOT, "", judged(2.0, 1.1))
    assert grade.log_speed == pytest.approx(math.log(2.0 * 1.1) / 2)
    assert grade.half_width == pytest.approx(0.01 / math.sqrt(2), rel=0.01)
    assert (grade.parent, grade.may_return) == (True, True)


def test_a_case_without_gain_may_be_a_parent_and_is_not_returned() -> None:
    grade = CaseGrader().grade(SLOT, "", judged(1.5, 0.99))
    assert (grade.parent, grade.may_return) == (True, False)


def test_a_case_that_loses_more_than_three_percent_ends_it() -> None:
    grade = CaseGrader().grade(SLOT, "", judged(3.0, 0.96))
    assert (grade.parent, grade.may_return) == (False, False)
    assert grade.reason == "on case 1 it loses 4 %"


def test_the_record_alone_gives_the_same_ideas(
    source: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay has no device to capture launches with or to look at settings on."""
    found, notes = source(small_tiles_win_on_few_rows)
    ideas = found.ideas(node(MATMUL), 9, Random(0))

    def refuse(*given: object) -> Any:
        raise AssertionError("a device was asked")

    bench: Any = Bench(*SHAPES)
    monkeypatch.setattr(bench, "capture", refuse)
    monkeypatch.setattr(tilings, "kept_results", refuse)
    monkeypatch.setattr(tilings, "screen", refuse)
    again = tilings.Tilings(bench, found._ledger, TARGET, notes.append)
    assert again.ideas(node(MATMUL), 9, Random(0)) == ideas
