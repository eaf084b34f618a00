"""A version of the file, doing one thing at a time as a judge asks.

Each message has ``do``:

- ``prepare``: cases? -> seconds, notes: import the file, open the device, and compile what the
  cases launch, as far as that can be done before they are called.
- ``call``: what a ``run`` job has besides module, entry and device, and ``number``, after which its
  outputs are filed -> what such a job gives.
- ``inputs``: case, seed -> inputs (manifest), of a file that makes its own.
- ``time.…``: see ``timing``.
- ``end``.

An answer that has ``failed`` has the status of a job that failed so, and a message.
"""

from __future__ import annotations

import contextlib
import time
from types import TracebackType
from typing import Any

import torch

from .. import calling, child, generate, tensors
from ..calling import INTERPRETER, Version
from ..jobs import measuring
from ..protocol import OK, JobError
from .wire import Wire

_TICK_S = 3600.0


class Performer:
    """One version, in the surroundings that its host code needs."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._stack = contextlib.ExitStack()
        self._version: Version | None = None

    def __enter__(self) -> Performer:
        self._stack.enter_context(calling.surroundings(self._job["device"]))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def serve(self, wire: Wire) -> None:
        """Answer until the judge has nothing more to ask."""
        while not wire.gone:
            message = wire.wait(_TICK_S)
            if message is None:
                continue
            if message.get("do") == "end":
                return
            wire.send(self._answer(message))

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        answer = child.attempted(lambda: self.do(message))
        if answer["status"] == OK:
            value: dict[str, Any] = answer["value"]
            return value
        told = {"failed": answer["status"], "message": answer["message"]}
        return {**told, "traceback": answer["value"].get("traceback")}

    def do(self, message: dict[str, Any]) -> dict[str, Any]:
        """Do what a message asks; raises JobError for what is unknown."""
        wanted = str(message.get("do"))
        if wanted == "prepare":
            return self._prepare(message)
        if wanted == "call":
            return self._call(message)
        if wanted == "inputs":
            return self._inputs(message)
        raise JobError(f"a performer does no {wanted!r}")

    @property
    def version(self) -> Version:
        """The file, imported when it is first needed."""
        if self._version is None:
            self._version = Version(self._job)
        return self._version

    def _prepare(self, message: dict[str, Any]) -> dict[str, Any]:
        start = time.perf_counter()
        notes: list[str] = []
        device = self._job["device"]
        if device != INTERPRETER:
            torch.zeros(1, device=device)
            calling.synchronize(device)
        opened = time.perf_counter() - start
        module = self.version.module
        if str(device).startswith("cuda"):
            self._compile_ahead(module, message.get("cases") or [], notes)
        seconds = time.perf_counter() - start
        confinement = self._job.get("confinement")
        return {
            "seconds": seconds, "opened_s": opened, "notes": notes, "confinement": confinement,
        }  # fmt: skip

    def _compile_ahead(self, module: Any, cases: list[dict[str, Any]], notes: list[str]) -> None:
        from triton.runtime.driver import driver

        target = measuring.target_of(self._job["device"])
        for told in cases:
            job = {**self._job, **told}
            measuring.compile_ahead(job, module, target, notes)
        driver.reset_active()

    def _call(self, message: dict[str, Any]) -> dict[str, Any]:
        out = f"{self._job['out']}/{message['number']}"
        job = {**self._job, **message, "out": out}
        return self.version.call(job)

    def _inputs(self, message: dict[str, Any]) -> dict[str, Any]:
        made = generate.make_inputs(message["case"], int(message["seed"]), self.version.module)
        return {"inputs": tensors.save(made, f"{self._job['out']}/inputs", "input")}
