"""The file under test in a process of its own, and a module in its place that forwards calls.

Tests run with that module: the file's code never shares a process with pytest, and can neither
change it nor end it. What a call is given and gives goes through files, as in a trial.

The process answers ``{"do": "get", "name"}`` and ``{"do": "call", "function", "arguments",
"inputs"}``; ``arguments`` is a template as ``calls`` records it, ``inputs`` a manifest.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from ..inputs import tensor_files
from ..jobs.calls import Template, UntoldError, named_arguments
from ..launches import hooks, replay
from ..loading import entry_point, partial_import
from ..runtime.connections import Wire
from ..sandbox import confinement
from .version import changed_inputs, one_config, place_of, surroundings, synchronize

if TYPE_CHECKING:
    from ..messages.jobs import Call, TestsJob

_MOST_RECORDED = 24
_PROGRAMS_A_SECOND = 100
"""About what the interpreter does of them, where only the time is known."""
_TICK_S = 3600.0
_LONGEST = 2000
_PLAIN = (bool, int, float, str)


class NotForwardedError(Exception):
    """A test uses what cannot be forwarded; no verdict follows from it."""


class EndedError(Exception):
    """The process of the file under test has ended."""


class ForwardedModule(ModuleType):
    """Stands for the file under test; ``calls`` has the first calls, as the job ``calls`` does.

    Args:
        job: the job, with ``module`` and ``device``.
        path: of the file that it stands for, as tests know it.
    """

    def __init__(self, job: TestsJob, path: str) -> None:
        super().__init__(Path(path).stem)
        self.__file__ = path
        self.calls: list[Call] = []
        self._process = _Process(job)
        self._device = place_of(str(job.get("device")))
        self._computed: set[int] = set()
        self._number = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._process.ask({"do": "get", "name": name})
        if "missing" in found:
            raise AttributeError(f"{self.__file__} defines no {name!r}")
        if found["kind"] == "value":
            return found["value"]
        if found["kind"] == "dtype":
            return tensor_files.dtype_of(found["value"])
        if found["kind"] != "function":
            return _NotForwarded(name, found["kind"])
        return self._forwarding(name)

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _forwarding(self, name: str) -> Callable[..., Any]:
        def forwarded(*args: Any, **kwargs: Any) -> Any:
            template = Template(named_arguments(None, args), self._computed)
            try:
                arguments = {
                    "args": [template.template_of(value, given) for given, value in template.named],
                    "kwargs": {
                        key: template.template_of(value, key) for key, value in kwargs.items()
                    },
                }
            except UntoldError as error:
                raise NotForwardedError(f"a test calls {name}, and {error}") from error
            if any(one.requires_grad for one in tensor_files.tensors_in([args, kwargs])):
                raise NotForwardedError(
                    f"a test calls {name} with a tensor that asks for gradients"
                )
            return self._forwarded_call(name, arguments, template)

        forwarded.__name__ = forwarded.__qualname__ = name
        return forwarded

    def _forwarded_call(self, name: str, arguments: dict[str, Any], template: Template) -> Any:
        self._number += 1
        folder = str(Path(f"call{self._number}").absolute())
        inputs = tensor_files.save(template.values, folder, "input")
        told = {"function": name, "arguments": arguments}
        answer = self._process.ask({"do": "call", **told, "inputs": inputs})
        if len(self.calls) < _MOST_RECORDED:
            self.calls.append({
                "function": name, "arguments": arguments, "inputs": template.inputs,
                "failure": answer.get("raised", ""), "programs": answer.get("programs", 0),
            })  # fmt: skip
        if "raised" in answer:
            raise _error(answer)
        for entry in answer["changed"]:
            template.values[entry["name"]].copy_(tensor_files.load_entry(entry, self._device))
        leaves = {
            name: tensor_files.own(value)
            for name, value in tensor_files.load(answer["outputs"], self._device).items()
        }
        self._computed |= {one.data_ptr() for one in tensor_files.tensors_in(list(leaves.values()))}
        return _rebuilt(answer["tree"], leaves)


class _NotForwarded:
    """Stands for a class or a kernel: tests may import it, not use it."""

    def __init__(self, name: str, kind: str) -> None:
        self._told = (
            f"a test uses {name}, which is a {kind}; the tests of a problem call functions of the "
            "file, with tensors and numbers"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotForwardedError(self._told)

    def __getitem__(self, key: Any) -> NoReturn:
        raise NotForwardedError(self._told)

    def __getattr__(self, name: str) -> NoReturn:
        raise NotForwardedError(self._told)


class _Process:
    """A process forked before any device is opened, which imports the file under test."""

    def __init__(self, job: TestsJob) -> None:
        here, there = socket.socketpair()
        parent = os.getpid()
        confinement.hide_from_ptrace()  # what is forked now could otherwise reach into this one
        self._pid = os.fork()
        if self._pid == 0:
            here.close()
            _serve(there, job, parent)
        there.close()
        self._wire = Wire(here)

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """What it answers; raises EndedError where it is gone."""
        with contextlib.suppress(OSError):  # one that is gone says so below
            self._wire.send(message)
        answer = self._wire.wait(_TICK_S)
        if answer is None:
            raise EndedError("the process of the file under test ended without an answer")
        return dict(answer)

    def close(self) -> None:
        """The end of the socket ends it; it is waited for."""
        self._wire.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _serve(end: socket.socket, job: TestsJob, parent: int) -> NoReturn:
    """Answer until requests end; the only descriptors are the socket and the output."""
    try:
        confinement.die_with_parent(parent)
        kept = end.fileno()
        os.closerange(3, kept)
        os.closerange(kept + 1, 1 << 16)
        wire = Wire(end)
        with surroundings(str(job["device"]), str(job["module"])):
            held = _Held(job)
            while not wire.gone:
                message = wire.wait(_TICK_S)
                if message is not None:
                    wire.send(held.answer(message))
    finally:
        os._exit(0)


class _Held:
    """The file under test, imported when it is first asked for."""

    def __init__(self, job: TestsJob) -> None:
        self._job = job
        self._device = place_of(str(job.get("device")))
        self._module: ModuleType | None = None
        self._number = 0

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """What a message asks for, or the error that took its place."""
        try:
            if self._module is None:
                self._module = entry_point.load_module(str(self._job["module"]))
            return (
                self._attribute_answer(message)
                if message["do"] == "get"
                else self._call_answer(message)
            )
        except partial_import.FAILURES as error:
            told = " ".join(str(error).split())[:_LONGEST]
            return {"raised": f"{type(error).__name__}: {told}", "type": type(error).__name__}

    def _attribute_answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        name = str(message["name"])
        if not hasattr(self._module, name):
            return {"missing": name}
        value = getattr(self._module, name)
        if isinstance(value, _PLAIN):
            return {"kind": "value", "value": value}
        if isinstance(value, torch.dtype):
            return {"kind": "dtype", "value": tensor_files.dtype_name(value)}
        if isinstance(entry_point.unwrap(value), entry_point.launchable_types()):
            return {"kind": "kernel"}
        if callable(value) and not isinstance(value, type):
            return {"kind": "function"}
        return {"kind": "class" if isinstance(value, type) else type(value).__name__}

    def _call_answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._number += 1
        given = tensor_files.load(message["inputs"], self._device)
        given = {name: tensor_files.own(value) for name, value in given.items()}
        before = {name: tensor_files.own(value) for name, value in given.items()}
        function = getattr(self._module, str(message["function"]))
        call = replay.caller(function, message["arguments"], list(given), self._device)
        start = time.perf_counter()
        with torch.no_grad(), one_config(self._job, {}), hooks.counted() as launches:
            returned = call(*given.values())
            synchronize(self._device)
        guess = 1 + int((time.perf_counter() - start) * _PROGRAMS_A_SECOND)
        leaves, tree = tensor_files.flatten(returned)
        folder = str(Path(f"answer{self._number}").absolute())
        return {
            "outputs": tensor_files.save(leaves, folder, "output"), "tree": tree,
            "changed": tensor_files.save(changed_inputs(before, given), folder, "changed"),
            "programs": guess if launches else 0,
        }  # fmt: skip


def _error(answer: Mapping[str, Any]) -> Exception:
    """The error of the other process, of its own type where that is one of Python's."""
    kind = getattr(builtins, str(answer["type"]), None)
    text = str(answer["raised"]).partition(": ")[2]
    if isinstance(kind, type) and issubclass(kind, Exception):
        with contextlib.suppress(TypeError):  # one that is made of more than a text
            return kind(text)
    return RuntimeError(str(answer["raised"]))


def _rebuilt(tree: Mapping[str, Any], leaves: Mapping[str, Any]) -> Any:
    kind = tree["kind"]
    if kind in ("tensor", "value"):
        return leaves[tree["name"]]
    if kind == "none":
        return None
    items = [_rebuilt(one, leaves) for one in tree["items"]]
    if kind == "dict":
        return dict(zip(tree["keys"], items, strict=True))
    return tuple(items) if kind == "tuple" else items


@contextlib.contextmanager
def forwarded(job: TestsJob, path: str) -> Iterator[ForwardedModule]:
    """A module for the file under test, until its process is ended."""
    module = ForwardedModule(job, path)
    try:
        yield module
    finally:
        module.close()
