"""Every cheat is refused, and by more than the reading of its text where its docstring says so."""

from typing import Any

import pytest
from candidates import DEFENCES, Candidate, Court, candidates, refusal, spec_of
from each import sample

from tilewright.evaluation.cascade import check_structure
from tilewright.evaluation.model import Level, StepName, StepStatus
from tilewright.problems.loading import load_problem
from tilewright.source import parse_module

CHEATS = candidates("cheats")
KINDS = {
    "bypass", "replay", "memory", "numerics", "specialisation", "concurrency", "timing", "contract",
}  # fmt: skip
READ = [cheat for cheat in CHEATS if "structure" in cheat.caught_by]
UNREAD = [cheat for cheat in CHEATS if "structure" not in cheat.caught_by and not cheat.needs_gpu]
RUN = [cheat for cheat in READ if set(cheat.caught_by) - {"structure"} and not cheat.needs_gpu]


# The fast tests run one cheat for each defence.
FIRST = {cheat.caught_by: cheat for cheat in reversed(UNREAD)}.values()


def _class(cheat: Candidate) -> tuple[tuple[str, ...], str]:
    """What catches a cheat, and what it cheats with."""
    return cheat.caught_by, cheat.kind


def _marked() -> list[Any]:
    """The first ones, and for the slow tests a sample of the others."""
    others = [cheat for cheat in UNREAD if not any(cheat is one for one in FIRST)]
    chosen = sample(others, 32, _class)
    return [*FIRST, *(pytest.param(cheat, marks=pytest.mark.slow) for cheat in chosen)]


def _id(candidate: Candidate) -> str:
    return candidate.name


def test_there_are_at_least_forty_of_every_kind() -> None:
    assert len(CHEATS) >= 40
    assert {cheat.kind for cheat in CHEATS} == KINDS
    assert all(cheat.says and cheat.caught_by for cheat in CHEATS)
    assert set(DEFENCES) >= {by for cheat in CHEATS for by in cheat.caught_by}


@pytest.mark.parametrize("cheat", READ, ids=_id)
def test_its_text_gives_it_away(cheat: Candidate) -> None:
    source = cheat.original
    problem = load_problem(spec_of(source), source)
    checked = check_structure(
        parse_module(source.read_text(), "original.py"),
        parse_module(cheat.text, "candidate.py"),
        problem.entry,
        None,
        allow=cheat.allow,
    )
    assert checked.status is StepStatus.FAILED


@pytest.mark.triton
@pytest.mark.parametrize("cheat", _marked(), ids=_id)
def test_what_its_text_hides_shows_when_it_runs(court: Court, cheat: Candidate) -> None:
    evaluation = court.judge(cheat)
    assert evaluation.level is Level.REJECTED
    assert evaluation.failed is not None
    assert evaluation.failed.step is StepName.CORRECTNESS


@pytest.mark.triton
@pytest.mark.slow
@pytest.mark.parametrize("cheat", sample(RUN, 32, _class), ids=_id)
def test_it_is_refused_even_if_nobody_reads_it(court: Court, cheat: Candidate) -> None:
    evaluation = court.judge_unread(cheat)
    assert evaluation.level is Level.REJECTED, refusal(evaluation)


@pytest.mark.gpu
@pytest.mark.triton
@pytest.mark.slow
@pytest.mark.parametrize("cheat", CHEATS, ids=_id)
def test_it_is_refused_on_a_device(device_court: Court, cheat: Candidate) -> None:
    assert device_court.judge(cheat).level is Level.REJECTED
