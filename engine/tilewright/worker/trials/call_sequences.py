"""Calls in a row on changing contents: what a version keeps from one call shows in another."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from .. import tamper
from ..inputs import tensor_files
from ..memcheck import poison
from . import version as calling
from .version import Version

if TYPE_CHECKING:
    from ..messages.parts import Entries

_FIRST, _SECOND, _THIRD = "first", "second", "third"


def perform(version: Version, job: dict[str, Any]) -> dict[str, Any]:
    """Two sets of inputs through the same memory, many calls, and the first set in new memory.

    ``job`` has ``inputs`` and ``second`` (manifests of a case), ``calls`` and ``limit_s`` (as many
    calls as fit), ``watched`` (numbers of calls to observe, from 0). Returns manifests ``first``
    (of the very first call, written out when all is over, so that whoever writes into it later is
    seen), ``second`` and ``third``, how many ``calls`` were made, and the ``facts`` of those that
    were observed. There are no bands around these calls: what looks for some finds none.
    """
    device = calling.place_of(job["device"])
    sets = [calling.arranged(job[name], job, device) for name in ("inputs", "second")]
    call, model = version.entry(job, device, calling.weights(job))
    buffers = {name: tensor_files.own(value) for name, value in sets[0].items()}
    watched, facts = set(job.get("watched") or ()), []

    def call_with_set(number: int) -> Any:
        _fill(buffers, sets[number % 2])
        if number == 1 or number in watched:
            version.kept.overwrite(model)
        if number not in watched:
            return call(*buffers.values())
        with tamper.observed(str(job["module"]), model) as seen:
            returned = call(*buffers.values())
            calling.synchronize(device)
        facts.append(seen.facts())
        return returned

    with torch.no_grad(), calling.one_config(job, {}), poison.Poison():
        first, second = call_with_set(0), call_with_set(1)
        made = 2 + _many(call_with_set, int(job["calls"]), float(job["limit_s"]), device)
        third = call(*(tensor_files.own(value) for value in sets[0].values()))
        calling.synchronize(device)
    seen = tamper.merged(facts)
    seen["steady"] = seen.get("state", [])
    found = {_FIRST: first, _SECOND: second, _THIRD: third}
    saved = {name: _saved(value, job, name) for name, value in found.items()}
    return {**saved, "calls": made + 1, "facts": seen}


def _many(call_with_set: Callable[[int], Any], calls: int, limit_s: float, device: str) -> int:
    """As many calls as fit; how many that were."""
    end = time.perf_counter() + limit_s
    for made in range(1, calls + 1):
        call_with_set(1 + made)
        if made & (made - 1) == 0:  # the host runs ahead: seldom enough, see how far the device is
            calling.synchronize(device)
        if time.perf_counter() > end:
            return made
    return calls


def _fill(buffers: dict[str, Any], contents: Mapping[str, Any]) -> None:
    """Other contents in the same memory; what is no tensor is another value."""
    for name, value in contents.items():
        if isinstance(value, torch.Tensor):
            buffers[name].untyped_storage().copy_(value.untyped_storage())
        else:
            buffers[name] = value


def _saved(returned: Any, job: Mapping[str, Any], name: str) -> Entries:
    leaves, _ = tensor_files.flatten(returned)
    return tensor_files.save(leaves, f"{job['out']}/{name}", "output")
