"""The version to profile: its entry point, and inputs of a case on the device."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .. import generate, interpreting, launches, modules, pretend

INTERPRETER = "interpreter"


def place_of(device: str) -> str:
    """Where tensors lie for a device: the interpreter's are the CPU's."""
    return "cpu" if device == INTERPRETER else device


@contextlib.contextmanager
def surroundings(device: str) -> Iterator[None]:
    """What host code must find: on the interpreter, one in the place of a GPU."""
    with contextlib.ExitStack() as stack:
        if device == INTERPRETER:
            stack.enter_context(interpreting.interpreted())
            stack.enter_context(pretend.no_driver())
            stack.enter_context(pretend.tensors_claim_cuda())
            stack.enter_context(pretend.CudaOnCpu())
            stack.enter_context(launches.one_config(0, {}))
        yield


def prepared(job: dict[str, Any], device: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """What is called, and inputs of its case; made here, as nothing said of them is a verdict."""
    module = modules.load_for(job, job["module"])
    made = generate.make_inputs(job["case"], int(job.get("seed") or 0), module)
    inputs = {
        name: value.to(device) if isinstance(value, torch.Tensor) else value
        for name, value in made.items()
    }
    call, _ = modules.build_call(job, module, device)
    return call, inputs
