"""The fourth step: does it compute the same as before, on inputs it could not foresee?"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilewright.evaluation.checks import Check
from tilewright.evaluation.families import NEEDED, WIDE_INTEGERS, checks_for, free_integers
from tilewright.evaluation.families import SEEDS as SEEDS
from tilewright.evaluation.model import Cause, StepName, StepResult, StepStatus
from tilewright.evaluation.replaying import concerned
from tilewright.evaluation.trial_client import Heard, hear
from tilewright.evaluation.workbench import BrokenOffError, Workbench
from tilewright.harness_fault import HarnessFaultError
from tilewright.problems.model import RAGGED, Case, Problem
from tilewright.problems.nkibench import holds_refused
from tilewright.problems.permissions import (
    FINITE,
    FIXED_LAYOUTS,
    FIXED_SHAPES,
    FORWARD_ONLY,
    permitting_all,
)
from tilewright.problems.scalars import fixed
from tilewright.problems.scaled import work
from tilewright.textfile import UnreadableError

NO_OTHER_SHAPES = (
    'only the shapes of the spec\'s own cases were checked, as allow = ["fixed-shapes"] permits a '
    "candidate to fail at others"
)
_NOT_ASKED = {
    FIXED_LAYOUTS: (
        "only the strides and alignments of the problem's own inputs were checked, as allow = "
        '["fixed-layouts"] permits a candidate to fail at others'
    ),
    FINITE: (
        "inputs with infinities or NaN were not checked, as allow = "
        '["finite-inputs"] permits other results there'
    ),
    FORWARD_ONLY: 'no gradients were compared, as allow = ["forward-only"] permits others',
}

UNJUDGED = (BrokenOffError, HarnessFaultError, UnreadableError)

_SEED_OF_GRADIENTS = 1
_GRADIENTS = "autograd.Function"  # a file with one expects gradients
_FACTS = {
    "offset": "align: 16",
    "strided": "contiguous: true",
    "transposed": "contiguous: true",
    "nonfinite": "finite: true",
}


def cases_for(bench: Workbench) -> tuple[Case, ...]:
    """Cases to check: small ones for the interpreter; on a device the timed ones as well."""
    if not bench.device.info.can_time:
        return bench.problem.interpreted_cases()
    small = bench.problem.check_cases()
    return tuple({case.name: case for case in (*small, *bench.problem.measured_cases())}.values())


def planned_checks(bench: Workbench, original: str, candidate: str) -> tuple[Check, ...]:
    """The checks of the problem that the candidate's changes can matter to."""
    checks = checks_for(bench.problem, can_time=bench.device.info.can_time)
    path = str(bench.source_path)
    cases = tuple({check.case.name: check.case for check in checks}.values())
    kept = {case.name for case in concerned(bench.problem, path, original, candidate, cases)}
    checks = tuple(check for check in checks if check.case.name in kept)
    small = () if FORWARD_ONLY in bench.problem.allow else bench.problem.check_cases()
    if _GRADIENTS not in original or bench.problem.is_captured or not small:
        return checks
    first = Check(small[0], _SEED_OF_GRADIENTS, gradients=NEEDED, required=False)
    return (*(one for one in checks if not one.gradients), first)


def check_correctness(bench: Workbench, original: str, candidate: str) -> StepResult:
    """Have the device's coordinator compare both on the same inputs, outside both.

    The oracle is the problem's reference where the original agrees with it, else the original.
    """
    checks = planned_checks(bench, original, candidate)

    try:
        heard = hear(bench, original, candidate, checks) if checks else None
        return correctness_step(bench, heard)
    except UNJUDGED as error:
        return without_verdict(StepName.CORRECTNESS, error)


def without_verdict(name: StepName, error: Exception) -> StepResult:
    """The result of a step that ended with one of ``UNJUDGED``."""
    if isinstance(error, BrokenOffError):
        data = {"cause": error.cause.value}
        return StepResult(name, StepStatus.ERROR, f"not judged: {error}", data=data)
    if isinstance(error, HarnessFaultError):
        data = {"cause": Cause.HARNESS.value, "report": error.report or ""}
        return StepResult(name, StepStatus.ERROR, str(error), data=data)
    # A text that no file can hold is the candidate's own fault.
    return StepResult(name, StepStatus.FAILED, f"the candidate cannot be run: {error}")


def correctness_step(bench: Workbench, heard: Heard | None, text: str = "") -> StepResult:
    """The step for the coordinator's answer; None: there was no check to make.

    ``text``: of the candidate, for a benchmark's own rule.
    """
    if heard is None:
        return StepResult(StepName.CORRECTNESS, StepStatus.SKIPPED, _no_case(bench.problem))
    status = StepStatus.PASSED if heard.fault is None else StepStatus.FAILED
    unjudged = heard.data.get("unjudged")
    if heard.fault is None and unjudged:
        status = StepStatus.SKIPPED
    data: dict[str, Any] = {
        "device": bench.device.info.id,
        "checks": [dict(check) for check in heard.checks],
        **_origin(bench.problem),
        **_notes(bench, heard),
        **_evidence_of(heard.data),
        **_relied_on(bench.problem, heard.data),
        **_by_own_rule(bench.problem, heard.data, text),
    }
    told = f"not judged here: {unjudged}" if unjudged else ""
    if heard.fault:
        told = f"{heard.fault}{way_out(heard.fault, heard.checks, bench.problem)}"
    return StepResult(StepName.CORRECTNESS, status, told, data=data)


def _by_own_rule(problem: Problem, data: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The verdict of the benchmark itself: what its rule on results and its rule on texts say."""
    rule, found = problem.own_rule, data.get("own_rule")
    if rule is None or found is None:
        return {}
    told = dict(found)
    if holds_refused(rule, text):
        told |= {"passed": False, "message": f"the text holds {rule.refused}"}
    return {"own_rule": told}


def _relied_on(problem: Problem, data: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the project, and facts of the spec, that less was asked for."""
    permitted = list(data.get("permitted") or ())
    if FIXED_SHAPES in problem.allow and problem.ragged is not None:
        permitted.append(NO_OTHER_SHAPES)
    if not problem.is_captured:
        permitted += [told for name, told in _NOT_ASKED.items() if name in problem.allow]
    found = {"permitted": permitted, "facts": list(problem.facts)}
    return {name: texts for name, texts in found.items() if texts}


def _evidence_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence in the coordinator's answer."""
    prepared = data.get("prepared") or {}
    told = {
        "isolation": prepared.get("confinement"),
        "honesty": data.get("honesty"),
        "watched": data.get("watched"),
        "interpreted": data.get("interpreted"),
        "repetition": data.get("repetition"),
        "left_out": data.get("left_out"),
        "seconds": _seconds(data),
    }
    return {name: value for name, value in told.items() if value is not None}


def _seconds(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Where a trial's time went: until it was ready, by process; checks, all of the hearing, by
    question."""
    prepared = data.get("prepared") or {}
    if "heard_s" not in data:
        return None
    told: dict[str, Any] = {
        name: round(float(data.get(name) or 0.0), 4) for name in ("waited_s", "checked_s")
    }
    told["heard_s"] = round(float(data["heard_s"]), 4)
    told["prepared_s"] = round(float(prepared.get("seconds") or 0.0), 4)
    told["ready_s"] = data.get("ready_s") or []
    asked = {what: round(float(took), 4) for what, took in (data.get("spent_s") or {}).items()}
    return {**told, "asked_s": asked}


def _no_case(problem: Problem) -> str:
    if problem.is_captured:
        return "; ".join(problem.warnings[1:]) or f"{problem.path} has nothing to run"
    return (
        f"{problem.path} has no small case for the interpreter; add a `ci` variant "
        f"(it has {', '.join(problem.cases)})"
    )


def _origin(problem: Problem) -> dict[str, Any]:
    """Where inputs came from that no spec describes."""
    return {"inputs": problem.warnings[0]} if problem.is_captured else {}


def _notes(bench: Workbench, heard: Heard) -> dict[str, Any]:
    """What was asked in place of too much, and what was not varied, or not far, in any check."""
    problem = bench.problem
    if problem.is_captured:
        return {}
    kept = problem.ragged.kept if problem.ragged is not None else ()
    notes = [*_scaled(bench), *_fixed(problem), *_integers(problem, heard), *kept]
    return {"notes": notes} if notes else {}


def _scaled(bench: Workbench) -> Iterator[str]:
    """Which small cases were too much for the interpreter, and what was asked instead."""
    if bench.device.info.can_time:
        return
    pairs = zip(bench.problem.check_cases(), bench.problem.interpreted, strict=False)
    for case, small in pairs:
        if case.dims != small.dims:
            changed = [f"{n}={v}" for n, v in small.dims.items() if v != case.dims[n]]
            yield (
                f"{case.name} is too much for the interpreter ({work(case):.2g} operations): it "
                f"was checked at {', '.join(changed)}"
            )


def _integers(problem: Problem, heard: Heard) -> list[str]:
    """Which integers were drawn for inputs without a range."""
    cases = (case for several in problem.cases.values() for case in several)
    names = dict.fromkeys(name for case in cases for name, _ in free_integers(case))
    if not names:
        return []
    asked = [
        check["values"]
        for check in heard.checks
        if check.get("values") in WIDE_INTEGERS and not check.get("skipped")
    ]
    drawn = {
        "wider_integers": "up to 2^28 of either sign, within their type's range, in one check",
        "wide_integers": "up to 1000 of either sign, within their type's range, in one check",
    }
    told = f"{drawn[asked[0]]}, and from 0 to 7 in the others" if asked else "from 0 to 7 alone"
    which = "integers of" if len(names) == 1 else "integers of each of"
    said = f"{which} {', '.join(names)} were drawn {told}"
    return [f"{said}; a `range` in the spec states their values"]


def _fixed(problem: Problem) -> list[str]:
    """Numbers that were the same in every check: a kernel could have them written into it."""
    cases = (case for several in problem.cases.values() for case in several)
    return [
        f"{name} was {value} in every check; a `range` in the spec lets it vary"
        for name, value in fixed(cases).items()
    ]


def way_out(fault: str, checks: Sequence[Mapping[str, Any]], problem: Problem) -> str:
    """What else may be done about a fault of a candidate's last check; empty where that was an
    ordinary one, or the fault is another's."""
    check = checks[-1] if checks else {}
    if not fault.startswith(str(check.get("name"))):
        return ""
    layout, values = str(check.get("layout")), str(check.get("values"))
    facts = [_FACTS[one] for one in (layout, values) if one in _FACTS]
    is_ragged = f"-{RAGGED}[" in str(check.get("case"))
    told = ""
    if _has_spec(problem):
        told = (
            f"; if inputs are never so, state `{'`, `'.join(facts)}` in the spec" if facts else ""
        )
        if is_ragged:
            told += "; if extents are always multiples of a number, state `multiples` in the spec"
    settings = {
        FIXED_LAYOUTS: layout in _FACTS,
        FINITE: values in _FACTS,
        FIXED_SHAPES: is_ragged,
        FORWARD_ONLY: bool(check.get("gradients")),
    }
    return told + permitting_all(name for name, would_do in settings.items() if would_do)


def _has_spec(problem: Problem) -> bool:
    """Whether there is a spec to state facts in: a module that makes its own inputs has none."""
    return not any(one.inputs_from_module for cases in problem.cases.values() for one in cases)
