"""The engine's side of an actor: what a ``WorkerClient`` is for a worker of this host."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from typing import Any, TypedDict

from tilewright.devices.client import outcome_of
from tilewright.devices.cluster.bundles import ROOT, Bundles
from tilewright.devices.model import JobOutcome, JobStatus, Value
from tilewright.devices.remote.path_mapping import GoneError, PathMapping
from tilewright.worker.messages.envelope import Answer, Hello, Job
from tilewright.worker.messages.jobs import Gpu
from tilewright.worker.remote.file_sync import AT

_GRACE_S = 60.0
_LOOK_S = 30.0
_QUEUE_S = 1800.0
_CLOSE_S = 15.0
_LOG = logging.getLogger(__name__)


class About(TypedDict, total=False):
    """What an actor says of its node; ``error`` where its worker cannot start."""

    hello: Hello
    devices: list[Gpu]
    incarnation: str
    host: str
    error: str


class ActorAnswer(Answer, total=False):
    """A worker's answer, from which actor."""

    incarnation: str
    host: str


class ActorClient:
    """Runs jobs on an actor; Ray repeats a job whose actor died, on the actor that it restarts.

    Args:
        ray: the module.
        actor: its handle.
        about: what ``WorkerActor.description`` returned.
    """

    def __init__(self, ray: Any, actor: Any, bundles: Bundles, about: About) -> None:
        self.host = str(about["host"])
        self.hello = about["hello"]
        self._gpus = [device["name"] for device in about["devices"]]
        self._ray = ray
        self._actor = actor
        self._bundles = bundles
        self._incarnation = str(about["incarnation"])
        self._paths = PathMapping(f"{ROOT}/{AT}")

    def run(self, job: Job[Value], timeout_s: float) -> JobOutcome[Value]:
        """Run one job and wait; LOST where its actor was lost twice or no longer answers."""
        start = time.monotonic()
        try:
            request, bundles = self._request(job, timeout_s)
            answer = json.loads(self._answer(self._actor.run.remote(request, bundles), timeout_s))
        except GoneError as error:
            return _lost_outcome(f"no job of this connection wrote {error}", start)
        except (self._ray.exceptions.RayError, TimeoutError, ConnectionError) as error:
            return _lost_outcome(f"its actor on {self.host} was lost: {_first_line(error)}", start)
        return self._outcome(answer)

    def cancel(self) -> None:
        """Stop every job under way."""
        self._actor.cancel.remote()

    def close(self) -> None:
        """End the actor and its worker."""
        with contextlib.suppress(self._ray.exceptions.RayError, ConnectionError):
            self._ray.get(self._actor.close.remote(), timeout=_CLOSE_S)
        with contextlib.suppress(self._ray.exceptions.RayError, ConnectionError):
            self._ray.kill(self._actor)

    def _request(self, job: Job[Any], timeout_s: float) -> tuple[str, list[tuple[int, Any]]]:
        outgoing = self._paths.outgoing(job)
        bundles, left_out = self._bundles.with_files(outgoing.files)
        self._paths.left_out |= left_out
        asked: dict[str, object] = {
            "job": outgoing.job, "timeout_s": timeout_s, "gpus": self._gpus,
        }  # fmt: skip
        if outgoing.made_there:
            asked["incarnation"] = self._incarnation
        return json.dumps(asked), bundles

    def _answer(self, reference: Any, timeout_s: float) -> str:
        """The actor's answer; a job may wait for its turn there as long as the actor answers."""
        end = time.monotonic() + _QUEUE_S + timeout_s
        wait_s = timeout_s + _GRACE_S
        while not self._ray.wait([reference], timeout=wait_s)[0]:
            if time.monotonic() > end:
                raise TimeoutError("the job did not start in time")
            self._ray.get(self._actor.answers.remote(), timeout=_LOOK_S)
            wait_s = _LOOK_S
        text: str = self._ray.get(reference)
        return text

    def _outcome(self, answer: ActorAnswer) -> JobOutcome[Any]:
        if answer["incarnation"] != self._incarnation:
            self._incarnation = answer["incarnation"]
            _LOG.warning("Ray restarted the actor of %s on %s", self.host, answer["host"])
            self.host = answer["host"]
        told = self._paths.names_left_out(self._paths.incoming(answer), self.host)
        return outcome_of(told)


def _lost_outcome(message: str, start: float) -> JobOutcome[Any]:
    return JobOutcome(JobStatus.LOST, {}, message, seconds=time.monotonic() - start)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
