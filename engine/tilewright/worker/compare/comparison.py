"""One result against the oracle and the original's own: equal, or what a person would say of it.

Tensors of any device; nothing is copied from it but figures. The rule is in ``tolerance.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..inputs import tensor_files
from ..memcheck import poison
from . import mismatch_report
from .tolerance import Errors, Four, Rule, Tolerance, chunk_of, rows_of, wide_of

QUANTILE = 0.999
_LEAST_MISTAKEN = 3
"""Elements: fewer are alike by chance."""
_GROSS = 1.0 / 16
"""Root mean square relative to each row's largest value: what is further off has not lost
precision, it is another result."""
Verdict = dict[str, Any]


def judge(
    expected: Any, base: Any, actual: Any, *, rtol: float, atol: float,
    noisy: Sequence[torch.Tensor] = (), scaled: bool = False, wide: bool = False,
) -> Verdict:  # fmt: skip
    """Whether ``actual`` will do, as JSON.

    Args:
        expected: the oracle's: in the output's dtype, or of floats in a wider one.
        base: the original's own output; None where that is judged itself, or is the oracle.
        actual: the result in question.
        rtol, atol: the spec's.
        noisy: what the oracle gives on inputs that are off by an ulp of single precision.
        scaled: the inputs were not of the size that ``atol`` was written for.
        wide: without ``base``, that the oracle may be wider than the output.

    Returns ``equal``, ``message`` (empty if equal), ``max_abs_error``, ``max_rel_error``,
    ``error_ratio`` (of root mean squares, candidate to original), ``error_ratio_max``,
    ``error_ratio_999`` (None where there is no original to compare with), ``wrong`` (elements) and
    ``notes``.
    """
    contract = expected if base is None else base
    fault = metadata_fault(contract, actual, wide=wide and base is None)
    if fault is not None or not isinstance(actual, torch.Tensor):
        return verdict(fault or _number_fault(expected, actual, rtol, atol))
    notes = _layout_notes(contract, actual)
    if tuple(expected.shape) != tuple(actual.shape):
        return verdict(f"the expected shape is {tuple(expected.shape)}", notes)
    if actual.numel() == 0:
        return verdict(None, notes)
    if not (actual.is_floating_point() or actual.is_complex()):
        return _exact(expected, actual, notes)
    if actual.is_complex():
        expected, actual = torch.view_as_real(expected), torch.view_as_real(actual)
        base = None if base is None else torch.view_as_real(base)
        noisy = [torch.view_as_real(one) for one in noisy]
    return _floats(expected, base, actual, tuple(noisy), Tolerance(rtol, atol, scaled), notes)


def judge_outputs(
    expected: Mapping[str, Any], base: Mapping[str, Any] | None, actual: Mapping[str, Any], *,
    rtol: float, atol: float, noisy: Sequence[Mapping[str, Any]] = (), scaled: bool = False,
    wide: bool = False,
) -> Verdict:  # fmt: skip
    """``judge`` for each of the outputs, by place; the first that is wrong speaks for all.

    The names of outputs are shown; those of ``actual`` may be others.
    """
    if len(expected) != len(actual):
        return verdict(_count_fault(expected, actual))
    total = verdict(None)
    for number, (name, one) in enumerate(actual.items()):
        wanted = list(expected.values())[number]
        own = None if base is None else list(base.values())[number]
        noises = [list(values.values())[number] for values in noisy]
        part = judge(wanted, own, one, rtol=rtol, atol=atol, noisy=noises, scaled=scaled, wide=wide)
        if part["message"]:
            said = part["message"]
            if not total["message"]:
                said += _mistaken(number, one, base or expected, rtol, atol)
            part["message"] = f"{name if len(actual) > 1 else 'output'}: {said}"
        total = _joined(total, part)
    return total


def _mistaken(
    number: int, actual: Any, contract: Mapping[str, Any], rtol: float, atol: float
) -> str:
    """That a wrong output is right for another one, as where two are swapped."""
    if not isinstance(actual, torch.Tensor) or actual.numel() < _LEAST_MISTAKEN:
        return ""
    for at, (name, wanted) in enumerate(contract.items()):
        if at != number and judge(wanted, None, actual, rtol=rtol, atol=atol)["equal"]:
            return f"; it is what {name} should be"
    return ""


def _count_fault(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> str:
    """In-place changes are outputs too, by the name of the input."""
    said = f"expected {len(expected)} outputs, got {len(actual)}"
    missing = [name for name in expected if name not in actual]
    beside = [name for name in actual if name not in expected]
    if len(missing) == len(expected) - len(actual):
        return f"{said}: {', '.join(missing)} did not come back or was not changed in place"
    if len(beside) == len(actual) - len(expected):
        return f"{said}: {', '.join(beside)} came back or was changed in place as well"
    return said


def verdict(message: str | None, notes: Sequence[str] = (), **figures: Any) -> Verdict:
    """A verdict without figures but those given."""
    return {
        "equal": message is None,
        "message": message or "",
        "max_abs_error": 0.0,
        "max_rel_error": 0.0,
        "error_ratio": None,
        "error_ratio_max": None,
        "error_ratio_999": None,
        "wrong": 0,
        "notes": list(notes),
        **figures,
    }


def _joined(total: Verdict, part: Verdict) -> Verdict:
    worst = {
        key: max((v for v in (total[key], part[key]) if v is not None), default=None)
        for key in ("max_abs_error", "max_rel_error", "error_ratio", "error_ratio_max",
                    "error_ratio_999")
    }  # fmt: skip
    return {
        "equal": total["equal"] and part["equal"],
        "message": total["message"] or part["message"],
        "wrong": total["wrong"] + part["wrong"],
        "notes": [*total["notes"], *part["notes"]],
        **worst,
    }


def metadata_fault(contract: Any, actual: Any, *, wide: bool = False) -> str | None:
    """What is wrong with the kind, dtype or shape of a result; ``wide``: dtypes may differ."""
    kinds = [_kind(value) for value in (contract, actual)]
    if kinds[0] != kinds[1]:
        return f"expected {kinds[0]}, got {kinds[1]}"
    if not isinstance(actual, torch.Tensor):
        return None
    if contract.dtype != actual.dtype and not (wide and _wider(contract.dtype, actual.dtype)):
        named = [tensor_files.dtype_name(value.dtype) for value in (contract, actual)]
        return f"expected dtype {named[0]}, got {named[1]}"
    if tuple(contract.shape) != tuple(actual.shape):
        return f"expected shape {tuple(contract.shape)}, got {tuple(actual.shape)}"
    return None


def _kind(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "a tensor"
    return "nothing" if value is None else "a number"


def _wider(dtype: torch.dtype, than: torch.dtype) -> bool:
    return dtype.is_floating_point and than.is_floating_point and dtype.itemsize > than.itemsize


def _layout_notes(contract: torch.Tensor, actual: torch.Tensor) -> list[str]:
    if contract.stride() == actual.stride() or actual.numel() <= 1:
        return []
    return [f"strides are {tuple(actual.stride())} instead of {tuple(contract.stride())}"]


def _number_fault(expected: Any, actual: Any, rtol: float, atol: float) -> str | None:
    same = expected == actual and type(expected) is type(actual)
    if not same and isinstance(expected, float) and isinstance(actual, float):
        same = math.isclose(expected, actual, rel_tol=rtol, abs_tol=atol)
        same = same or (math.isnan(expected) and math.isnan(actual))
    return None if same else f"expected {expected!r}, got {actual!r}"


def _exact(expected: torch.Tensor, actual: torch.Tensor, notes: list[str]) -> Verdict:
    if expected.dtype != actual.dtype:
        expected = expected.to(actual.dtype)
    wrong = expected != actual
    count = int(wrong.sum())
    if not count:
        return verdict(None, notes)
    gap = float((expected.double() - actual.double()).abs().max())
    told = mismatch_report.describe(expected, actual, wrong)
    return verdict(told, notes, max_abs_error=gap, wrong=count)


def _floats(
    expected: torch.Tensor, base: torch.Tensor | None, actual: torch.Tensor,
    noisy: tuple[torch.Tensor, ...], tolerance: Tolerance, notes: list[str],
) -> Verdict:  # fmt: skip
    is_wide = _wider(expected.dtype, actual.dtype)
    rule = Rule.for_output(tolerance, actual.dtype, is_wide, actual.numel())
    errors, wrong = Errors.for_elements(actual.numel()), None
    for at, four in _chunks(expected, base, actual, noisy):
        bad = rule.judge(four, errors)
        if wrong is None and bool(bad.any()):
            wrong = torch.zeros(actual.numel(), dtype=torch.bool, device=actual.device)
        if wrong is not None:
            wrong[at : at + bad.numel()] = bad.reshape(-1)
    figures = _figures(rule, errors, has_base=base is not None)
    notes = [*notes, *_odd_notes(errors)]
    if wrong is not None:
        told = mismatch_report.describe(expected, actual, wrong.view(actual.shape))
        if base is not None:
            told += _precision_note(rule, errors)
        return verdict(told, notes, wrong=int(wrong.sum()), **figures)
    good, limit = rule.whole(errors)
    if base is None or good:
        return verdict(None, notes, **figures)
    return verdict(_worse(rule, errors, limit), notes, **figures)


def _chunks(
    expected: torch.Tensor, base: torch.Tensor | None, actual: torch.Tensor,
    noisy: tuple[torch.Tensor, ...],
) -> Any:  # fmt: skip
    """(number of the first element, the chunk of all results)."""
    most, wide = chunk_of(actual), wide_of(actual)
    results = [expected, actual, *noisy, *([] if base is None else [base])]
    at = 0
    for parts in zip(*(rows_of(one, most) for one in results), strict=True):
        oracle, got, *others = (part.to(wide) for part in parts)
        own = None if base is None else others.pop()
        # Without an original next to it, what is expected is the original's.
        written = poison.written(parts[0] if base is None else parts[-1])
        yield at, Four(oracle, got, own, tuple(others), written)
        at += got.numel()


def _figures(rule: Rule, errors: Errors, *, has_base: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"max_abs_error": errors.largest, "max_rel_error": errors.relative}
    if not has_base:
        return found
    own = 0.5 * rule.eps
    highest = errors.highest.get("actual", 0.0) / max(errors.highest.get("base", 0.0), own)
    quantile = errors.quantile("actual", QUANTILE) / max(errors.quantile("base", QUANTILE), own)
    return {
        **found,
        "error_ratio": rule.ratio(errors),
        "error_ratio_max": highest,
        "error_ratio_999": quantile,
    }


def _odd_notes(errors: Errors) -> list[str]:
    notes = []
    if errors.strange:
        notes.append(
            f"{errors.strange} values are NaN or infinite in only one of the original and its "
            "reference; there the original counts"
        )
    if errors.unwritten:
        notes.append(
            f"the original leaves {errors.unwritten} elements unwritten; they are not compared"
        )
    return notes


def _precision_note(rule: Rule, errors: Errors) -> str:
    if not errors.beyond:
        return f"; {_tolerance_text(rule)}, but {_times(rule, errors)}: a loss of precision"
    good, _ = rule.whole(errors)
    return "" if good or errors.mean("actual") > _GROSS else f"; {_times(rule, errors)}"


def _worse(rule: Rule, errors: Errors, limit: float) -> str:
    return (
        f"{_times(rule, errors)}: {_tolerance_text(rule)}, but a loss of precision "
        "(root mean square, "
        f"relative to each row's largest value: {errors.mean('actual'):.2g}, at most {limit:.2g} "
        "would do)"
    )


def _tolerance_text(rule: Rule) -> str:
    return f"within rtol {rule.tolerance.rtol:g} and atol {rule.tolerance.atol:g}"


def _times(rule: Rule, errors: Errors) -> str:
    return f"its error is {rule.ratio(errors):.3g} times the original's"
