"""Both versions of a reported case on one device: whether they agree, and what the faulty costs.

Every ratio is the time of the faulty version over that of its twin, with its 99.8 % interval.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from workload import Sizes, Way, Workload

from tilewright.worker.inputs import tensor_files
from tilewright.worker.launches import hooks
from tilewright.worker.loading.entry_point import load_module
from tilewright.worker.timing.clocks import clock_for
from tilewright.worker.timing.controller import conduct
from tilewright.worker.timing.paired_runner import Contest
from tilewright.worker.timing.stopping_rule import LOOKS, interval_of
from tilewright.worker.trials.version import INTERPRETER, place_of, surroundings, synchronize

VERSIONS = ("faulty", "fixed")
BLOCKS = 24
TOLERANCE = 5e-3
_ROUNDS = LOOKS[0]
"""An interval at this confidence needs so many."""
_ROW_US, _MOST_IN_A_ROW = 6000.0, 100
Row = dict[str, Any]


class DisagreementError(Exception):
    """The two versions do not give the same result."""


class Pair:
    """Both versions, loaded within the ``ready`` surroundings of a device."""

    def __init__(self, workload: Workload, files: Mapping[str, Path], device: str) -> None:
        self.workload = workload
        self.device = device
        modules = {name: load_module(str(files[name])) for name in VERSIONS}
        with torch.device(place_of(device)):
            self._entries = {name: self._entry(module) for name, module in modules.items()}

    def _entry(self, module: Any) -> Callable[..., Any]:
        named = self.workload.entry
        found = named(module, torch) if callable(named) else getattr(module, named)
        if self.workload.compiled and self.device != INTERPRETER:
            found = torch.compile(found)
        entry: Callable[..., Any] = found
        return entry

    def inputs(self, sizes: Sizes) -> dict[str, Any]:
        """Inputs of these sizes, of the union of what both versions take."""
        torch.manual_seed(0)
        with torch.device(place_of(self.device)):
            return self.workload.make(torch, *sizes)

    def version(self, name: str, inputs: Mapping[str, Any]) -> Callable[..., Any]:
        """One version as a function of all inputs by their place; it takes its own of them."""
        entry, names = self._entries[name], list(inputs)
        taken = [names.index(one) for one in self.workload.takes.get(name, tuple(names))]
        return lambda *values: entry(*(values[at] for at in taken))

    def compare(self, inputs: Mapping[str, Any]) -> None:
        """Call both once; raises DisagreementError unless they give the same."""
        with torch.no_grad():
            faulty, fixed = (self._result(name, inputs) for name in VERSIONS)
        if len(faulty) != len(fixed):
            raise DisagreementError(f"{len(faulty)} results, and {len(fixed)} of the twin")
        for one, other in zip(faulty, fixed, strict=True):
            _agree(one, other, self.workload.tolerance)

    def _result(self, name: str, inputs: Mapping[str, Any]) -> list[Any]:
        """What a call returns, or its inputs afterwards where it returns nothing."""
        given = {key: tensor_files.own(value) for key, value in inputs.items()}
        returned = self.version(name, inputs)(*given.values())
        synchronize(self.device)
        if self.workload.compare is not None:
            returned = self.workload.compare(torch, returned)
        leaves, _ = tensor_files.flatten(given if returned is None else returned)
        return list(leaves.values())

    def timed(self, sizes: Sizes) -> Row:
        """Compare both on these sizes, then time them in turn; for ``Way.CALLS``."""
        inputs = self.inputs(sizes)
        self.compare(inputs)
        contest = Contest(
            self.device,
            self.version("faulty", inputs),
            self.version("fixed", inputs),
            inputs,
            clock=clock_for(place_of(self.device)),
        )
        asked = {"blocks": BLOCKS, "batches": False, "noise": 0.0, "again": True, "seed": 0}
        said = conduct(lambda message, _: contest.answer(message), asked, None)
        row = {
            "us": [said["original_us"], said["candidate_us"]],
            "ratio": [said["value"], said["low"], said["high"]],
            "host_us": list(said["host_us"].values()),
            "faults": said["faults"],
        }
        if self.workload.in_a_row:
            row |= _in_a_row(contest, row)
        contest.answer({"do": "time.end"})
        return row

    def timed_at_new_sizes(self) -> Row:
        """Seconds of the first call at each size, of either version first in turn."""
        with torch.no_grad():
            taken = [self._first_calls(at) for at in range(len(self.workload.sizes))][1:]
        logs = [math.log(faulty / fixed) for faulty, fixed in taken]
        medians = [sorted(times)[len(times) // 2] * 1e6 for times in zip(*taken, strict=True)]
        return {"us": medians, "ratio": _ratio(logs)}

    def _first_calls(self, at: int) -> tuple[float, float]:
        inputs = self.inputs(self.workload.sizes[at])
        taken = {}
        for name in VERSIONS if at % 2 else reversed(VERSIONS):
            call = self.version(name, inputs)
            synchronize(self.device)
            began = time.perf_counter()
            call(*inputs.values())
            synchronize(self.device)
            taken[name] = time.perf_counter() - began
        self.compare(inputs)
        return taken["faulty"], taken["fixed"]


@contextlib.contextmanager
def ready(device: str, file: Path) -> Iterator[None]:
    """What the host code of the versions needs; in the interpreter one configuration of many."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(surroundings(device, str(file)))
        if device == INTERPRETER:
            stack.enter_context(hooks.one_config(0, {}, tried=False))
        yield


def row_of(pair: Pair, sizes: Sizes) -> Row:
    """What is measured of a case in the way it asks for."""
    if pair.workload.way is Way.NEW_SIZES:
        return pair.timed_at_new_sizes()
    return pair.timed(sizes)


def _in_a_row(contest: Contest, row: Row) -> Row:
    """Calls one after another by the wall clock, host and device together, a round of each in
    turn."""
    call_us = max(*row["us"], *row["host_us"])
    count = max(4, min(_MOST_IN_A_ROW, math.ceil(_ROW_US / call_us)))
    walls: dict[str, list[float]] = {"A": [], "B": []}
    for turn in range(_ROUNDS + 1):
        for which in "AB" if turn % 2 else "BA":
            said = contest.answer({"do": "time.batch", "which": which, "calls": count})
            walls[which].append(said["wall_us"] / count)
    pairs = list(zip(walls["A"][1:], walls["B"][1:], strict=True))
    logs = [math.log(faulty / fixed) for faulty, fixed in pairs]
    medians = [sorted(times)[len(times) // 2] for times in zip(*pairs, strict=True)]
    return {"row_us": medians, "row_ratio": _ratio(logs)}


def _ratio(logs: list[float]) -> list[float]:
    found = interval_of(logs)
    return [math.exp(one) for one in (found.value, found.low, found.high)]


def _agree(faulty: Any, fixed: Any, tolerance: float | None) -> None:
    if not isinstance(faulty, torch.Tensor):
        if faulty != fixed:
            raise DisagreementError(f"{faulty!r}, and {fixed!r} of the twin")
        return
    if faulty.numel() != fixed.numel():
        raise DisagreementError(f"{tuple(faulty.shape)}, and {tuple(fixed.shape)} of the twin")
    whole = not faulty.is_floating_point() and not faulty.is_complex()
    most = tolerance if tolerance is not None else 0.0 if whole else TOLERANCE
    error = _error(faulty.reshape(-1), fixed.reshape(-1))
    if not error <= most:
        raise DisagreementError(f"they differ by {error:.2g} of the result's norm")


def _error(faulty: torch.Tensor, fixed: torch.Tensor) -> float:
    """The norm of the difference, relative to that of the twin's result; infinite values agree
    with themselves."""
    one, other = (value.to(torch.float32) for value in (faulty, fixed))
    same = one == other
    gap = torch.where(same, 0.0, one - other).double().norm()
    size = torch.where(torch.isfinite(other), other, 0.0).double().norm()
    return float(gap / size.clamp(min=1e-30)) if not bool(same.all()) else 0.0
