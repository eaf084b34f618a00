"""What a call gave, on the judge's device; and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from .. import tensors
from ..jobs import comparing

Fault = str


@dataclass(frozen=True)
class Results:
    """A call's outputs, those of changed inputs last, and what the performer told beside."""

    names: tuple[str, ...]
    values: tuple[Any, ...]
    told: Mapping[str, Any]

    @property
    def tree(self) -> Any:
        return self.told.get("output_tree")

    @property
    def state(self) -> list[dict[str, Any]] | None:
        return self.told.get("state")

    @property
    def seconds(self) -> float:
        return float(self.told.get("seconds") or 0.0)

    @property
    def bytes_held(self) -> int:
        """What the tensors take."""
        held = (v for v in self.values if isinstance(v, torch.Tensor))
        return sum(int(value.untyped_storage().nbytes()) for value in held)


def read(reply: Mapping[str, Any], place: str) -> Results:
    """Load a reply's outputs to where the judge compares them."""
    entries = [*reply["outputs"], *reply["changed_inputs"]]
    told = {k: v for k, v in reply.items() if k not in ("outputs", "changed_inputs")}
    values = tuple(tensors.load_entry(entry, place) for entry in entries)
    if place == "cpu":  # a mapping of a file that is about to go
        values = tuple(v.clone() if isinstance(v, torch.Tensor) else v for v in values)
    return Results(tuple(str(entry["name"]) for entry in entries), values, told)


def fault(
    expected: Results,
    base: Results | None,
    actual: Results,
    case: Mapping[str, Any],
    figures: dict[str, Any] | None = None,
    *,
    widened: bool = False,
) -> Fault | None:
    """What is wrong with ``actual``, None if nothing is; errors go into ``figures``.

    ``widened``: the expected values may be of a wider type than the actual ones.
    """
    like = base or expected
    wrong = None
    if like.tree is not None and actual.tree is not None:
        wrong = comparing._structure(
            {"expected_tree": like.tree, "actual_tree": actual.tree}, like.values, actual.values
        )
    if wrong is None and len(like.values) != len(actual.values):
        wrong = f"expected {len(like.values)} outputs, got {len(actual.values)}"
    if wrong is not None:
        return wrong
    for number, value in enumerate(actual.values):
        verdict = _verdict(
            expected.values[number],
            None if base is None else base.values[number],
            value,
            case,
            widened=widened,
        )
        if figures is not None:
            _merge(figures, verdict)
        if verdict["message"]:
            return f"output {number}: {verdict['message']}"
    return None


def _verdict(
    expected: Any, base: Any, actual: Any, case: Mapping[str, Any], *, widened: bool
) -> dict[str, Any]:
    rtol, atol = float(case["rtol"]), float(case["atol"])
    like = expected if base is None else base
    if not isinstance(actual, torch.Tensor) or not isinstance(like, torch.Tensor):
        message, *errors = comparing._compare_numbers(expected, actual, rtol, atol)
        return {"message": message or "", "max_abs_error": errors[0], "max_rel_error": errors[1]}
    if like.dtype != actual.dtype and not widened:
        return {"message": f"expected dtype {like.dtype}, got {actual.dtype}"}
    if like.shape != actual.shape:
        return {"message": f"expected shape {tuple(like.shape)}, got {tuple(actual.shape)}"}
    if actual.numel() == 0:
        return {"message": ""}
    one, other = expected.cpu(), actual.cpu()
    message, *errors = comparing._compare_values(
        one.reshape(-1), other.reshape(-1), one, other, rtol, atol
    )
    return {"message": message or "", "max_abs_error": errors[0], "max_rel_error": errors[1]}


def _merge(figures: dict[str, Any], verdict: Mapping[str, Any]) -> None:
    for name, value in verdict.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            figures[name] = max(float(value), float(figures.get(name) or 0.0))
