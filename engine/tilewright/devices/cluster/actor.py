"""What runs on a node of the cluster: an ordinary local worker, and the files that jobs name.

Requests and answers are JSON texts, so that the driver unpickles nothing that a candidate made.
"""

from __future__ import annotations

import contextlib
import json
import platform
import sys
import threading
import uuid
from collections.abc import Sequence
from typing import Any

import ray

from tilewright.devices.client import WorkerClient
from tilewright.devices.cluster.bundles import ROOT, BundledFiles
from tilewright.devices.cluster.client import About, ActorAnswer
from tilewright.devices.model import DeviceError, JobOutcome, JobStatus
from tilewright.scratch import scratch_folder
from tilewright.worker.messages.jobs import Gpu, ProbeJob
from tilewright.worker.remote.file_sync import AT

_PROBE_S = 120.0
_control = ray.method(concurrency_group="control")


class WorkerActor:
    """Owns a worker of this node; an actor that Ray restarts begins with an empty folder."""

    def __init__(self) -> None:
        self._life = contextlib.ExitStack()
        self._folder = self._life.enter_context(scratch_folder())
        self._files = BundledFiles(self._folder, ray.get)
        self._client = WorkerClient(sys.executable)
        self._incarnation = uuid.uuid4().hex
        self._probing = threading.Lock()
        self._found: list[Gpu] | None = None

    def description(self) -> str:
        """This node's host, what its worker says of itself, and its devices."""
        try:
            told: About = {"hello": self._client.hello, "devices": self._devices()}
        except DeviceError as error:
            return json.dumps({"error": str(error), "host": platform.node()})
        told["incarnation"] = self._incarnation
        return json.dumps({**told, "host": platform.node()})

    def run(self, request: str, bundles: Sequence[tuple[int, Any]]) -> str:
        """Do a job ``{"job", "timeout_s", "gpus", "incarnation"?}`` after its files arrived.

        A job that names what an earlier incarnation wrote is lost: it went with its folder. So is
        one for a GPU of another name, where Ray restarted the actor on a different kind.
        """
        asked = json.loads(request.replace(ROOT, str(self._folder)))
        if asked.get("incarnation", self._incarnation) != self._incarnation:
            return self._lost_answer(
                "the actor was restarted, and what an earlier job wrote is gone"
            )
        try:
            names = [device["name"] for device in self._devices()] if asked["gpus"] else []
            if names != asked["gpus"]:
                return self._lost_answer(
                    f"the actor was restarted where torch finds {names or 'no GPU'}"
                )
            self._files.bring(bundles)
            return self._answer(self._client.run(asked["job"], asked["timeout_s"]))
        except DeviceError as error:
            return self._lost_answer(str(error))

    @_control  # type: ignore[untyped-decorator]
    def answers(self) -> bool:
        """That the actor is there."""
        return True

    @_control  # type: ignore[untyped-decorator]
    def cancel(self) -> None:
        """Stop every job under way."""
        self._client.cancel()

    @_control  # type: ignore[untyped-decorator]
    def close(self) -> None:
        """End the worker and remove the folder."""
        self._client.close()
        self._life.close()

    def _devices(self) -> list[Gpu]:
        """The GPUs that Ray gave this actor, as torch finds them."""
        with self._probing:
            if self._found is None:
                probed = self._client.run(ProbeJob(kind="probe"), _PROBE_S)
                if probed.status is not JobStatus.OK:
                    raise DeviceError(f"looking for GPUs failed: {probed.message}")
                self._found = list(probed.value["devices"])
            return self._found

    def _lost_answer(self, message: str) -> str:
        return self._answer(JobOutcome(JobStatus.LOST, {}, message))

    def _answer(self, outcome: JobOutcome[Any]) -> str:
        told: ActorAnswer = {
            "status": outcome.status.value, "value": dict(outcome.value),
            "message": outcome.message, "output": outcome.output, "seconds": outcome.seconds,
            "incarnation": self._incarnation, "host": platform.node(),
        }  # fmt: skip
        return json.dumps(told).replace(f"{self._folder}/{AT}", "")
