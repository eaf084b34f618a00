"""Which checks a candidate has to stand: few and telling ones."""

from tilewright.evaluation.checks import FORWARD, REVERSED, Check
from tilewright.problems.model import Case, Problem

SEEDS = (0, 1)


def checks_for(problem: Problem, *, can_time: bool) -> tuple[Check, ...]:
    """Every check of a problem, cheap ones first; none where it has no case to run.

    Args:
        can_time: whether it runs on a device, which takes measured shapes as well and does not
            let anybody choose the order of programs.
    """
    small = problem.check_cases()
    checks = [
        Check(case, seed, order=FORWARD if can_time or seed != SEEDS[-1] else REVERSED)
        for case in small
        for seed in SEEDS
    ]
    if can_time:
        checks += [Check(case, SEEDS[0]) for case in _measured(problem, small)]
    return tuple(checks)


def config_checks(problem: Problem, configs: int) -> tuple[Check, ...]:
    """One check for each further configuration of an autotuned kernel: the interpreter, which
    cannot choose by time, runs them all."""
    cases = problem.check_cases()
    return tuple(Check(cases[-1], SEEDS[0], config=at) for at in range(1, configs) if cases)


def _measured(problem: Problem, small: tuple[Case, ...]) -> tuple[Case, ...]:
    names = {case.name for case in small}
    return tuple(case for case in problem.measured_cases() if case.name not in names)
