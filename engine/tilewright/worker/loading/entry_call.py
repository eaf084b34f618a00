"""Calling the entry point of a file under test: a function, a model with its weights, a launch."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from ..inputs import tensor_files
from ..launches import replay
from ..protocol import JobError
from . import entry_point

if TYPE_CHECKING:
    from ..messages.envelope import EntryJob

_STATE_SEED = 20_011


def build_call(
    job: EntryJob[Any] | Mapping[str, Any],
    module: ModuleType,
    device: str,
    state: dict[str, Any] | None = None,
) -> tuple[Callable[..., Any], torch.nn.Module | None]:
    """(what to call with the inputs, the model if the entry is one)."""
    entry, case = job["entry"], job["case"]
    if entry["kind"] == "launch":
        return replay.launcher(job, module), None
    if call := case.get("call"):
        names = [one["name"] for one in case["inputs"]]
        name, _, inner = call["function"].partition(".")
        target = entry_point.find_entry({"kind": "function", "name": name}, module)
        target = getattr(target, inner) if inner else target
        return replay.caller(target, json.loads(call["arguments"]), names, device), None
    target = entry_point.find_entry(entry, module)
    if entry["kind"] == "function":
        return target, None
    torch.manual_seed(_STATE_SEED)
    arguments = case.get("init_args") or ()
    if not arguments and case.get("inputs_from_module") and hasattr(module, "get_init_inputs"):
        arguments = module.get_init_inputs()
    model = target(*arguments, **(case.get("init_named") or {}))
    if not isinstance(model, torch.nn.Module):
        raise JobError(f"{entry['name']} is no torch.nn.Module")
    dtype = case.get("dtype")
    model = model.to(device=device, dtype=tensor_files.dtype_of(dtype) if dtype else None).eval()
    if memory_format := case.get("memory_format"):
        model = model.to(memory_format=getattr(torch, memory_format))  # type: ignore[call-overload]
    if state is not None:
        load_state(model, state)
    return model, model


def load_state(model: torch.nn.Module, state: dict[str, Any]) -> None:
    """Give the model the weights of ``state``: by name, else by position where all shapes agree,
    else by shape and the last part of their names, where that leaves no choice.

    Shapes may differ in extents of 1: a scale for each channel is often kept as (channels, 1, 1).
    """
    own = model.state_dict()
    found = {name: state[name] for name in own if name in state}
    if not _fits(own, state, found):
        found = dict(zip(own, state.values(), strict=False))
    if not _fits(own, state, found):
        found = _paired(own, state)
    if not _fits(own, state, found):
        raise JobError(
            "the model's parameters do not match the original's: it has "
            f"{_listed(own)}, the original {_listed(state)}"
        )
    shaped = {name: value.reshape(own[name].shape) for name, value in found.items()}
    model.load_state_dict(shaped, strict=True)


def _fits(own: Mapping[str, Any], state: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether each weight has one of the other model's, and each of those is had."""
    return len(found) == len(own) == len(state) and all(
        _extents(own[name]) == _extents(value) for name, value in found.items()
    )


def _extents(value: Any) -> tuple[int, ...]:
    return tuple(extent for extent in value.shape if extent != 1)


def _paired(own: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """The one weight of equal shape for each, or the one with the same last part of its name."""
    found: dict[str, Any] = {}
    for name, value in own.items():
        fitting = [other for other, held in state.items() if _extents(held) == _extents(value)]
        if len(fitting) > 1:
            last = name.rpartition(".")[2]
            fitting = [other for other in fitting if other.rpartition(".")[2] == last]
        if len(fitting) == 1:
            found[name] = state[fitting[0]]
    taken = {id(value) for value in found.values()}
    return found if len(taken) == len(found) else {}


def _listed(state: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {tuple(value.shape)}" for name, value in state.items()) or "none"
