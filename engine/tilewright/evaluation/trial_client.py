"""One candidate before the device's judge: what it is asked, and what came of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tilewright.captures import NoPlan
from tilewright.devices.model import INTERPRETER, JobOutcome, JobStatus
from tilewright.evaluation import honesty, permissions
from tilewright.evaluation.checks import Check
from tilewright.evaluation.families import SEEDS, simpler, watched_for
from tilewright.evaluation.model import Cause
from tilewright.evaluation.replaying import launching
from tilewright.evaluation.workbench import BrokenOffError, Workbench, explain
from tilewright.problems.model import Case
from tilewright.serialize import dump

TIMEOUT_S = 900.0
# A judge speaks against a candidate in its value alone; other ends of a trial are not its.
_CAUSES = {
    JobStatus.ERROR: Cause.ORIGINAL,
    JobStatus.OUT_OF_MEMORY: Cause.MACHINE,
    JobStatus.TIMEOUT: Cause.MACHINE,
}


@dataclass(frozen=True)
class Heard:
    """What a judge found.

    Attributes:
        fault: why the candidate is not accepted; None where nothing speaks against it.
        checks: a record of each check that was begun, in order.
        data: the other answers of the judge: preparation, honesty, timing, seconds.
    """

    fault: str | None
    checks: tuple[Mapping[str, Any], ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Timing:
    """What is to be timed, if nothing speaks against the candidate.

    Attributes:
        baseline: the text it is timed against.
        cases: each timed by itself.
        noise: noise floors that are known, as the judge reports them.
    """

    baseline: str
    cases: tuple[Case, ...]
    budget_s: float
    noise: Mapping[str, Any] = field(default_factory=dict)


def hear(
    bench: Workbench,
    original: str,
    candidate: str,
    checks: Sequence[Check],
    timing: Timing | None = None,
    *,
    thorough: bool = True,
) -> Heard:
    """Have the device's judge hold a candidate against its original, and time it.

    ``thorough``: make every check even of what is not faster, which a search does not want.

    Raises:
        BrokenOffError, HarnessFaultError: nothing can be said of the candidate.
    """
    versions = (original, candidate, *((timing.baseline,) if timing else ()))
    texts = {str(bench.place(text)): text for text in versions}
    told = [_told(bench, check, texts) for check in checks]
    timed = [_told(bench, Check(case, SEEDS[0]), texts) for case in timing.cases] if timing else []
    refused = next((one for one in (*told, *timed) if isinstance(one, str)), None)
    if refused is not None:
        return Heard(refused)
    job: Any = _job(bench, original, candidate) | {"checks": told, "thorough": thorough}
    if timing is not None:
        told_so = {"budget_s": timing.budget_s, "noise": dict(timing.noise)}
        cases = [{"check": check, **told_so} for check in timed]
        job["timing"] = {"baseline": str(bench.place(timing.baseline)), "cases": cases}
    # Of a tuner on a device the configurations that it does not choose are to be right as well.
    tunes = bench.device.info.target is None or "autotune" in candidate
    if tunes and candidate != original:
        plain = (one for one, check in zip(told, checks, strict=True) if check.seed == SEEDS[0])
        job["each_config"] = next(plain, None)
    if bench.device.info.target is not None and candidate != original:
        job |= _watched(bench, job["performer"], texts)
    outcome = bench.run(job, TIMEOUT_S)
    if outcome.status in _CAUSES:
        raise BrokenOffError(_CAUSES[outcome.status], explain(outcome))
    if outcome.status is not JobStatus.OK:
        raise bench.fault(job, outcome)
    return _heard(outcome, bench.problem.allow, itself=candidate == original)


def _heard(outcome: JobOutcome[Any], allow: Collection[str], *, itself: bool) -> Heard:
    value = dict(outcome.value)
    fault, checks = value.pop("fault"), tuple(value.pop("checks"))
    facts = value.get("honesty") or {}
    before, now = facts.get("original") or {}, facts.get("candidate") or {}
    if fault is None and not itself:
        fault = "; ".join(honesty.faults(before, now, allow)) or None
    value["permitted"] = list(permissions.used(before, now, allow))
    value["honesty"] = {"candidate": now, "notes": list(honesty.notes(before, now))}
    return Heard(fault, checks, value)


def _job(bench: Workbench, original: str, candidate: str) -> dict[str, Any]:
    problem = bench.problem
    cases = problem.compiled_cases()
    entry = dump(problem.entry)
    return {
        "kind": "trial",
        "original": str(bench.place(original)),
        "candidate": str(bench.place(candidate)),
        "inputs_from": bench.inputs_from,
        "reference": _reference(bench),
        "entry": entry,
        "device": bench.device.info.id,
        "seed": bench.seed,
        "performer": {
            "device": bench.device.info.id,
            "entry": entry,
        },
        "compiled_cases": [{"case": dump(case)} for case in cases],
        "allow": list(problem.allow),
    }


def _watched(
    bench: Workbench, performer: Mapping[str, Any], texts: Mapping[str, str]
) -> dict[str, Any]:
    """What a device's judge looks at in the interpreter; nothing where nobody can call it."""
    told = (_told(bench, check, texts) for check in watched_for(bench.problem))
    checks = [check for check in told if not isinstance(check, str)]
    there = {**performer, "device": INTERPRETER}
    return {"watched": {"performer": there, "checks": checks}} if checks else {}


def _reference(bench: Workbench) -> dict[str, Any] | None:
    entry = bench.problem.reference
    if entry is None:
        return None
    where = str((Path(entry.path) if entry.path else bench.source_path).resolve())
    return {"module": where, "entry": dump(replace(entry, path=where))}


def _told(bench: Workbench, check: Check, texts: Mapping[str, str]) -> dict[str, Any] | str:
    """A check as the judge wants it; or why a captured launch cannot be made again."""
    told = {
        "name": check.name,
        "case": dump(check.case),
        "seed": check.seed,
        "values": check.values,
        "layout": check.layout,
        "order": check.order,
        "repeats": check.repeats,
        "launch_options": dict(check.launch_options),
        "training": check.training,
        "gradients": check.gradients,
        "required": check.required,
        "simpler": [],
    }
    for one in simpler(bench.problem, check):
        inner = _told(bench, one, texts)
        told["simpler"] += [inner] if isinstance(inner, dict) else []
    if bench.problem.is_captured:
        plans = launching(bench.problem, str(bench.source_path), texts, check.case)
        if isinstance(plans, NoPlan):
            return plans.reason
        told["launching"] = plans
    return told
