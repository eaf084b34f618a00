"""How far a call's result is from a reference: an operator of torch, or a function of the file.

Only gross differences count; rounding never does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from ..inputs import tensor_files
from ..protocol import JobError
from .readings import readings

if TYPE_CHECKING:
    from ..messages.drafted import Deviation, Reference

_TOLERANCE = 0.05
_NARROW = 0.15
_SHARES = {
    torch.float64: 1e-3, torch.float32: 1e-3, torch.float16: 0.01, torch.bfloat16: 0.03,
    torch.int16: 0.0, torch.int32: 0.0, torch.int64: 0.0, torch.bool: 0.0,
}  # fmt: skip
_SHARE_OF_8_BITS = 0.15
_ROUNDED = 0.1
"""The share of integers of 8 bits that may be another one: few lie between two of them."""
_LEAST = 1e-3
"""What is this small may be the rounding of something larger."""
Found = tuple["Deviation | None", bool]
"""(the deviation, whether the reference could be computed and agrees)."""
_NOTHING: Found = (None, False)


def from_operator(reference: Reference, made: Mapping[str, Any], result: torch.Tensor) -> Found:
    """A result against all readings of an operator; the nearest one is named where none agrees."""
    values = {role: _wide(made[name]) for role, name in reference["roles"].items()}
    found: list[tuple[float, Deviation]] = []
    for name, one in readings(reference["operator"], values):
        if one.shape != result.shape:
            continue
        if name == "torch.argmax":
            told = _of_places(name, values["x"], one, result)
        else:
            told = _deviation(name, one, result)
        if told is None:
            return None, True
        found.append((_distance(one, result), told))
    return (min(found, key=lambda one: one[0])[1], False) if found else _NOTHING


def from_function(name: str, expected: Any, returned: Any) -> Found:
    """What a function returned against what another one of the file did, tensor by tensor."""
    try:
        there, here = (
            [
                one
                for one in tensor_files.flatten(value)[0].values()
                if isinstance(one, torch.Tensor)
            ]
            for value in (expected, returned)
        )
    except JobError:
        return _NOTHING
    pairs = [*zip(there, here, strict=False)]
    if not pairs or any(one.shape != other.shape for one, other in pairs):
        return _NOTHING
    for one, other in pairs:
        told = _deviation(name, one.detach(), other.detach())
        if told is not None:
            return told, False
    return None, True


def _distance(expected: torch.Tensor, result: torch.Tensor) -> float:
    """How far apart two tensors are in the mean."""
    off = (expected.double() - result.double()).abs()
    return float(torch.nan_to_num(off, nan=torch.inf, posinf=torch.inf).mean())


def _wide(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    return value


def _deviation(name: str, expected: torch.Tensor, result: torch.Tensor) -> Deviation | None:
    """The element that is furthest off, if any is by more than a share of the largest one."""
    a, b = expected.double(), result.double()
    finite = torch.isfinite(a)
    if not bool(finite.any()):
        return None
    scale = max(float(a[finite].abs().max()), 1e-3)
    narrow = result.is_floating_point() and result.dtype not in (torch.float32, torch.float64)
    off = (a - b).abs() / scale
    off = torch.where(torch.isfinite(b), off, torch.inf)
    if result.is_floating_point():
        finite &= a.abs() < torch.finfo(result.dtype).max
    wrong = finite & (off > (_NARROW if narrow else _TOLERANCE))
    return _furthest(name, a, b, wrong, torch.where(wrong, off, -1.0))


def compared(name: str, expected: torch.Tensor, result: torch.Tensor) -> Deviation | None:
    """The element that is furthest off a reference that knows the function's own conventions.

    An element may be off by a share of itself, or of the root of the mean square where that is
    larger; whole numbers of more than 8 bits not at all, and of those of 8 bits only few. What the
    reference has not finite, or too large for the result's type, says nothing.
    """
    a, b = expected.double(), result.double()
    known = torch.isfinite(a)
    if result.is_floating_point():
        known &= a.abs() <= torch.finfo(result.dtype).max
    if not bool(known.any()):
        return None
    size = float(a[known].square().mean().sqrt())
    off = torch.where(torch.isfinite(b), (a - b).abs(), torch.inf)
    if result.dtype in (torch.int8, torch.uint8) and float((off >= 1).double().mean()) > _ROUNDED:
        return _furthest(name, a, b, known & (off >= 1), torch.where(known, off, -1.0))
    off = off / a.abs().clamp(min=max(size, _LEAST))
    wrong = known & (off > _SHARES.get(result.dtype, _SHARE_OF_8_BITS))
    return _furthest(name, a, b, wrong, torch.where(wrong, off, -1.0))


def _of_places(
    name: str, x: torch.Tensor, expected: torch.Tensor, result: torch.Tensor
) -> Deviation | None:
    """Places of largest elements: of equal elements each may be named."""
    axis = next((n for n in range(x.ndim) if torch.equal(x.argmax(n), expected)), None)
    if axis is None:
        return None
    there = result.long().unsqueeze(axis)
    inside = (there >= 0) & (there < x.shape[axis])
    held = x.gather(axis, there.clamp(0, x.shape[axis] - 1))
    wrong = ~(inside & (held == x.amax(axis, keepdim=True))).squeeze(axis)
    return _furthest(name, expected.double(), result.double(), wrong, wrong.double())


def _furthest(
    name: str, a: torch.Tensor, b: torch.Tensor, wrong: torch.Tensor, off: torch.Tensor
) -> Deviation | None:
    count = int(wrong.sum())
    if not count:
        return None
    flat = int(off.reshape(-1).argmax())
    at = [int(one) for one in torch.unravel_index(torch.tensor(flat), a.shape)]
    return {
        "of": name, "at": at, "expected": f"{float(a.reshape(-1)[flat]):.4g}",
        "found": f"{float(b.reshape(-1)[flat]):.4g}", "wrong": count, "elements": a.numel(),
    }  # fmt: skip
