"""The cases of a file with tests below: what these call, with inputs like those that they give."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace

from tilewright.devices.model import JobStatus
from tilewright.evaluation.workbench import TIMEOUT_S, Workbench, explain
from tilewright.problems.dtypes import is_floating, size_bytes
from tilewright.problems.model import Call, Case, Input, Problem, ProblemError
from tilewright.problems.modules import OWN, SMALL
from tilewright.problems.tests_below import parts_of
from tilewright.worker.messages import jobs as messages
from tilewright.worker.messages.jobs import CallsJob

_MOST_BYTES = 16 << 20
_MOST_PROGRAMS = 512
_MOST_OF_FUNCTION = 3
_MOST_SMALL = 6
_MOST_TIMED = 2
_SEED = 20_011
_ROUGH = frozenset({"float16", "bfloat16", "int8", "float8_e4m3fn", "float8_e5m2"})


def with_calls(problem: Problem, bench: Workbench, text: str) -> Problem:
    """The problem with a case for each call of the tests below it that can be replayed.

    Raises:
        ProblemError: there is none, with what became of the tests.
    """
    parts = parts_of(text)
    assert parts is not None
    job: CallsJob = {
        "kind": "calls", "module": str(bench.place(text)), "entry": bench.entry,
        "inputs_from": bench.inputs_from, "device": bench.device.info.id, "seed": _SEED,
        "above": parts.above, "below": parts.below, "line": parts.line - 1,
    }  # fmt: skip
    outcome = bench.run(job, TIMEOUT_S)
    if outcome.status is not JobStatus.OK:
        raise ProblemError(f"its tests cannot be run: {explain(outcome)}", problem.path, parts.line)
    return of_calls(problem, outcome.value["calls"], outcome.value["failure"], parts.line)


def of_calls(problem: Problem, calls: Sequence[messages.Call], failure: str, line: int) -> Problem:
    """The problem with a case for each recorded call that can be replayed.

    Args:
        failure: why the tests ended early; empty where they did not.
        line: where the tests begin.

    Raises:
        ProblemError: there is none, with what became of the tests.
    """
    different = _different([_case(call) for call in calls if not call["failure"]])
    cases = _launching(different)
    if not cases:
        raise ProblemError(_nothing(calls, failure, problem), problem.path, line)
    fitting = [(one, programs) for one, programs in cases if programs <= _MOST_PROGRAMS]
    fitting.sort(key=lambda pair: (pair[1], size_bytes(pair[0])))
    small = _few([one for one, _ in fitting if size_bytes(one) <= _MOST_BYTES])
    timed = sorted((one for one, _ in cases), key=lambda one: -size_bytes(one))[:_MOST_TIMED]
    names = list(dict.fromkeys(case.call.function for case, _ in cases if case.call))
    found = {SMALL: _numbered(small, SMALL)} if small else {}
    return replace(
        problem,
        entry=replace(problem.entry, name=names[0].partition(".")[0]),
        cases={**found, OWN: _numbered(timed, OWN)},
        default_category=OWN,
        warnings=(*problem.warnings, *_notes(names, calls, failure, small)),
    )


def _case(call: messages.Call) -> tuple[Case, int]:
    inputs = tuple(_input(one) for one in call["inputs"])
    dtypes = {one.dtype for one in inputs if one.value is None}
    rtol, atol = (2e-2, 2e-2) if dtypes & _ROUGH else (1e-3, 1e-4)
    made = Call(call["function"], json.dumps(call["arguments"]))
    case = Case(SMALL, 0, {}, None, inputs, rtol=rtol, atol=atol, call=made)
    return case, int(call["programs"])


def _input(told: messages.CallInput) -> Input:
    name = str(told["name"])
    if "value" in told:
        return Input(name, value=told["value"])
    shape, strides = tuple(told["shape"]), tuple(told["strides"])
    made = Input(name, shape, told["dtype"], strides=None if _is_dense(shape, strides) else strides)
    held = told["contents"]
    if held is None or made.dtype == "bool" or "complex" in made.dtype:
        return made
    if is_floating(made.dtype):
        # Numbers of both signs are as good as any others; a sum of squares is not.
        given = held["low"] >= 0 or held["high"] <= 0
        return replace(made, low=held["low"], high=held["high"]) if given else made
    return replace(
        made,
        low=int(held["low"]),
        high=int(held["high"]) + 1,
        values=tuple(held.get("values") or ()),
        ascending=bool(held.get("ascending")),
    )


def _is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def _different(cases: list[tuple[Case, int]]) -> list[tuple[Case, int]]:
    """Each call once, without those of no elements."""
    kept: dict[str, tuple[Case, int]] = {}
    for case, programs in cases:
        shapes = [(one.name, one.shape, one.dtype, one.strides, one.value) for one in case.inputs]
        empty = any(one.value is None and 0 in one.shape for one in case.inputs)
        if not empty:
            kept.setdefault(f"{case.call} {shapes}", (case, programs))
    return list(kept.values())


def _launching(cases: list[tuple[Case, int]]) -> list[tuple[Case, int]]:
    """Those that launch anything; all of them where none does, which running them will say."""
    return [one for one in cases if one[1]] or cases


def _few(cases: Sequence[Case]) -> list[Case]:
    """Some of each function, the first ones."""
    counts: dict[str, int] = {}
    kept = []
    for case in cases:
        name = case.call.function if case.call else ""
        counts[name] = counts.get(name, 0) + 1
        if counts[name] <= _MOST_OF_FUNCTION:
            kept.append(case)
    return kept[:_MOST_SMALL]


def _numbered(cases: Sequence[Case], category: str) -> tuple[Case, ...]:
    return tuple(replace(case, category=category, index=at) for at, case in enumerate(cases))


def _notes(
    names: Sequence[str], calls: Sequence[messages.Call], failure: str, small: Sequence[Case]
) -> list[str]:
    notes = [
        f"run on calls of {', '.join(names)} that its tests make, with inputs made like "
        "theirs; correct means: as the original computes"
    ]
    reasons = dict.fromkeys(f"{c['function']}: {c['failure']}" for c in calls if c["failure"])
    notes += [f"a call of {reason}; it is left out" for reason in reasons]
    notes += [f"the tests ended early: {failure}"] if failure else []
    if not small:
        notes.append("no call of the tests is small enough for the interpreter")
    return notes


def _nothing(calls: Sequence[messages.Call], failure: str, problem: Problem) -> str:
    reasons = list(dict.fromkeys(str(call["failure"]) for call in calls if call["failure"]))
    why = "; ".join([*reasons[:2], *([f"the tests end with {failure}"] if failure else [])])
    if not calls:
        part = "the part above" if problem.has_tests else "the file under test"
        way_out = (
            f"they call no function of {part}; let them call the function that launches the "
            "kernels, or capture launches (`tilewright capture -- python FILE`)"
        )
        return f"its tests give nothing to run: {way_out}" + (f" ({why})" if why else "")
    return f"no call in its tests can be replayed: {why or math.nan}"
