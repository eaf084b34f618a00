"""The version to profile: its entry point, and inputs of a case on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ..inputs import generation
from ..loading import entry_call, entry_point

if TYPE_CHECKING:
    from ..messages.jobs import CountersJob, ProfileJob


def prepared(
    job: ProfileJob | CountersJob, device: str
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """What is called, and inputs of its case; made here, as nothing said of them is a verdict."""
    module = entry_point.load_for(job.get("entry"), job["module"])
    made = generation.make_inputs(job["case"], int(job.get("seed") or 0), module)
    inputs = {
        name: value.to(device) if isinstance(value, torch.Tensor) else value
        for name, value in made.items()
    }
    call, _ = entry_call.build_call(job, module, device)
    return call, inputs
