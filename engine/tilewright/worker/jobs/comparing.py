"""``compare``: two sets of outputs, judged by their bytes, described as a person would."""

from __future__ import annotations

import math
from typing import Any

import torch

from .. import tensors

_CHUNK = 1 << 24
_SHOWN = 6


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Counts, shapes and dtypes first, then values in double precision."""
    expected, actual = job["expected"], job["actual"]
    message = _structure(job, expected, actual)
    worst_absolute = worst_relative = 0.0
    if message is None:
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            verdict = compare_entry(one, other, float(job["rtol"]), float(job["atol"]))
            worst_absolute = max(worst_absolute, verdict[1])
            worst_relative = max(worst_relative, verdict[2])
            if verdict[0] and message is None:
                message = f"output {number}: {verdict[0]}"
    return {
        "equal": message is None,
        "message": message or "",
        "max_abs_error": worst_absolute,
        "max_rel_error": worst_relative,
    }


def _structure(job: dict[str, Any], expected: Any, actual: Any) -> str | None:
    trees = job.get("expected_tree"), job.get("actual_tree")
    if None not in trees and trees[0] != trees[1]:
        return _tree_difference(*trees)
    if len(expected) != len(actual):
        return f"expected {len(expected)} outputs, got {len(actual)}"
    return None


def _tree_difference(expected: Any, actual: Any, place: str | None = None) -> str | None:
    """Where two trees of containers first differ."""
    wanted, got = _outline(expected), _outline(actual)
    if wanted == got and expected.get("keys") != actual.get("keys"):
        wanted = "the keys " + ", ".join(expected["keys"])
        got = ", ".join(actual["keys"])
    if wanted != got:
        return f"expected {wanted} {f'as {place}' if place else 'to be returned'}, got {got}"
    items = enumerate(zip(expected.get("items", ()), actual.get("items", ()), strict=True))
    inner = (_tree_difference(*pair, f"{place or 'output'}[{at}]") for at, pair in items)
    return next((told for told in inner if told), None)


def _outline(tree: Any) -> str:
    if tree["kind"] in ("tuple", "list", "dict"):
        return f"a {tree['kind']} of {len(tree['items'])}"
    return {"none": "nothing", "tensor": "a tensor"}.get(tree["kind"], "a number")


def compare_entry(
    expected: dict[str, Any], actual: dict[str, Any], rtol: float, atol: float
) -> tuple[str | None, float, float]:
    """(what is wrong or None, largest absolute error, largest relative error)."""
    if ("file" in expected) != ("file" in actual):
        kinds = ["a tensor" if "file" in entry else "a number" for entry in (expected, actual)]
        return f"expected {kinds[0]}, got {kinds[1]}", 0.0, 0.0
    if "file" not in expected:
        return _compare_numbers(expected["value"], actual["value"], rtol, atol)
    if expected["dtype"] != actual["dtype"]:
        return f"expected dtype {expected['dtype']}, got {actual['dtype']}", 0.0, 0.0
    if list(expected["shape"]) != list(actual["shape"]):
        shapes = tuple(expected["shape"]), tuple(actual["shape"])
        return f"expected shape {shapes[0]}, got {shapes[1]}", 0.0, 0.0
    one, other = tensors.load_entry(expected), tensors.load_entry(actual)
    if one.numel() == 0:
        return None, 0.0, 0.0
    return _compare_values(one.reshape(-1), other.reshape(-1), one, other, rtol, atol)


def _compare_numbers(
    expected: Any, actual: Any, rtol: float, atol: float
) -> tuple[str | None, float, float]:
    numbers = isinstance(expected, int | float) and isinstance(actual, int | float)
    same = expected == actual and type(expected) is type(actual)
    if not same and numbers and math.isclose(expected, actual, rel_tol=rtol, abs_tol=atol):
        same = isinstance(expected, float) and isinstance(actual, float)
    return (None if same else f"expected {expected!r}, got {actual!r}"), 0.0, 0.0


def _compare_values(
    flat: torch.Tensor, flat_other: torch.Tensor, one: torch.Tensor, other: torch.Tensor,
    rtol: float, atol: float,
) -> tuple[str | None, float, float]:  # fmt: skip
    exact = not (one.is_floating_point() or one.is_complex())
    wrong = torch.zeros(flat.numel(), dtype=torch.bool)
    absolute = relative = 0.0
    for start in range(0, flat.numel(), _CHUNK):
        part = slice(start, start + _CHUNK)
        bad, errors = _judge(flat[part], flat_other[part], exact, rtol, atol)
        wrong[part] = bad
        absolute, relative = max(absolute, errors[0]), max(relative, errors[1])
    if not bool(wrong.any()):
        return None, absolute, relative
    return describe(one, other, wrong.reshape(one.shape)), absolute, relative


def _judge(
    expected: torch.Tensor, actual: torch.Tensor, exact: bool, rtol: float, atol: float
) -> tuple[torch.Tensor, tuple[float, float]]:
    if exact and expected.dtype != torch.bool:
        bad = expected != actual
        gap = (expected.double() - actual.double()).abs()
        return bad, (float(gap.max()), 0.0)
    wide = torch.complex128 if expected.is_complex() else torch.float64
    one, other = expected.to(wide), actual.to(wide)
    finite = torch.isfinite(one) & torch.isfinite(other)
    same_special = (torch.isnan(one) & torch.isnan(other)) | (one == other)
    gap = torch.where(finite, (one - other).abs(), 0.0)
    size = torch.where(finite, one.abs(), 0.0)
    bad = torch.where(finite, gap > atol + rtol * size, ~same_special)
    # Relative error says nothing of values that are zero within the absolute tolerance.
    ratio = torch.where(size > atol, gap / size.clamp_min(1e-300), 0.0)
    return bad, (float(gap.max()), float(ratio.max()))


def describe(expected: torch.Tensor, actual: torch.Tensor, wrong: torch.Tensor) -> str:
    """One sentence: how many differ, where first, and what the difference looks like."""
    count, total = int(wrong.sum()), wrong.numel()
    at = tuple(int(i) for i in wrong.nonzero()[0]) if wrong.dim() else ()
    shown = f"expected {_shown(expected[at])}, got {_shown(actual[at])}"
    place = f"at {at}" if len(at) != 1 else f"at {at[0]}"
    said = f"{count} of {total} elements differ, first {place}: {shown}"
    pattern = _pattern(expected, actual, wrong)
    return f"{said}; {pattern}" if pattern else said


def _shown(value: torch.Tensor) -> str:
    number = value.item()
    return f"{number:.{_SHOWN}g}" if isinstance(number, float) else str(number)


def _pattern(expected: torch.Tensor, actual: torch.Tensor, wrong: torch.Tensor) -> str:
    if actual.is_floating_point():
        strange = int((torch.isnan(actual) & ~torch.isnan(expected)).sum())
        if strange:
            what = "all" if strange == actual.numel() else str(strange)
            text = f"{what} of the values got are NaN where a number was expected"
            return text + _region(torch.isnan(actual) & ~torch.isnan(expected))
        missed = int((torch.isnan(expected) & ~torch.isnan(actual)).sum())
        if missed:
            return f"{missed} NaN of the original did not come back"
    if not bool(actual.bool().any()):
        return "everything got is zero"
    zeros = wrong & (actual == 0)
    if bool(zeros.any()) and torch.equal(zeros, wrong):
        return "what differs is zero" + _region(wrong)
    return _whole(expected, actual) or _region(wrong).removeprefix(", ")


def _whole(expected: torch.Tensor, actual: torch.Tensor) -> str:
    """A relation between the two as wholes: transposed, or a constant factor or offset."""
    if expected.numel() > _CHUNK or expected.is_complex():
        return ""
    one, other = expected.double(), actual.double()
    if not bool(torch.isfinite(one).all()) or not bool(torch.isfinite(other).all()):
        return ""
    if one.dim() == 2 and one.shape[0] == one.shape[1] and torch.allclose(one.T, other, 1e-2, 1e-3):
        return "what was got is the transpose"
    scale = float((one * other).sum() / (one * one).sum().clamp_min(1e-300))
    if abs(scale - 1) > 1e-3 and torch.allclose(one * scale, other, 1e-2, 1e-3 * abs(scale)):
        return f"everything got is {scale:.4g} times what was expected"
    return ""


def _region(wrong: torch.Tensor) -> str:
    """Which rows and columns differ, if they are a part of the whole and lie together."""
    names = {1: ("elements",), 2: ("rows", "columns")}.get(
        wrong.dim(), tuple(f"dimension {at}:" for at in range(wrong.dim()))
    )
    said = []
    for axis, name in enumerate(names):
        others = tuple(other for other in range(wrong.dim()) if other != axis)
        hit = wrong.any(dim=others) if others else wrong
        where = hit.nonzero().reshape(-1)
        first, last = int(where[0]), int(where[-1])
        if last - first + 1 != len(where) or len(where) == wrong.shape[axis]:
            continue
        end = "the last " if last == wrong.shape[axis] - 1 else ""
        span = f"{first}" if first == last else f"{first}..{last}"
        said.append(f"{end}{name} {span}")
    return f", all in {' and '.join(said)}" if said else ""
