"""Running calls of a file's functions in the interpreter, each on memory of its own."""

from __future__ import annotations

import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from triton.errors import TritonError
from triton.language.semantic import IncompatibleTypeErrorImpl
from triton.runtime import interpreter

from ..inputs import tensor_files
from ..launches import hooks
from ..loading import host_timeout, partial_import
from ..memcheck import access_monitor, allocator_hooks, poison, redzones
from ..memcheck.containment import ContainedWatch, contained
from ..protocol import JobError
from . import contents, costs, deviations, errors, gradients, written_calls
from .variations import varied, with_tiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..messages.drafted import (
        Cost,
        DraftedCall,
        DraftedResult,
        DraftedRun,
        RunError,
        RunFault,
    )

_FAILURES = (
    *partial_import.FAILURES, host_timeout.TookTooLongError, interpreter.InterpreterError,
    TritonError, IncompatibleTypeErrorImpl,
)  # fmt: skip
_TOLERANCES = {torch.float64: 1e-6, torch.float32: 2e-3, torch.float16: 2e-2, torch.bfloat16: 6e-2}
_NARROW = 0.25
_REFERENCES = 3.0
_COUNTED = 5.0
"""How much longer a call may take whose programs run one by one."""
Results = dict[str, Any]


class Runs:
    """Calls of one file's functions, one after the other.

    Args:
        module: the file, imported within the interpreter's surroundings.
        path: its place.
        seconds: that a call may take.
        written: the path of a module of calls and references.
    """

    def __init__(
        self, module: ModuleType, path: str, seconds: float, written: str | None = None
    ) -> None:
        self._module = module
        self._path = path
        self._seconds = seconds
        self._results: list[Results] = []
        self._written_path = written
        self._written: written_calls.WrittenCalls | None = None

    def run(self, call: DraftedCall) -> DraftedRun:
        """What came of a call; never raises for what the file does."""
        variation = call.get("variation") or {}
        target = self._target(call["function"])
        if tiles := variation.get("tiles"):
            target = with_tiles(target, self._module, self._path, (tiles[0], tiles[1])) or target
        torch.manual_seed(0)
        bands = redzones.Bands()
        watch = ContainedWatch(interpreter._interpreter, bands)
        configs: dict[str, int] = {}
        error: RunError | None = None
        returned: Any = None
        reference = call.get("reference") or {}
        is_backward = reference.get("gradient", False)
        at: list[int] = []
        try:
            made = self._arguments(call, target)
            if made is None:
                return {}
            target = self._version(call, target)
            with torch._C.DisableTorchFunction():
                placed = bands.place_all(dict(written_calls.tensors_in(made)), "input")
                given = written_calls.with_tensors(made, placed)
                if is_backward:
                    given = gradients.with_gradients(given)
        except _FAILURES as raised:
            return {"unusable": f"{type(raised).__name__}: {raised}"}
        start = time.perf_counter()
        with (
            torch.set_grad_enabled(is_backward), allocator_hooks.Guard(bands),
            access_monitor.watching(watch), contained(watch), poison.Poison(),
            hooks.counted() as counts,
            hooks.one_config(int(variation.get("config") or 0), configs), varied(variation),
        ):  # fmt: skip
            try:
                with host_timeout.limited(self._seconds):
                    returned = _call_result(target, made, given)
                    if is_backward:
                        at = gradients.outputs(written_calls.leaves(returned))
                        returned = gradients.backward(
                            written_calls.leaves(returned), at, given, reference["number"],
                            bands.place,
                        )  # fmt: skip
            except _FAILURES as raised:
                error = errors.error_of(raised, self._path)
        seconds = time.perf_counter() - start
        given = {n: v.detach() if isinstance(v, torch.Tensor) else v for n, v in given.items()}
        with torch._C.DisableTorchFunction():
            found = self._run(call, made, given, returned, bands, watch) | {
                "error": error, "seconds": seconds, "launches": dict(counts),
                "configs": max(configs.values(), default=1),
            }  # fmt: skip
        if "number" in reference:
            found["arguments"] = written_calls.described(made)
        if error is None:
            self._compare(call, made, (given, returned, at), found)
            # What lies outside would be read and written there now.
            if reference.get("counted") and not found["outside"]:
                found["costs"] = self._costs(target, made)
        return found

    def _costs(self, target: Any, made: Results) -> dict[Cost, int]:
        """What the same call costs; empty where counting takes too long."""
        torch.manual_seed(0)
        try:
            copies = _copies(made)
            with (
                torch.no_grad(), hooks.one_config(0, {}), costs.counted() as counts,
                host_timeout.limited(_COUNTED * self._seconds),
            ):  # fmt: skip
                _call_result(target, made, copies)
        except _FAILURES:
            return {}
        return counts.costs()

    def _version(self, call: DraftedCall, target: Any) -> Any:
        """What is called: the function, or the faster version of it that was written."""
        if (call.get("reference") or {}).get("faster") and self._written is not None:
            return self._written.faster(call["function"])
        return target

    def _arguments(self, call: DraftedCall, target: Any) -> Results | None:
        """What a call is made with: drafted, or as it is written; None for one that is not."""
        reference = call.get("reference") or {}
        if "number" not in reference or self._written_path is None:
            with torch._C.DisableTorchFunction():
                return {
                    name: contents.argument_of(name, one) for name, one in call["arguments"].items()
                }
        with host_timeout.limited(_REFERENCES * self._seconds):
            if self._written is None:
                self._written = written_calls.WrittenCalls(self._written_path)
            owner = self._target(call["function"].rpartition(".")[0])
            return self._written.arguments(
                call["function"],
                target,
                owner if isinstance(owner, type) and target.__name__ != "apply" else None,
                reference["number"],
            )

    def _compare(
        self, call: DraftedCall, made: Results, ended: tuple[Results, Any, list[int]],
        found: DraftedRun,
    ) -> None:  # fmt: skip
        """Add how far a call is from its reference, if it has one and that runs."""
        reference = call.get("reference") or {}
        given, returned, at = ended
        try:
            with torch.random.fork_rng(), host_timeout.limited(_REFERENCES * self._seconds):
                if "operator" in reference:
                    result = _main_result(returned, made, self._results[-1])
                    told = (
                        deviations.from_operator(reference, made, result)
                        if result is not None else (None, False)
                    )  # fmt: skip
                elif "function" in reference:
                    expected = _call_result(self._target(reference["function"]), made,
                                            _copies(made))  # fmt: skip
                    told = deviations.from_function(reference["function"], expected, returned)
                elif "faster" in reference:
                    return
                elif reference.get("gradient") and self._written is not None:
                    copies = gradients.with_gradients(_copies(made))
                    with torch.enable_grad():
                        expected = written_calls.leaves(
                            self._written.expected(call["function"], copies)
                        )
                        expected = gradients.backward(
                            expected, at, copies, reference["number"], lambda one, _: one
                        )
                    told = written_calls.deviation_of_gradients(expected, returned)
                elif self._written is not None:
                    copies = _copies(made)
                    expected = self._written.expected(call["function"], copies)
                    told = written_calls.deviation(
                        "the reference", (expected, copies), (returned, given), made
                    )
                else:
                    return
        except _FAILURES as raised:  # a reference that does not run says nothing
            found["unusable"] = f"{type(raised).__name__}: {raised}"
            return
        found["deviation"], found["agreed"] = told

    def _run(
        self, call: DraftedCall, made: Results, given: Results, returned: Any,
        bands: redzones.Bands, watch: ContainedWatch,
    ) -> DraftedRun:  # fmt: skip
        """What is seen of a call after it."""
        try:
            leaves, _ = tensor_files.flatten(returned)
        except JobError:
            leaves = {}
        early = [
            redzones.Fault(
                f"reads {one.elements} elements of {one.text} before it is written", one.lines
            )
            for one in watch.contents.unwritten()
        ]
        before, after = written_calls.tensors_in(made), written_calls.tensors_in(given)
        changed = [
            name for name, value in before.items()
            if name in after and not _same_bits(value, after[name])
        ]  # fmt: skip
        results = {name: one for name, one in leaves.items() if isinstance(one, torch.Tensor)}
        results |= {f"input {name}": after[name] for name in changed}
        self._results.append({name: one.detach().clone() for name, one in results.items()})
        outside = [*watch.faults(), *bands.out_of_bounds(leaves)]
        found: DraftedRun = {
            "outside": self._faults(outside), "races": self._faults(bands.races()),
            "early": self._faults(early), "changed": changed,
            "results": [_result(name, one) for name, one in results.items()],
        }  # fmt: skip
        if (like := call.get("like")) is not None:
            # The last result is this call's own.
            other = self._results[like if like >= 0 else like - 1]
            found["difference"] = difference(other, self._results[-1])
        return found

    def _target(self, name: str) -> Any:
        found: Any = self._module
        for part in filter(None, name.split(".")):
            found = getattr(found, part)
        return found

    def _faults(self, found: Sequence[redzones.Fault]) -> list[RunFault]:
        begin = f"{Path(self._path).name}:"
        return [
            {
                "text": one.text,
                "lines": [int(at.removeprefix(begin)) for at in one.lines if at.startswith(begin)],
            }
            for one in found
        ]


def _call_result(target: Any, arguments: Iterable[str], given: Mapping[str, Any]) -> Any:
    """Arguments by position come first; those named with "=" by keyword."""
    named = {name.removeprefix("="): given[name] for name in arguments if name.startswith("=")}
    return target(*(given[name] for name in arguments if not name.startswith("=")), **named)


def _copies(given: Mapping[str, Any]) -> Results:
    """The same values in memory of their own."""
    tensors = written_calls.tensors_in(given)
    return written_calls.with_tensors(given, {name: one.clone() for name, one in tensors.items()})


def _main_result(returned: Any, made: Results, results: Results) -> torch.Tensor | None:
    """The first tensor that came back, else the only input that was changed."""
    first = returned[0] if isinstance(returned, tuple | list) and returned else returned
    if isinstance(first, torch.Tensor):
        return first.detach()
    changed = [one for name, one in results.items() if name.startswith("input ")]
    return changed[0] if len(changed) == 1 and len(results) == 1 else None


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    whole = (
        one.contiguous().view(-1).view(torch.uint8),
        other.contiguous().view(-1).view(torch.uint8),
    )
    return torch.equal(*whole)


def _result(name: str, tensor: torch.Tensor) -> DraftedResult:
    written = poison.written(tensor)
    finite = 0
    if tensor.is_floating_point():
        bad = ~torch.isfinite(tensor.float())
        finite = int((bad if written is None else bad & written).sum())
    return {
        "name": name, "shape": [int(size) for size in tensor.shape],
        "dtype": tensor_files.dtype_name(tensor.dtype), "elements": tensor.numel(),
        "unwritten": 0 if written is None else int((~written).sum()), "not_finite": finite,
    }  # fmt: skip


def difference(first: Results, second: Results) -> str | None:
    """What is different between the results of two calls, beyond rounding; None for nothing."""
    for name, one in first.items():
        other = second.get(name)
        if other is None or one.shape != other.shape or one.dtype != other.dtype:
            return f"{name} is another kind of result"
        told = _of_values(one, other)
        if told:
            return f"{name} {told}"
    return None


def _of_values(one: torch.Tensor, other: torch.Tensor) -> str:
    if not one.numel():
        return ""
    a, b = one.double(), other.double()
    both = torch.isfinite(a) & torch.isfinite(b)
    same = both | (a == b) | (torch.isnan(a) & torch.isnan(b))
    scale = float(a[both].abs().max()) if bool(both.any()) else 0.0
    tolerance = _TOLERANCES.get(one.dtype, _NARROW) if one.is_floating_point() else 0.0
    slack = tolerance * max(scale, 1e-6) if one.is_floating_point() else 1.0
    wrong = ~same | ((a - b).abs() > slack) & both
    count = int(wrong.sum())
    return f"differs in {count} of {one.numel()} elements" if count else ""
