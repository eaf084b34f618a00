"""Request a candidate's trial from the device's coordinator, and read the outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tilewright.captures.relaunch import NoPlan
from tilewright.devices.model import INTERPRETER, JobOutcome, JobStatus
from tilewright.evaluation import honesty, permissions
from tilewright.evaluation.checks import Check
from tilewright.evaluation.families import SEEDS, simpler, watched_for
from tilewright.evaluation.model import Cause
from tilewright.evaluation.replaying import launching
from tilewright.evaluation.workbench import BrokenOffError, Workbench, explain
from tilewright.problems.model import Case
from tilewright.serialize import dump
from tilewright.worker.messages import trial as messages

TIMEOUT_S = 900.0
_TURNED = "affine loops and programs reversed"
# Only a trial's value counts against a candidate; other ends of a trial do not.
_CAUSES = {
    JobStatus.ERROR: Cause.ORIGINAL,
    JobStatus.OUT_OF_MEMORY: Cause.MACHINE,
    JobStatus.TIMEOUT: Cause.MACHINE,
}


@dataclass(frozen=True)
class Heard:
    """The outcome of a trial.

    Attributes:
        fault: why the candidate is not accepted; None where nothing speaks against it.
        checks: a record of each check that was begun, in order.
        data: the other answers of the coordinator: preparation, honesty, timing, seconds.
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
        noise: noise floors that are known, as the coordinator reports them.
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
    """Have the device's coordinator compare a candidate with its original, and time it.

    ``thorough``: make every check even of what is not faster, which a search does not want.

    Raises:
        BrokenOffError, HarnessFaultError: nothing can be said of the candidate.
    """
    versions = (original, candidate, *((timing.baseline,) if timing else ()))
    texts = {str(bench.place(text)): text for text in versions}
    sent = [_sent(bench, check, texts) for check in checks]
    timed = [_sent(bench, Check(case, SEEDS[0]), texts) for case in timing.cases] if timing else []
    refused = next((one for one in (*sent, *timed) if isinstance(one, str)), None)
    if refused is not None:
        return Heard(refused)
    asked = [one for one in sent if not isinstance(one, str)]
    job = _job(bench, original, candidate, asked, thorough=thorough)
    if timing is not None:
        cases: list[messages.TimedCase] = [
            {"check": check, "budget_s": timing.budget_s, "noise": dict(timing.noise)}
            for check in timed
            if not isinstance(check, str)
        ]
        job["timing"] = {"baseline": str(bench.place(timing.baseline)), "cases": cases}
    if bench.device.info.runs_nki:
        _ask_of_nki(bench, job)
    elif candidate != original:
        _ask_of_triton(bench, job, candidate, texts)
    outcome = bench.run(job, TIMEOUT_S)
    if outcome.status in _CAUSES:
        raise BrokenOffError(_CAUSES[outcome.status], explain(outcome))
    if outcome.status is not JobStatus.OK:
        raise bench.fault(job, outcome)
    executed = outcome.value.pop("instructions", {})
    for text, whose in ((original, "original"), (candidate, "candidate")):
        bench.keep_instructions(text, executed.get(whose) or [])
    return _trial_result(bench, outcome, itself=candidate == original)


def _ask_of_triton(
    bench: Workbench, job: messages.TrialJob, candidate: str, texts: Mapping[str, str]
) -> None:
    """Configurations of a tuner, and what single loads and stores do next to a device."""
    on_device = bench.device.info.target is not None
    # Of a tuner on a device the configurations that it does not choose are to be right as well.
    if not on_device or "autotune" in candidate:
        first = (one for one in job["checks"] if one["seed"] == SEEDS[0])
        job["each_config"] = next(first, None)
    if on_device:
        # Of what the interpreter cannot call, nothing is looked at there.
        there = [_sent(bench, check, texts) for check in watched_for(bench.problem)]
        watched = [check for check in there if not isinstance(check, str)]
        if watched:
            runner: messages.RunnerPart = {"device": INTERPRETER, "entry": bench.entry}
            job["watched"] = {"runner": runner, "checks": watched}


def _ask_of_nki(bench: Workbench, job: messages.TrialJob) -> None:
    """The instructions of the first check, and the verdict of a benchmark that has its own rule."""
    if job["checks"]:
        job["checks"][0]["record"] = True
    for check in job["checks"]:
        for order in ("reversed", "shuffled"):  # which the simulator does not draw
            check["name"] = check["name"].replace(f"programs {order}", _TURNED)
    rule = bench.problem.own_rule
    if rule is not None:
        seeds = list(rule.seeds)
        job["own_rule"] = {"name": rule.name, "tolerance": rule.tolerance, "seeds": seeds}


def _trial_result(bench: Workbench, outcome: JobOutcome[messages.Found], *, itself: bool) -> Heard:
    allow = bench.problem.allow
    value = dict(outcome.value)
    fault, checks = outcome.value["fault"], tuple(outcome.value["checks"])
    facts = outcome.value.get("honesty") or {}
    before, now = facts.get("original") or {}, facts.get("candidate") or {}
    if fault is None and not itself:
        fault = "; ".join(honesty.faults(before, now, allow)) or None
    if fault is not None and bench.device.info.runs_nki:
        fault = fault.replace(honesty.IN_TRITON, honesty.IN_NKI)
    value["permitted"] = list(permissions.used(before, now, allow))
    value["honesty"] = {"candidate": now, "notes": list(honesty.notes(before, now))}
    rest = {name: part for name, part in value.items() if name not in ("fault", "checks")}
    return Heard(fault, checks, rest)


def _job(
    bench: Workbench,
    original: str,
    candidate: str,
    checks: list[messages.Check],
    *,
    thorough: bool,
) -> messages.TrialJob:
    problem = bench.problem
    return {
        "kind": "trial",
        "original": str(bench.place(original)),
        "candidate": str(bench.place(candidate)),
        "inputs_from": bench.inputs_from,
        "reference": _reference(bench),
        "entry": bench.entry,
        "device": bench.device.info.id,
        "seed": bench.seed,
        "runner": {"device": bench.device.info.id, "entry": bench.entry},
        "compiled_cases": [{"case": dump(case)} for case in problem.compiled_cases()],
        "allow": list(problem.allow),
        "checks": checks,
        "thorough": thorough,
    }


def _reference(bench: Workbench) -> messages.Reference | None:
    entry = bench.problem.reference
    if entry is None:
        return None
    where = str((Path(entry.path) if entry.path else bench.source_path).resolve())
    return {"module": where, "entry": dump(replace(entry, path=where))}


def _sent(bench: Workbench, check: Check, texts: Mapping[str, str]) -> messages.Check | str:
    """A check as it is sent; or why a captured launch cannot be made again."""
    inner = [_sent(bench, one, texts) for one in simpler(bench.problem, check)]
    sent: messages.Check = {
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
        "simpler": [one for one in inner if not isinstance(one, str)],
    }
    if bench.problem.is_captured:
        plans = launching(bench.problem, str(bench.source_path), texts, check.case)
        if isinstance(plans, NoPlan):
            return plans.reason
        sent["launching"] = plans
    return sent
