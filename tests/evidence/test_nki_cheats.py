"""Cheats in NKI are refused in the simulator, and honest kernels verified."""

from collections.abc import Iterator
from typing import Any

import pytest
from candidates import NKI, NKI_BASES, Candidate, Court, candidates, court_on, refusal, spec_of
from each import sample

from tilewright.devices.opening import open_device
from tilewright.evaluation.cascade import check_structure
from tilewright.evaluation.model import Level, StepStatus
from tilewright.problems.loading import load_problem
from tilewright.source import parse_module

CHEATS, LEGIT = candidates("cheats", NKI), candidates("legit", NKI)
READ = [cheat for cheat in CHEATS if "structure" in cheat.caught_by]
UNREAD = [cheat for cheat in CHEATS if "structure" not in cheat.caught_by]
RUN = [cheat for cheat in READ if set(cheat.caught_by) - {"structure"}]
# One of each base is quick enough for everybody's tests.
FIRST = {cheat.base: cheat for cheat in reversed(UNREAD)}.values()


@pytest.fixture(scope="module")
def nki_court() -> Iterator[Court]:
    device = open_device("neuron-sim")
    with court_on(device) as opened:
        yield opened
    device.close()


def _id(candidate: Candidate) -> str:
    return candidate.name


def _class(cheat: Candidate) -> tuple[tuple[str, ...], str]:
    """What catches a cheat, and what it cheats with."""
    return cheat.caught_by, cheat.kind


def _marked() -> list[Any]:
    """The first ones, and for the slow tests a sample of the others."""
    others = [cheat for cheat in UNREAD if not any(cheat is one for one in FIRST)]
    chosen = sample(others, 16, _class)
    return [*FIRST, *(pytest.param(cheat, marks=pytest.mark.slow) for cheat in chosen)]


def _structure(candidate: Candidate) -> Any:
    source = candidate.original
    return check_structure(
        parse_module(source.read_text(), "original.py"),
        parse_module(candidate.text, "candidate.py"),
        load_problem(spec_of(source), source).entry,
        None,
    )


def test_there_are_enough_of_both() -> None:
    assert len(CHEATS) >= 25
    assert len(LEGIT) >= 25
    assert {one.base for one in (*CHEATS, *LEGIT)} == set(NKI_BASES)
    assert all(one.says and one.caught_by for one in CHEATS)


@pytest.mark.parametrize(
    ("package", "run"),
    [("neuronxcc.nki", "nki.simulate_kernel(kernel, x)"), ("nki", "nki.simulate(kernel)(x)")],
)
def test_a_text_that_runs_its_kernel_itself_is_refused(package: str, run: str) -> None:
    head = f"import {package} as nki\n\n\n@nki.jit\ndef kernel(x):\n    return x\n"
    original = f"{head}\n\ndef host(x):\n    return kernel(x)\n"
    candidate = original.replace("return kernel(x)", f"return {run}")
    found = check_structure(
        parse_module(original, "original.py"), parse_module(candidate, "candidate.py"), None, None
    )
    assert found.status is StepStatus.FAILED
    assert "the harness decides how a kernel is run" in found.message


@pytest.mark.parametrize("cheat", READ, ids=_id)
def test_its_text_gives_it_away(cheat: Candidate) -> None:
    assert _structure(cheat).status is StepStatus.FAILED


@pytest.mark.parametrize("kernel", LEGIT, ids=_id)
def test_an_honest_text_is_not_held_against_it(kernel: Candidate) -> None:
    assert _structure(kernel).message == ""


@pytest.mark.triton
@pytest.mark.parametrize("cheat", _marked(), ids=_id)
def test_what_its_text_hides_shows_in_the_simulator(nki_court: Court, cheat: Candidate) -> None:
    assert nki_court.judge(cheat).level is Level.REJECTED


@pytest.mark.triton
@pytest.mark.slow
@pytest.mark.parametrize("cheat", RUN, ids=_id)
def test_it_is_refused_even_if_nobody_reads_it(nki_court: Court, cheat: Candidate) -> None:
    evaluation = nki_court.judge_unread(cheat)
    assert evaluation.level is Level.REJECTED, refusal(evaluation)


@pytest.mark.triton
@pytest.mark.slow
@pytest.mark.parametrize("kernel", sample(LEGIT, 16, lambda k: k.base), ids=_id)
def test_an_honest_kernel_is_verified(nki_court: Court, kernel: Candidate) -> None:
    evaluation = nki_court.judge(kernel)
    assert evaluation.level is Level.CORRECT, refusal(evaluation)
