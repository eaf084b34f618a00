"""A runner for ``timing_trust.py``: a forked process that holds two copies of a kernel.

Both versions are loaded anew for each contest, as two modules with two copies of the code.
"""

import importlib.util
import os
import random
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import triton  # noqa: F401 - before any fork, so that no runner pays for it

from tilewright.worker.protocol import JobError
from tilewright.worker.runtime.connections import MessageBuffer, write_message
from tilewright.worker.timing.clocks import clock_for
from tilewright.worker.timing.paired_runner import Contest

_KERNELS = Path(__file__).with_name("timing_trust_kernels.py")
_CHUNK = 1 << 16


class Runner:
    """One forked runner as its judge sees it."""

    def __init__(self, device: str, subject: Mapping[str, Any]) -> None:
        self._socket, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            self._socket.close()
            _serve(theirs, device, subject)
        theirs.close()
        self._buffer = MessageBuffer()

    def ask(self, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """One message and its answer; raises RuntimeError when the runner could not."""
        self._socket.settimeout(timeout_s)
        write_message(self._socket.fileno(), message)
        while True:
            data = self._socket.recv(_CHUNK)
            if not data:
                raise RuntimeError("the runner is gone")
            for reply in self._buffer.feed(data):
                if "error" in reply:
                    raise RuntimeError(reply["error"])
                return dict(reply)

    def close(self) -> None:
        """End it and wait."""
        self._socket.close()
        os.waitpid(self._pid, 0)


def _serve(theirs: socket.socket, device: str, subject: Mapping[str, Any]) -> None:
    torch.manual_seed(0)
    contest = Contest(
        device, None, None, _inputs(device, subject), clock=clock_for(device), load=_loader(subject)
    )
    buffer = MessageBuffer()
    while data := theirs.recv(_CHUNK):
        for message in buffer.feed(data):
            try:
                reply = contest.answer(message)
            except (JobError, RuntimeError) as error:
                reply = {"error": str(error)}
            write_message(theirs.fileno(), reply)
    os._exit(0)


def _loader(subject: Mapping[str, Any]) -> Callable[[], tuple[Any, Any]]:
    def load() -> tuple[Any, Any]:
        loaded = [_load() for _ in "AB"]
        for module, steps in zip(loaded, subject["steps"], strict=True):
            vars(module)["STEPS"] = steps
        first, second = (getattr(module, subject["entry"]) for module in loaded)
        return first, second

    return load


def _load() -> ModuleType:
    name = f"timing_trust_kernels_{random.getrandbits(48):x}"
    spec = importlib.util.spec_from_file_location(name, _KERNELS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _inputs(device: str, subject: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, (shape, dtype) in subject["inputs"].items():
        if name == "factors":
            made[name] = torch.tensor([1.0, 0.0], device=device)
        else:
            made[name] = torch.randn(shape, device=device).to(getattr(torch, dtype))
    return made
