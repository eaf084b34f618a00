"""Results as JSON values, the same for the command line, the server and the store."""

import math
from collections.abc import Sequence
from typing import Any

from tilewright.analysis.model import Issue
from tilewright.evaluation.model import Evaluation, Promise, StepResult
from tilewright.serialize import dump
from tilewright.strategies.model import OptimizeResult, Trial


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
        "level": evaluation.level.value,
        "kept": trial.kept,
        "reason": trial.reason,
        "failed": {"step": failed.step.value, "message": failed.message} if failed else None,
        "error": error_json(evaluation),
        "screened": _screened(candidate.promise),
        "speedup": dump(evaluation.speedup) if evaluation.speedup else None,
        "seconds": round(sum(step.seconds for step in evaluation.steps), 2),
    }


def error_json(evaluation: Evaluation) -> dict[str, Any] | None:
    """Why there is no verdict: the step that broke off, its cause, and the file to report."""
    return _error(evaluation.error) if evaluation.error is not None else None


def _error(error: StepResult) -> dict[str, Any]:
    return {
        "step": error.step.value, "cause": error.data.get("cause"), "message": error.message,
        "report": error.data.get("report") or None,
    }  # fmt: skip


def _screened(promise: Promise | None) -> dict[str, float] | None:
    """What ``speedup`` may be held against: rough times and their ratio."""
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
        "certificate": dump(certificate) if certificate else None,
        "notes": list(result.notes),
        "harness_faults": [_error(error) for error in result.harness_faults],
        "seconds": round(result.seconds, 2),
    }
