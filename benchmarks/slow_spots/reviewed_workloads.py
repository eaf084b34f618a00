"""What reviews of lost time report of the cases, as workloads: a function and its faster version.

Each is called as the first call of its review says, which is small: it is the one whose costs are
counted in the interpreter.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from reported_cases import cases
from review_record import LOST_TIME, VERSIONS
from workload import Workload

from tilewright.agents import speed_reviewer
from tilewright.agents.model import Unusable
from tilewright.executed.reviews import is_fault_of, reviewed_functions
from tilewright.source import parse_module
from tilewright.worker.loading.entry_point import load_module

NOT_RUN: Mapping[str, str] = {
    "xformers/five_hundred_columns_for_any_width faulty IndexSelectCat.apply": (
        "the call of its review is refused"
    ),
    "trl/two_passes_over_the_logits faulty logps_and_entropies": (
        "results with NaN count as different here"
    ),
}
"""What is reported and not timed, each with the reason."""


@dataclass(frozen=True)
class Reviewed:
    """The texts of a file and of a review's module, and how both are called."""

    file: str
    module: str
    workload: Workload


def reviewed_workloads() -> Mapping[str, Reviewed]:
    """One for each function of which a place was reported, by "case version function"; methods are
    left out, as their objects are of one of the texts alone."""
    return dict(_each())


def _each() -> Iterator[tuple[str, Reviewed]]:
    for case in cases():
        for version in VERSIONS:
            shown = LOST_TIME.runs.get((case.name, version))
            if shown is None or not shown.lines:
                continue
            text = case.faulty if version == "faulty" else case.fixed
            review = speed_reviewer.parse(LOST_TIME.replies[case.name, version])
            if isinstance(review, Unusable):
                continue
            places = [one for one in review.places if one.line in shown.lines]
            for function in reviewed_functions(parse_module(text)):
                name = f"{case.name} {version} {function}"
                is_method = "." in function and not function.endswith(".apply")
                if is_method or name in NOT_RUN:
                    continue
                if any(is_fault_of(one, function) for one in places):
                    yield name, Reviewed(text, review.code, _workload(function, review.code))


def _workload(function: str, code: str) -> Workload:
    plain = function.removesuffix(".apply")

    def entry(module: Any, _: Any) -> Callable[..., Any]:
        found = getattr(module, f"faster_{plain}", None) or getattr(module, plain)
        if function != plain:
            called: Callable[..., Any] = getattr(found, "apply", found)
            return called
        names = [*_first_call(plain, code)]
        return lambda *values: found(**dict(zip(names, values, strict=True)))

    def make(torch: Any) -> dict[str, Any]:
        device = torch.get_default_device()
        return {name: _moved(one, device) for name, one in _first_call(plain, code).items()}

    return Workload(entry, make, (), ((),))


@cache
def _first_call(plain: str, code: str) -> dict[str, Any]:
    """The arguments of the first call, in the order of the parameters."""
    folder = Path(tempfile.mkdtemp())
    (folder / "review.py").write_text(code, "utf-8")
    with torch.device("cpu"):
        module = load_module(str(folder / "review.py"))
        given = getattr(module, f"calls_{plain}")()[0]
    parameters = inspect.signature(getattr(module, f"faster_{plain}")).parameters
    names = [*parameters]
    last = max(names.index(name) for name in given)
    return {
        name: given[name] if name in given else parameters[name].default
        for name in names[: last + 1]
    }


def _moved(value: Any, device: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_moved(one, device) for one in value)
    return value.to(device) if isinstance(value, torch.Tensor) else value
