"""Every honest kernel, however unusual, is accepted by the cascade that refuses the cheats."""

import pytest
from candidates import BASES, Candidate, Court, candidates, refusal

from tilewright.evaluation.model import Level
from tilewright.evaluation.rules import held_against
from tilewright.problems import load_problem
from tilewright.source import parse_module

LEGIT = candidates("legit")


def _id(candidate: Candidate) -> str:
    return candidate.name


def test_there_are_at_least_twenty_five() -> None:
    assert len(LEGIT) >= 25
    assert all(kernel.says for kernel in LEGIT)
    assert {kernel.base for kernel in LEGIT} <= set(BASES)


@pytest.mark.parametrize("kernel", LEGIT, ids=_id)
def test_its_text_is_not_held_against_it(kernel: Candidate) -> None:
    source = kernel.path.parents[1] / "bases" / kernel.base / "original.py"
    problem = load_problem(source.with_name(f"{kernel.base}.yaml"), source)
    verdict = held_against(
        parse_module(source.read_text(), "original.py"),
        parse_module(kernel.text, "candidate.py"),
        problem.entry,
    )
    assert verdict.faults == ()


@pytest.mark.triton
@pytest.mark.slow
@pytest.mark.parametrize("kernel", [k for k in LEGIT if not k.needs_gpu], ids=_id)
def test_it_is_verified(court: Court, kernel: Candidate) -> None:
    evaluation = court.judge(kernel)
    assert evaluation.level is Level.CORRECT, refusal(evaluation)


@pytest.mark.gpu
@pytest.mark.triton
@pytest.mark.slow
@pytest.mark.parametrize("kernel", LEGIT, ids=_id)
def test_it_is_verified_on_a_device(device_court: Court, kernel: Candidate) -> None:
    evaluation = device_court.judge(kernel)
    assert evaluation.level in (Level.CORRECT, Level.FASTER), refusal(evaluation)
