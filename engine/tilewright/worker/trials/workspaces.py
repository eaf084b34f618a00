"""Tensors that a version keeps from call to call, where the project permits that (``allow``).

Workspaces may hold anything: they are overwritten before each checked call, so that no result can
depend on what another call has left. Packed weights may not be overwritten: they must be the same
whatever the inputs of the first call were.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch

from .. import tamper
from ..loading import entry_call
from ..memcheck import poison

WORKSPACES, PREPACKED = "workspaces", "prepacked-weights"


class KeptTensors:
    """What one version keeps, as far as its modules and models can reach it.

    Args:
        module_file: the file under test.
        allow: what the project permits.
    """

    def __init__(self, module_file: str, allow: Collection[str]) -> None:
        self._file = module_file
        self._allow = frozenset(allow)
        self._packed: frozenset[str] = frozenset()

    @property
    def packs(self) -> bool:
        """Whether a model may pack its weights once: each call then needs a model of its own."""
        return PREPACKED in self._allow

    def overwrite(self, model: Any) -> None:
        """Fill workspaces with what nobody computes; weights and what is packed of them stay."""
        if WORKSPACES not in self._allow:
            return
        weights = _memory_of(model)
        for way, tensor in tamper.tensors_kept_by(self._file, model).items():
            is_weight = tensor.untyped_storage().data_ptr() in weights
            if way not in self._packed and not is_weight:
                with torch.no_grad():
                    poison.fill(tensor.detach())

    def prepare(self, call: Callable[..., Any], inputs: Mapping[str, Any]) -> None:
        """Have a model that may pack its weights do so, at a first call on other inputs than those
        that count: what it keeps of that call is of no use then."""
        if self.packs:
            call(*map(_otherwise, inputs.values()))

    def compared(
        self, job: Mapping[str, Any], module: Any, model: Any, inputs: Mapping[str, Any],
        state: dict[str, Any] | None, device: str,
    ) -> dict[str, list[str]]:  # fmt: skip
        """Which kept tensors a twin with the same weights has as well, though it was called with
        other inputs (``packed``), and which not (``unpacked``). ``inputs``: not those of the
        model's first call (``prepare``)."""
        own = {
            way: tensor.detach().clone()
            for way, tensor in tamper.tensors_kept_by(self._file, model, alone=True).items()
        }
        if not own:
            return {}
        twin, other = entry_call.build_call(job, module, device, state)
        twin(*(_copied(value) for value in inputs.values()))
        again = tamper.tensors_kept_by(self._file, other, alone=True)
        same = {way for way in own if way in again and _same(own[way], again[way])}
        self._packed |= same
        return {"packed": sorted(same), "unpacked": sorted(set(own) - same)}


def _memory_of(model: Any) -> frozenset[int]:
    """Where a model's weights lie."""
    if not isinstance(model, torch.nn.Module):
        return frozenset()
    weights = model.state_dict(keep_vars=True).values()
    held = (one for one in weights if isinstance(one, torch.Tensor))
    return frozenset(one.untyped_storage().data_ptr() for one in held)


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _otherwise(value: Any) -> Any:
    """Other contents of the same kind: floats of another sign and size, the rest in reverse."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.is_floating_point():
        return value.detach() * -0.75
    return value.flip(tuple(range(value.dim())))


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    flat = (value.detach().contiguous().reshape(-1).view(torch.uint8) for value in (one, other))
    return torch.equal(*flat)
