"""Every honest kernel, however unusual, is accepted by the cascade that refuses the cheats."""

import pytest
from candidates import BASES, Candidate, Court, candidates, refusal, spec_of
from each import sample

from tilewright.evaluation.model import Level
from tilewright.evaluation.rules.comparison import rule_verdict
from tilewright.problems.loading import load_problem
from tilewright.source import parse_module

LEGIT = candidates("legit")


MODULES = {"attention", "batchnorm", "depthwise", "dequant", "linear", "lookup", "norm"}


def _is_judged_here(kernel: Candidate) -> bool:
    """Of modules the first of a base, and what needs a permission: a judgement takes seconds.
    ``judge_all.py`` judges the others, and ``results`` has what came of it."""
    first = next(one for one in LEGIT if one.base == kernel.base)
    is_short = kernel.base not in MODULES or kernel is first or bool(kernel.allow)
    return is_short and not kernel.needs_gpu


def _id(candidate: Candidate) -> str:
    return candidate.name


def test_there_are_at_least_twenty_five() -> None:
    assert len(LEGIT) >= 25
    assert all(kernel.says for kernel in LEGIT)
    assert {kernel.base for kernel in LEGIT} <= set(BASES)


@pytest.mark.parametrize("kernel", LEGIT, ids=_id)
def test_its_text_is_not_held_against_it(kernel: Candidate) -> None:
    source = kernel.original
    problem = load_problem(spec_of(source), source)
    verdict = rule_verdict(
        parse_module(source.read_text(), "original.py"),
        parse_module(kernel.text, "candidate.py"),
        problem.entry,
        kernel.allow,
    )
    assert verdict.faults == ()


@pytest.mark.parametrize("kernel", [kernel for kernel in LEGIT if kernel.allow], ids=_id)
def test_what_it_needs_to_be_permitted_is_named(kernel: Candidate) -> None:
    source = kernel.original
    problem = load_problem(spec_of(source), source)
    verdict = rule_verdict(
        parse_module(source.read_text(), "original.py"),
        parse_module(kernel.text, "candidate.py"),
        problem.entry,
    )
    assert verdict.faults
    for name in kernel.allow:
        assert all(f'allow = ["{name}"]' in fault for fault in verdict.faults)


@pytest.mark.triton
@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel",
    sample([k for k in LEGIT if _is_judged_here(k)], 32, lambda k: (k.base, k.allow)),
    ids=_id,
)
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
