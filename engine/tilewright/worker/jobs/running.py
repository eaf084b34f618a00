"""``run``: the entry point once, on a device or in Triton's interpreter, outputs written out."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from .. import bands, guard, interpreting, launches, modules, poison, pretend, tensors, watching
from ..protocol import JobError

INTERPRETER = "interpreter"


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Run once; a result says which inputs changed and which kernels were launched."""
    device = "cpu" if job["device"] == INTERPRETER else job["device"]
    configs: dict[str, int] = {}
    around = bands.Bands() if job.get("guard", True) else None
    with surroundings(job, configs), torch.no_grad():
        module = modules.load_for(job, job["module"])
        inputs = shadowed(tensors.load(job["inputs"], device), job)
        state = shadowed(tensors.load(job["state"], device), job) if job.get("state") else None
        call, model = modules.build_call(shadowed_case(job), module, device, state)
        if around is not None:
            inputs = around.place_all(inputs, "input")
            if model is not None:
                around.place_weights(model)
        with launches.counted() as counts, _poisoned(job, around), _order(job):
            start = time.perf_counter()
            returned = call(*inputs.values())
            synchronize(device)
            seconds = time.perf_counter() - start
    value = collect(job, returned, inputs, counts)
    leaves, _ = tensors.flatten(returned)
    faults = around.out_of_bounds(leaves) if around is not None else []
    value["out_of_bounds"] = [fault.text for fault in faults]
    value["out_of_bounds_lines"] = [fault.lines for fault in faults]
    if job.get("keep_state") and model is not None:
        value["state"] = tensors.save(model.state_dict(), job["out"], "state")
    return {**value, "configs": configs, "caveats": _caveats(job), "seconds": seconds}


@contextlib.contextmanager
def surroundings(job: dict[str, Any], configs: dict[str, int]) -> Iterator[None]:
    """What the host code must find: an interpreter in place of a GPU, or one configuration."""
    interpret = job["device"] == INTERPRETER
    with contextlib.ExitStack() as stack:
        if interpret:
            stack.enter_context(interpreting.interpreted())
            stack.enter_context(pretend.no_driver())
            stack.enter_context(pretend.tensors_claim_cuda())
            stack.enter_context(pretend.CudaOnCpu())
        if interpret or job.get("config_index") is not None:
            index = int(job.get("config_index") or 0)
            stack.enter_context(launches.one_config(index, configs))
        yield


@contextlib.contextmanager
def _poisoned(job: dict[str, Any], around: bands.Bands | None) -> Iterator[None]:
    """Unwritten memory full of poison, between bands, with an eye on who reaches them."""
    with contextlib.ExitStack() as stack:
        if around is not None:
            stack.enter_context(guard.Guard(around))
            if job["device"] == INTERPRETER:
                stack.enter_context(watching.watched(around))
        if job.get("poison", True):
            stack.enter_context(poison.Poison())
        yield


def _order(job: dict[str, Any]) -> contextlib.AbstractContextManager[None]:
    order = job.get("order", "forward")
    if order == "forward":
        return contextlib.nullcontext()
    if order != "reversed":
        raise JobError(f"no order of programs is called {order!r}; there are forward and reversed")
    if job["device"] != INTERPRETER:
        raise JobError("only the interpreter runs programs in an order of one's choice")
    return interpreting.programs_reversed()


def synchronize(device: str) -> None:
    """Wait for a device; what failed on it raises here."""
    kind = device.split(":")[0]
    if kind == "cuda":
        torch.cuda.synchronize(device)
    elif kind == "xpu":
        torch.xpu.synchronize(device)


def shadowed(values: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Tensors of a dtype that the interpreter gets wrong, in the dtype asked for instead."""
    mapping = job.get("shadow_dtype") or {}
    made = {}
    for name, value in values.items():
        if isinstance(value, torch.Tensor) and tensors.dtype_name(value.dtype) in mapping:
            wanted = mapping[tensors.dtype_name(value.dtype)]
            value = value.to(tensors.dtype_of(wanted))
        made[name] = value
    return made


def shadowed_case(job: dict[str, Any]) -> dict[str, Any]:
    mapping, dtype = job.get("shadow_dtype") or {}, job["case"].get("dtype")
    return {**job, "case": {**job["case"], "dtype": mapping.get(dtype, dtype)}}


def collect(
    job: dict[str, Any], returned: Any, inputs: dict[str, Any], counts: Counter[str]
) -> dict[str, Any]:
    """Write what came back and what was changed in place."""
    leaves, tree = tensors.flatten(returned)
    changed = changed_inputs(job, inputs)
    return {
        "outputs": tensors.save(leaves, job["out"], "output"),
        "output_tree": tree,
        "inputs_changed": list(changed),
        "changed_inputs": tensors.save(changed, job["out"], "changed"),
        "launches": dict(counts),
    }


def changed_inputs(job: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs whose bits differ from the files they came from."""
    changed = {}
    for entry in job["inputs"]:
        value = inputs[entry["name"]]
        if not isinstance(value, torch.Tensor):
            continue
        before = shadowed({"x": tensors.load_entry(entry, str(value.device))}, job)["x"]
        if not same_bits(before, value):
            changed[entry["name"]] = value
    return changed


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors hold the same bits, NaN payloads included."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    one, other = one.contiguous().reshape(-1), other.contiguous().reshape(-1)
    return bool(torch.equal(one.view(torch.uint8), other.view(torch.uint8)))


def _caveats(job: dict[str, Any]) -> list[str]:
    if job["device"] != INTERPRETER:
        return []
    said = [
        "the interpreter runs programs one after another: a race shows only where their order "
        "changes the result"
    ]
    dtypes = {entry.get("dtype") for entry in job["inputs"]} | {job["case"].get("dtype")}
    mapping = job.get("shadow_dtype") or {}
    if "bfloat16" in dtypes and "bfloat16" not in mapping:
        said.append("the interpreter computes bfloat16 wrongly: a difference may be its own")
    for source, stand_in in mapping.items():
        if source in dtypes:
            said.append(f"{source} was computed in {stand_in}")
    return said
