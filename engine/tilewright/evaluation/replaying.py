"""Problems made from captured launches: how each text's kernel is launched, and what differs."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tilewright.captures.relaunch import NoPlan, Plan, plan_of
from tilewright.problems.model import Case, Problem
from tilewright.serialize import dump
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module
from tilewright.worker.messages import parts as messages


def plan_for(problem: Problem, path: str, text: str, case: Case) -> Plan | NoPlan:
    """How ``text`` is launched for a case of captured launches."""
    assert case.launch is not None
    return plan_of(_parsed(problem.text or "", path), _parsed(text, path), case.launch)


def launching(
    problem: Problem, path: str, texts: Mapping[str, str], case: Case
) -> dict[str, messages.Plan] | NoPlan:
    """Launch plans for a job, by file; or why one of them has no plan."""
    told: dict[str, messages.Plan] = {}
    for file, text in texts.items():
        plan = plan_for(problem, path, text, case)
        if isinstance(plan, NoPlan):
            return plan
        told[file] = dump(plan)
    return told


def launch_faults(problem: Problem, path: str, text: str) -> Iterator[str]:
    """Why captured launches cannot be made with a text, each reason once."""
    seen: set[str] = set()
    for case in (*problem.measured_cases(), *problem.check_cases()):
        plan = plan_for(problem, path, text, case) if case.launch else None
        if isinstance(plan, NoPlan) and plan.reason not in seen:
            seen.add(plan.reason)
            yield plan.reason


def concerned(
    problem: Problem, path: str, baseline: str, candidate: str, cases: tuple[Case, ...]
) -> tuple[Case, ...]:
    """The cases whose kernels differ between two texts; times of the others are irrelevant.

    All of them for other problems, and where none differs.
    """
    if not problem.is_captured:
        return cases
    before, after = _parsed(baseline, path), _parsed(candidate, path)
    kept = [
        case
        for case in cases
        if case.launch is None
        or _texts(before, case.launch.kernel) != _texts(after, case.launch.kernel)
        or plan_for(problem, path, baseline, case) != plan_for(problem, path, candidate, case)
    ]
    return tuple(kept) or cases


def _texts(module: Module, name: str) -> frozenset[str]:
    """Of a kernel and the file's functions that it calls, however deep."""
    todo = [kernel for kernel in (module.kernel(name),) if kernel is not None]
    found: dict[str, Kernel] = {}
    while todo:
        kernel = todo.pop()
        if kernel.name not in found:
            found[kernel.name] = kernel
            todo += module.helpers_of(kernel)
    return frozenset(kernel.text for kernel in found.values())


@lru_cache(maxsize=32)
def _parsed(text: str, path: str) -> Module:
    return parse_module(text, path)
