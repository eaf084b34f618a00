"""``time``: the candidate against the original in this process, judge and performer in one.

For trying a contest out where no judge stands apart; a trial's timing has one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from .. import modules, tensors
from ..timing import fresh
from ..timing.clocks import clock_for
from ..timing.conducting import conduct
from ..timing.contest import Contest, Function
from ..timing.locking import holding
from ..timing.noise import survey
from . import running


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """What ``conduct`` found, and pairs of outputs to compare: of the original, of timed calls."""
    with running.surroundings(job, {}), torch.no_grad(), holding(job.get("gpu_lock")) as waited:
        return {**_contest(job), "waited_s": waited}


def _contest(job: dict[str, Any]) -> dict[str, Any]:
    device = "cpu" if job["device"] == running.INTERPRETER else job["device"]
    clock = clock_for(device, job.get("flush_bytes"))
    inputs = tensors.load(job["inputs"], device)
    plan = fresh.plan_for(inputs, job["case"])
    given = ("budget_s", "noise", "blocks", "graphs")
    spec: dict[str, Any] = {key: job[key] for key in given if key in job}
    spec |= {"plan": plan, "out": job["out"]}
    versions = _Versions(job, device)

    def floor() -> dict[str, Any]:
        contest = Contest(device, None, None, inputs, clock=clock, load=versions.original_twice)
        return survey(lambda message, _: contest.answer(message), {"plan": plan})

    checks: list[dict[str, Any]] = []
    original = versions.load(job["original"])

    def verify(turn: int, outputs: tensors.Manifest) -> None:
        folder = str(Path(job["out"]) / f"right{len(checks)}")
        values = fresh.refreshed(inputs, turn, plan)
        leaves, _ = tensors.flatten(original(*values.values()))
        changed = [entry["name"] for entry in outputs if entry["name"] in values]
        right = [
            *tensors.save(leaves, folder, "right"),
            *tensors.save({name: values[name] for name in changed}, folder, "changed"),
        ]
        checks.append({"expected": right, "actual": outputs})

    contest = Contest(device, original, versions.load(job["candidate"]), inputs, clock=clock)
    timing = conduct(lambda message, _: contest.answer(message), spec, verify, None, floor)
    return {"timing": timing, "checks": checks}


class _Versions:
    """Loads files of a job, all with the weights of the first."""

    def __init__(self, job: dict[str, Any], device: str) -> None:
        self._job = job
        self._device = device
        self._state = tensors.load(job["state"], device) if job.get("state") else None

    def load(self, path: str) -> Function:
        """The call of one file's entry point."""
        module = modules.load_for(self._job, path)
        call, model = modules.build_call(self._job, module, self._device, self._state)
        if self._state is None and model is not None:
            self._state = model.state_dict()
        return call

    def original_twice(self) -> tuple[Function, Function]:
        """Two copies of the original."""
        return self.load(self._job["original"]), self.load(self._job["original"])
