"""What a device does not show: a candidate once more in the interpreter, where every load and store
is looked at.

Only memory is judged here: what is read before it is written, inputs that are stored into, accesses
outside of tensors, programs in each other's way. Values are the device's affair. What the
interpreter cannot run is no fault, and said.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from . import run_faults
from .baselines import Base, Originals, message_of, runner_of, with_config
from .cache_folders import Caches
from .runner_handle import CandidateEndedError, Handle, RunnerEndedError
from .runner_pool import RunnerPool
from .version import INTERPRETER

if TYPE_CHECKING:
    from ..messages.trial import Check, Record, RunnerJob, TrialJob

_PATIENCE_S = 20.0
_PATIENCE_RATIO = 10.0


@dataclass
class Watched:
    """What came of it: ``fault``, None where nothing was found, a record of each check, and how
    many configurations the candidate's tuner has (1 without one)."""

    fault: str | None = None
    checks: list[Record] = field(default_factory=list)
    configs: int = 1


class Watching:
    """The interpreter pass in addition to a device; may be used from several threads.

    Args:
        folder: the coordinator's.
        runners: the pool that starts processes.
    """

    def __init__(self, folder: Path, runners: RunnerPool) -> None:
        self._runners = runners
        self._caches = Caches(INTERPRETER, folder)
        self._originals = Originals(INTERPRETER, folder / "watched", self._start)

    def look(self, job: TrialJob, deadline: float) -> Watched:
        """Hold the memory accesses of a trial's candidate against its original's, as the job's
        ``watched`` says; ``deadline`` of ``time.monotonic``."""
        told = job["watched"]
        asked: TrialJob = {**job, "reference": None, "runner": told["runner"]}
        found = Watched()
        left = max(1.0, deadline - time.monotonic())
        runner = {**runner_of(asked, job["candidate"]), "allow": job.get("allow") or ()}
        candidate = self._start(cast("RunnerJob", runner), left, CandidateEndedError)
        try:
            for check in told["checks"]:
                self._watch(candidate, self._originals.base(asked, check), check, found)
            self._watch_configs(candidate, asked, told["checks"][0], found)
        finally:
            candidate.close()
        return found

    def _watch_configs(
        self,
        candidate: Handle,
        asked: TrialJob,
        check: Check,
        found: Watched,
    ) -> None:
        """Configurations that a tuner could choose on the device, except the observed first."""
        for config in range(1, found.configs):
            base = self._originals.base(asked, check)
            self._watch(candidate, base, with_config(check, config), found)

    def _watch(self, candidate: Handle, base: Base, check: Check, found: Watched) -> None:
        """One call, unless there is a fault already."""
        if found.fault is not None:
            return
        record: Record = {"name": check["name"], "seed": check["seed"]}
        found.checks.append(record)
        found.fault = self._fault(candidate, base, check, found)

    def _fault(self, candidate: Handle, base: Base, check: Check, found: Watched) -> str | None:
        record = found.checks[-1]
        if base.original is None:
            record["skipped"] = f"the interpreter does not run it: {base.failure}"
            return None
        patience = _PATIENCE_S + _PATIENCE_RATIO * base.original.seconds_alone
        try:
            given = self._originals.results(candidate, base, message_of(check), patience)
        except CandidateEndedError as error:
            record["skipped"] = f"the interpreter does not run the candidate: {error}"
            return None
        found.configs = max(found.configs, given.configs)
        wrong = next(run_faults.of_run(base.original.told, given.told), None)
        return wrong and f"{check['name']}, watched in the interpreter: {wrong}"

    def _start(
        self, job: RunnerJob, timeout_s: float,
        ends: type[RunnerEndedError] = RunnerEndedError,
    ) -> Handle:  # fmt: skip
        cached = self._caches.of_kept(job["module"])
        return self._runners.start({**job, **cached}, timeout_s, ends)
