"""The fourth step: does it compute the same as before, on inputs it could not foresee?"""

from collections.abc import Iterator
from typing import Any

from tilewright.devices.model import JobStatus
from tilewright.evaluation.model import StepName, StepResult, StepStatus
from tilewright.evaluation.replaying import concerned
from tilewright.evaluation.workbench import Manifest, Order, Outputs, Workbench, explain
from tilewright.problems.model import Case, Problem

SEEDS = (0, 1)
PATIENCE_S = 15.0
PATIENCE_RATIO = 10.0
ORDER_MATTERS = (
    "the result changes with the order of programs: two programs write the same place, or one "
    "reads what another writes"
)


def cases_for(bench: Workbench) -> tuple[Case, ...]:
    """Cases to check: small ones for the interpreter; on a device the timed ones as well."""
    small = bench.problem.check_cases()
    if not bench.device.info.can_time:
        return small
    return tuple({case.name: case for case in (*small, *bench.problem.measured_cases())}.values())


def check_correctness(bench: Workbench, original: str, candidate: str) -> StepResult:
    """Run original and candidate on the same inputs and compare outside both.

    The oracle is the problem's reference where the original agrees with it, else the original.
    """
    path = str(bench.source_path)
    cases = concerned(bench.problem, path, original, candidate, cases_for(bench))
    if not cases:
        return StepResult(StepName.CORRECTNESS, StepStatus.SKIPPED, _no_case(bench.problem))
    checks: list[dict[str, Any]] = []
    for case, seed, config in _plan(bench, original, candidate, cases):
        fault, check = _check(bench, original, candidate, case, seed, config)
        checks.append(check)
        if fault is not None:
            where = f"{case.name}, autotune configuration {config}" if config else case.name
            return _result(bench, StepStatus.FAILED, f"{where}: {fault}", checks)
    return _result(bench, StepStatus.PASSED, "", checks)


def _no_case(problem: Problem) -> str:
    if problem.is_captured:
        return "; ".join(problem.warnings[1:]) or f"{problem.path} has nothing to run"
    return (
        f"{problem.path} has no small case for the interpreter; add a `ci` variant "
        f"(it has {', '.join(problem.cases)})"
    )


def _plan(
    bench: Workbench, original: str, candidate: str, cases: tuple[Case, ...]
) -> Iterator[tuple[Case, int, int]]:
    """(case, seed, configuration) to check: in the interpreter every configuration once."""
    small = bench.problem.check_cases()
    for case in cases:
        for seed in SEEDS if case in small else SEEDS[:1]:
            yield case, seed, 0
    if candidate != original and not bench.device.info.can_time:
        for config in range(1, bench.outputs(candidate, cases[-1], SEEDS[0]).configs):
            yield cases[-1], SEEDS[0], config


def _result(
    bench: Workbench, status: StepStatus, message: str, checks: list[dict[str, Any]]
) -> StepResult:
    return StepResult(
        StepName.CORRECTNESS,
        status,
        message,
        data={"device": bench.device.info.id, "checks": checks, **_origin(bench.problem)},
    )


def _origin(problem: Problem) -> dict[str, Any]:
    """Where inputs came from that no spec describes."""
    return {"inputs": problem.warnings[0]} if problem.is_captured else {}


def _check(
    bench: Workbench, original: str, candidate: str, case: Case, seed: int, config: int
) -> tuple[str | None, dict[str, Any]]:
    check: dict[str, Any] = {"case": case.name, "seed": seed, "config": config}
    base = bench.outputs(original, case, seed)
    if base.failure is not None:
        return f"the original itself fails: {base.failure}", check
    notes = [f"the original itself {fault}" for _, fault in _strayed(base)]
    expected, check["oracle"], note = _oracle(bench, base, case, seed)
    order, order_note = _order(bench, original, base, case, seed)
    if order is not Order.FORWARD:
        check["order"] = order
    fault = _verdict(bench, candidate, base, expected, (case, seed, config, order), check)
    if fault is not None and order is Order.REVERSED:
        forward = _verdict(bench, candidate, base, expected, (case, seed, config, Order.FORWARD))
        fault = forward or f"{ORDER_MATTERS} (run from the last program to the first: {fault})"
    if any((note, order_note, *notes)):
        check["note"] = "; ".join(filter(None, (note, order_note, *notes)))
    return fault, check


def _verdict(
    bench: Workbench,
    candidate: str,
    base: Outputs,
    expected: Manifest,
    which: tuple[Case, int, int, Order],
    check: dict[str, Any] | None = None,
) -> str | None:
    """What is wrong with one run of the candidate; how far it is off goes into ``check``."""
    case, seed, config, order = which
    check = {} if check is None else check
    actual = bench.outputs(candidate, case, seed, base.state, _patience(base), config, order)
    fault = next(_run_faults(base, actual), None)
    if fault is not None:
        return fault
    if actual.caveats:
        check["caveats"] = list(actual.caveats)
    outcome = bench.compare(expected, actual.manifest, case, (base.tree, actual.tree))
    if outcome.status is not JobStatus.OK:
        return f"the outputs could not be compared: {explain(outcome)}"
    check |= {name: outcome.value.get(name) for name in ("max_abs_error", "max_rel_error")} | {
        "rtol": case.rtol,
        "atol": case.atol,
    }
    return None if outcome.value["equal"] else str(outcome.value["message"])


def _patience(base: Outputs) -> float:
    return PATIENCE_S + PATIENCE_RATIO * base.seconds


def _order(
    bench: Workbench, original: str, base: Outputs, case: Case, seed: int
) -> tuple[Order, str | None]:
    """In which order the candidate's programs run; reversed where the original stands it."""
    if seed != SEEDS[-1] or bench.device.info.target is not None:
        return Order.FORWARD, None
    turned = bench.outputs(original, case, seed, base.state, _patience(base), order=Order.REVERSED)
    if turned.failure is not None:
        told = turned.failure
    else:
        outcome = bench.compare(base.manifest, turned.manifest, case)
        if outcome.status is JobStatus.OK and outcome.value["equal"]:
            return Order.REVERSED, None
        told = outcome.value.get("message") or explain(outcome)
    return Order.FORWARD, f"the original's own result changes with the order of programs: {told}"


def _run_faults(base: Outputs, actual: Outputs) -> Iterator[str]:
    if actual.failure is not None:
        yield f"the candidate failed: {actual.failure}"
        return
    for name, count in base.launches.items():
        if count and not actual.launches.get(name):
            yield f"kernel {name} was launched {count} times by the original and not at all now"
    changed = [name for name in actual.changed_inputs if name not in base.changed_inputs]
    if changed:
        yield f"it overwrites its inputs {', '.join(changed)}, which the original leaves alone"
    for place, fault in _strayed(actual):
        if place not in base.out_of_bounds:
            yield f"it {fault}"


def _strayed(outputs: Outputs) -> Iterator[tuple[str, str]]:
    """What was reached outside of a tensor: (which place, the same with lines and the way out)."""
    for at, place in enumerate(outputs.out_of_bounds):
        lines = outputs.out_of_bounds_lines[at] if at < len(outputs.out_of_bounds_lines) else ()
        where = f" at {', '.join(lines)}" if lines else ""
        access = "load" if place.startswith("reads") else "store"
        yield place, f"{place}{where}: check the mask of the {access}, and its offsets"


def _oracle(
    bench: Workbench, base: Outputs, case: Case, seed: int
) -> tuple[Manifest, str, str | None]:
    reference = bench.problem.reference
    if reference is None:
        return base.manifest, "original", None
    outputs = bench.reference_outputs(reference, case, seed)
    if outputs.failure is not None:
        return base.manifest, "original", f"reference {reference.name}: {outputs.failure}"
    agrees = bench.compare(outputs.manifest, base.manifest, case)
    if agrees.status is JobStatus.OK and agrees.value["equal"]:
        return outputs.manifest, f"reference {reference.name}", None
    told = agrees.value.get("message") if agrees.status is JobStatus.OK else explain(agrees)
    return base.manifest, "original", f"the original disagrees with {reference.name}: {told}"
