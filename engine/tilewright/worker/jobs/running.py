"""``run``: the entry point once, on a device or in Triton's interpreter, outputs written out."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from .. import calling, launches, tensors
from ..calling import INTERPRETER as INTERPRETER
from ..calling import Version
from ..calling import same_bits as same_bits
from ..calling import synchronize as synchronize


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Run once; a result says which inputs changed and which kernels were launched."""
    with calling.surroundings(job["device"]):
        return Version(job).call(job)


@contextlib.contextmanager
def surroundings(job: dict[str, Any], configs: dict[str, int]) -> Iterator[None]:
    """What the host code must find: an interpreter in place of a GPU, or one configuration."""
    with calling.surroundings(job["device"]):
        if job["device"] != INTERPRETER and job.get("config_index") is None:
            yield
            return
        with launches.one_config(int(job.get("config_index") or 0), configs):
            yield


def collect(
    job: dict[str, Any], returned: Any, inputs: dict[str, Any], counts: Counter[str]
) -> dict[str, Any]:
    """Write what came back and what was changed in place."""
    return calling.collect(job, returned, changed_inputs(job, inputs), counts)


def changed_inputs(job: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs whose bits differ from the files they came from."""
    changed: dict[str, Any] = {}
    for entry in job["inputs"]:
        value = inputs[entry["name"]]
        if isinstance(value, torch.Tensor):
            before = tensors.load_entry(entry, str(value.device))
            changed |= calling.changed_inputs(
                calling.shadowed({entry["name"]: before}, job), {entry["name"]: value}
            )
    return changed
