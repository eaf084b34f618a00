"""``size``: which of several sizes a module that makes its own inputs can be run at.

Choices are lists of cases, the module's own sizes first, then smaller ones. The first that works
and takes at most ``most_bytes`` is taken, else the one of the smaller that takes least; of its own
sizes that are larger nothing more is asked than what they take.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from ..host import absent_device, device_api, tensor_placement
from ..inputs import generation, module_inputs, tensor_files
from ..launches.hooks import Recorder
from ..loading import entry_call, entry_point, partial_import
from ..protocol import JobError

if TYPE_CHECKING:
    from ..messages.jobs import Sized, SizeJob
    from ..messages.parts import Case


def perform(job: SizeJob) -> Sized:
    """-> chosen (index of a choice, None where none works), working (its cases that do), bytes of
    each choice, failures of each, own_args of the first choice, init_args of the working cases and
    then of the chosen ``variants``."""
    entry_point.load_module(
        job["module"]
    )  # what is wrong with the file itself is no size's failure
    sizes: list[int | None] = []
    failures: list[str] = []
    found: list[list[int]] = []
    for number, cases in enumerate(job["choices"]):
        working, largest, why = _tried(job, cases, small=number > 0)
        sizes.append(largest)
        failures.append(why)
        found.append(working)
        if working and largest is not None and largest <= job["most_bytes"]:
            break
    taken = {at: size for at, size in enumerate(sizes) if size is not None and found[at]}
    small = {at: size for at, size in taken.items() if at or size <= job["most_bytes"]}
    told: Sized = {
        "chosen": None, "working": [], "bytes": sizes, "failures": failures, "init_args": []
    }  # fmt: skip
    if not small:
        return told
    chosen = min(small, key=small.__getitem__)
    cases = [job["choices"][chosen][at] for at in found[chosen]] + job["variants"][chosen]
    return {
        **told, "chosen": chosen, "working": found[chosen],
        "own_args": [_arguments(job, case) for case in job["choices"][0]],
        "init_args": [_arguments(job, case) for case in cases],
    }  # fmt: skip


def _tried(job: SizeJob, cases: list[Case], *, small: bool) -> tuple[list[int], int | None, str]:
    """(which cases work, what the largest takes, why one does not)."""
    working: list[int] = []
    largest: int | None = None
    why = ""
    for number, case in enumerate(cases):
        try:
            taken = _works({**job, "case": case}, small=small)
        except partial_import.FAILURES as error:
            why = why or f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            continue
        working.append(number)
        largest = max(largest or 0, taken)
    return working, largest, why


def _works(job: SizeJob, *, small: bool) -> int:
    """Bytes of inputs, weights and results; raises what the entry raises."""
    try:
        with absent_device.fake_tensors(), _on_cpu(job):
            return _bytes_of_call(job, "cpu", generation.fake_inputs)
    except partial_import.FAILURES:
        if not small:
            raise
    with _on_cpu(job):
        return _bytes_of_call(job, "cpu", _real_inputs)


def _real_inputs(case: Case, module: Any, device: str) -> list[Any]:
    return list(generation.make_inputs(case, 0, module).values())


def _bytes_of_call(job: SizeJob, device: str, inputs: Callable[[Case, Any, str], list[Any]]) -> int:
    case = job["case"]
    maker = module_inputs.maker(job["inputs_from"], case)
    if not case.get("init_named"):
        job = {**job, "case": {**case, "init_args": module_inputs.arguments(maker)}}
    made = inputs(case, maker, device)
    call, model = entry_call.build_call(job, entry_point.load_module(job["module"]), device)
    returned = call(*made)
    kept = list(model.state_dict().values()) if model is not None else []
    held = tensor_files.tensors_in([*made, *kept, returned])
    return sum(one.numel() * one.element_size() for one in held)


@contextlib.contextmanager
def _on_cpu(job: SizeJob) -> Iterator[None]:
    kind = device_api.written_for(job["module"]) or "cuda"
    with contextlib.ExitStack() as stack:
        for surrounding in (
            absent_device.no_driver(kind=kind), tensor_placement.elsewhere(kind, "cpu"),
            Recorder().patched(), torch.no_grad(),
        ):  # fmt: skip
            stack.enter_context(surrounding)
        yield


def _arguments(job: SizeJob, case: Case) -> list[Any] | None:
    """The constructor's arguments at a case's sizes; None where JSON cannot hold them."""
    if case.get("init_named"):
        return []
    try:
        with _on_cpu(job):
            found = module_inputs.arguments(module_inputs.maker(job["inputs_from"], case))
    except partial_import.FAILURES as error:
        raise JobError(f"get_init_inputs() fails: {type(error).__name__}: {error}") from error
    return list(found) if _is_plain(found) else None


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, bool | int | float | str)
