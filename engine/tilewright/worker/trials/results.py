"""Results of a call on the coordinator's device, and their faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import torch

from ..compare import comparison, output_tree
from ..inputs import tensor_files
from .version import WEIGHT

if TYPE_CHECKING:
    from ..messages.parts import Entries
    from ..messages.trial import Called, Check, Message, Record

Fault = str


@dataclass(frozen=True)
class Results:
    """A call's outputs, then changed inputs, then changed weights and buffers of a module; and what
    the runner told beside."""

    names: tuple[str, ...]
    values: tuple[Any, ...]
    told: Called

    @property
    def named(self) -> dict[str, Any]:
        """Values by name; an input that was changed may be called as an output is."""
        pairs = enumerate(zip(self.names, self.values, strict=True))
        return {
            f"{name} (changed)" if name in self.names[:at] else name: value
            for at, (name, value) in pairs
        }

    @property
    def returned(self) -> Results:
        """The same without what the call changed of a module's own weights and buffers."""
        kept = sum(not name.startswith(WEIGHT) for name in self.names)
        return replace(self, names=self.names[:kept], values=self.values[:kept])

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The values that are tensors."""
        return [value for value in self.values if isinstance(value, torch.Tensor)]

    @property
    def tree(self) -> Any:
        return self.told.get("output_tree")

    @property
    def state(self) -> Entries | None:
        return self.told.get("state")

    @property
    def seconds(self) -> float:
        return float(self.told.get("seconds") or 0.0)

    @property
    def seconds_alone(self) -> float:
        """What the call takes where the interpreter runs its programs one after another."""
        told = self.told.get("interpreted") or {}
        programs, steps = told.get("programs") or 1, told.get("steps") or 1
        return self.seconds * max(1.0, programs / steps)

    @property
    def configs(self) -> int:
        """Configurations that a tuner chose from; 1 without one."""
        return max(self.told.get("configs", {}).values(), default=1)

    @property
    def bytes_held(self) -> int:
        """What the tensors take."""
        return sum(int(value.untyped_storage().nbytes()) for value in self.tensors)


def read(reply: Called, place: str) -> Results:
    """Load a reply's outputs to where the coordinator compares them."""
    entries = [*reply["outputs"], *reply["changed_inputs"]]
    told = cast(
        "Called", {k: v for k, v in reply.items() if k not in ("outputs", "changed_inputs")}
    )
    values = tuple(tensor_files.load_entry(entry, place) for entry in entries)
    if place == "cpu":  # a mapping of a file that is about to go
        values = tuple(v.clone() if isinstance(v, torch.Tensor) else v for v in values)
    return Results(tuple(str(entry["name"]) for entry in entries), values, told)


def fault(
    expected: Results,
    base: Results | None,
    actual: Results,
    check: Check | Message,
    figures: Record | None = None,
    noisy: Sequence[Results] = (),
) -> Fault | None:
    """What is wrong with ``actual``, None if nothing is; errors go into ``figures``.

    ``base``: the original's, where ``expected`` is another's; without it ``expected`` may be of a
    wider type. ``noisy``: what the oracle gives on inputs that are off by an ulp.
    """
    like = base or expected
    if like.tree is not None and actual.tree is not None:
        wrong = output_tree.difference(like.tree, actual.tree)
        if wrong is not None:
            return wrong
    case = check["case"]
    verdict = comparison.judge_outputs(
        expected.named, None if base is None else base.named, actual.named,
        rtol=float(case["rtol"]), atol=float(case["atol"]), noisy=[one.named for one in noisy],
        scaled=check.get("values", "normal") != "normal", wide=base is None,
    )  # fmt: skip
    if figures is not None:
        _merge(cast("dict[str, Any]", figures), verdict)
    return verdict["message"] or None


def _merge(figures: dict[str, Any], verdict: Mapping[str, Any]) -> None:
    for name, value in verdict.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            figures[name] = max(float(value), float(figures.get(name) or 0.0))
    for note in verdict["notes"]:
        if note not in figures.setdefault("remarks", []):
            figures["remarks"].append(note)
