"""Results as JSON values, the same for the command line, the server and the store."""

import math
from collections.abc import Sequence
from typing import Any

from tilewright.analysis.model import Issue
from tilewright.evaluation.model import EstimatedGain, Evaluation, Promise, StepResult
from tilewright.models.model import Spent
from tilewright.search.node import dump_node
from tilewright.serialize import dump
from tilewright.strategies.model import CallRecord, ModelUse, OptimizeResult, Trial
from tilewright.strategies.observer import Standing


def dump_issue(issue: Issue) -> dict[str, Any]:
    """An issue as ``tilewright check`` prints it: 1-based lines, 0-based code-point columns."""
    place = issue.range
    return {
        "id": issue.id,
        "stage": issue.stage.value,
        "severity": issue.severity,
        "message": issue.message,
        "kernel": issue.kernel,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }


def dump_trial(trial: Trial) -> dict[str, Any]:
    """A trial without its source: who proposed what, how far it got, kept or not and why."""
    evaluation, candidate = trial.evaluation, trial.candidate
    failed = evaluation.failed
    return {
        "number": trial.number,
        "stage": trial.stage.value,
        "proposer": candidate.proposer,
        "rationale": candidate.rationale,
        "issues": list(candidate.issues),
        "call": candidate.call,
        "candidate": candidate.hash,
        "parent": candidate.parent,
        "level": evaluation.level.value,
        "kept": trial.kept,
        "reason": trial.reason,
        "failed": {"step": failed.step.value, "message": failed.message} if failed else None,
        "error": error_json(evaluation),
        "screened": _screened(candidate.promise),
        "speedup": dump(evaluation.speedup) if evaluation.speedup else None,
        "estimate": _estimate_json(evaluation.estimate),
        "seconds": round(sum(step.seconds for step in evaluation.steps), 2),
        "node": dump_node(trial.node) if trial.node else None,
    }


def dump_standing(standing: Standing | None) -> dict[str, Any]:
    """Where a run stands, as fields of a progress event; each null where it is not known."""
    where = standing or Standing()
    return {
        "stage": where.stage.value if where.stage else None,
        "try": where.attempt,
        "best": where.best,
        "spent": dump(where.spent) if where.spent else None,
        "judged": where.judged,
        "budget": where.budget,
    }


def standing_words(standing: Standing | None) -> str:
    """What a line of progress adds for a person; empty where there is nothing to add."""
    if standing is None:
        return ""
    told = [f"{standing.judged} of {standing.budget} candidates"] if standing.budget else []
    told += [f"try {standing.attempt}"] if standing.attempt else []
    told += [f"best {standing.best:.2f}x"] if standing.best else []
    told += [spent_words(standing.spent)] if standing.spent else []
    return "".join(f", {one}" for one in told)


def spent_words(spent: Spent) -> str:
    """What models cost so far, in a few words."""
    tokens = f"{spent.tokens_in + spent.tokens_out:,} tokens"
    dollars = "price unknown" if spent.dollars is None else f"${spent.dollars:.4f}"
    cached = f", {spent.calls_cached} from the cache" if spent.calls_cached else ""
    return f"{spent.calls} model calls ({tokens}, {dollars}{cached})"


def gain_words(spent: Spent, ratio: float) -> str:
    """What models cost for each doubling of the speed; empty where they cost or brought nothing."""
    if ratio <= 1.0 or not spent.calls:
        return ""
    doublings = math.log2(ratio)
    dollars = f", ${spent.dollars / doublings:.4f}" if spent.dollars else ""
    return f"{spent.calls / doublings:.1f} calls{dollars} for each doubling of the speed"


def _dump_models(use: ModelUse) -> dict[str, Any]:
    return {
        "limits": dump(use.limits),
        "spent": dump(use.spent),
        "ended": use.ended,
        "suspected": [dump_issue(issue) for issue in use.suspected],
        "calls": [_dump_call(call) for call in use.calls],
    }


def _dump_call(call: CallRecord) -> dict[str, Any]:
    reply = call.reply
    told = {
        "key": call.key,
        "role": call.role.value,
        "model": call.model,
        "stage": call.stage.value if call.stage else None,
        "try": call.attempt,
        "sample": call.sample,
        "error": call.error or None,
    }
    if reply is None:
        return told
    figures = {name: value for name, value in dump(reply).items() if name != "text"}
    return {**told, **figures, "model": call.model, "answered_by": reply.model}


def error_json(evaluation: Evaluation) -> dict[str, Any] | None:
    """Why there is no verdict: the step that broke off, its cause, and the file to report."""
    return _error(evaluation.error) if evaluation.error is not None else None


def _error(error: StepResult) -> dict[str, Any]:
    return {
        "step": error.step.value, "cause": error.data.get("cause"), "message": error.message,
        "report": error.data.get("report") or None,
    }  # fmt: skip


def _estimate_json(gain: EstimatedGain | None) -> dict[str, Any] | None:
    """What a cost model says of two texts, with its sentence; null where it says nothing."""
    return None if gain is None else {**dump(gain), "words": gain.words}


def _screened(promise: Promise | None) -> dict[str, float] | None:
    """What ``speedup`` may be compared with: rough times and their ratio."""
    return None if promise is None else {**dump(promise), "gain": promise.gain}


def _screened_gain(trials: Sequence[Trial]) -> float | None:
    """The gain that screening promised for all that was kept; None where some was not screened."""
    promises = [trial.candidate.promise for trial in trials if trial.kept]
    if not promises or None in promises:
        return None
    return math.prod(promise.gain for promise in promises if promise is not None)


def dump_result(result: OptimizeResult) -> dict[str, Any]:
    """The result as the command line and the store give it."""
    certificate = result.certificate
    return {
        "run": result.run,
        "path": result.path,
        "target": result.target,
        "device": result.device,
        "changed": result.changed,
        "final": result.final,
        "diff": result.diff,
        "plan": [stage.value for stage in result.plan],
        "issues": [dump_issue(issue) for issue in result.issues],
        "remaining": [dump_issue(issue) for issue in result.remaining],
        "trials": [dump_trial(trial) for trial in result.trials],
        "level": certificate.level.value if certificate else None,
        "screened_gain": _screened_gain(result.trials) if certificate else None,
        "speedup": dump(certificate.speedup) if certificate and certificate.speedup else None,
        "estimate": _estimate_json(certificate.estimate) if certificate else None,
        "certificate": dump(certificate) if certificate else None,
        "notes": list(result.notes),
        "harness_faults": [_error(error) for error in result.harness_faults],
        "models": _dump_models(result.models) if result.models else None,
        "search": dump(result.search) if result.search else None,
        "seconds": round(result.seconds, 2),
    }
