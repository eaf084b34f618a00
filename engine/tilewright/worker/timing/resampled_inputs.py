"""New contents for the same inputs: reproducible from a number, as valid as what they came from.

Floats are rolled along a dimension, so that every value stays one that the input may have; where
the problem draws them symmetrically about zero, a run of rows also changes its sign, so that no sum
or statistic stays the same. Integers, masks and structured inputs (triangular, symmetric, sorted,
overlapping) are left alone: a change could make them invalid.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from ..inputs import tensor_files

KEEP = "keep"
ROLL = "roll"
ROLL_AND_SIGN = "roll_and_sign"
MAX_SETS = 16

_STRUCTURED = {"symmetric", "triu", "tril"}
_FEW = 64
_ONE_SIDED = {"softmax", "abs"}


def turn_of(turn: int, which: int) -> int:
    """The turn of one set of inputs within a block's turn."""
    return turn * MAX_SETS + which


def plan_for(values: Mapping[str, Any], case: Mapping[str, Any] | None = None) -> dict[str, str]:
    """How each tensor is refreshed, by name; the same on both sides, for it asks contents alone."""
    specs = {spec["name"]: spec for spec in (case or {}).get("inputs") or ()}
    found = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
    shared = _shared(found)
    return {
        name: KEEP if name in shared else _how(value, specs.get(name))
        for name, value in found.items()
    }


def refreshed(
    values: Mapping[str, Any], turn: int, plan: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The inputs of a turn, in tensors of their own; ``values`` are left as they are."""
    plan = plan_for(values) if plan is None else plan
    made = {}
    for name, value in values.items():
        made[name] = value
        if isinstance(value, torch.Tensor) and plan.get(name, KEEP) != KEEP:
            made[name] = torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device=value.device
            )
            refresh_into(made[name], value, turn, name, plan[name])
        elif isinstance(value, torch.Tensor):
            made[name] = tensor_files.copy_of(value)
    return made


def refresh_into(
    target: torch.Tensor, source: torch.Tensor, turn: int, name: str, how: str
) -> None:
    """Write a turn's contents of ``source`` into ``target``."""
    if how == KEEP:
        # By storage: tensors whose elements overlap cannot be written one by one.
        target.untyped_storage().copy_(source.untyped_storage())
        return
    draw = random.Random(f"{turn}:{name}")
    dim, last = _rolled_dim(source), source.dim() - 1
    size = source.shape[dim]
    shift = draw.randrange(1, size)
    if size < _FEW and last != dim and source.shape[last] > 1:
        # So few rows have but a few places to be in: what is in them moves too.
        source = source.roll(draw.randrange(source.shape[last]), last)
    target.narrow(dim, 0, shift).copy_(source.narrow(dim, size - shift, shift))
    target.narrow(dim, shift, size - shift).copy_(source.narrow(dim, 0, size - shift))
    if how == ROLL_AND_SIGN:
        first, length = draw.randrange(size), draw.randrange(1, size // 2 + 1)
        target.narrow(dim, first, min(length, size - first)).neg_()


def _how(value: torch.Tensor, spec: Mapping[str, Any] | None) -> str:
    if not (value.is_floating_point() or value.is_complex()) or value.numel() < 2:
        return KEEP
    if _overlaps(value) or _structured(value):
        return KEEP
    if spec is None:
        return ROLL
    transforms = set(spec.get("transforms") or ())
    if transforms & _STRUCTURED or spec.get("values") or spec.get("ascending"):
        return KEEP
    bounded = any(spec.get(key) is not None for key in ("low", "high", "std", "value"))
    if bounded or transforms & _ONE_SIDED or value.element_size() < 2:
        return ROLL
    return ROLL_AND_SIGN


def _sorted(value: torch.Tensor) -> bool:
    """Whether every row ascends, and not all of it is one number."""
    for rows in (value[(0,) * (value.dim() - 1)], value):  # the first row tells most others apart
        if not bool((rows[..., 1:] >= rows[..., :-1]).all()):
            return False
    return bool((value[..., 0] < value[..., -1]).any())


def _rolled_dim(value: torch.Tensor) -> int:
    return next(dim for dim, size in enumerate(value.shape) if size > 1)


def _shared(found: Mapping[str, torch.Tensor]) -> set[str]:
    """Names of tensors that lie in one storage with another."""
    places: dict[int, list[str]] = {}
    for name, value in found.items():
        places.setdefault(value.untyped_storage().data_ptr(), []).append(name)
    return {name for names in places.values() if len(names) > 1 for name in names}


def _overlaps(value: torch.Tensor) -> bool:
    sizes = zip(value.shape, value.stride(), strict=True)
    return any(stride == 0 and size > 1 for size, stride in sizes)


def _structured(value: torch.Tensor) -> bool:
    """Whether contents have an order that rolling would break: sorted, triangular, symmetric."""
    if value.is_complex() or value.element_size() < 2:
        return False
    dim = _rolled_dim(value)
    if _sorted(value.reshape(-1) if value.numel() == value.shape[dim] else value):
        return True
    if value.dim() < 2 or value.shape[-1] != value.shape[-2]:
        return False
    square = value.reshape(-1, *value.shape[-2:])[0]
    return (
        torch.equal(square, square.T)
        or not bool(square.triu(1).any())
        or not bool(square.tril(-1).any())
    )
