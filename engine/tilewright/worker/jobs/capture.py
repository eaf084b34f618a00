"""``capture``: the launches that host code makes, recorded without a device."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any

import torch

from ..host import absent_device, device_api, tensor_placement
from ..host.deferred_launches import Deferred
from ..inputs import generation, module_inputs
from ..launches.hooks import Recorder
from ..loading import entry_call, entry_point
from ..protocol import READS_RESULT, JobError

if TYPE_CHECKING:
    from ..messages.jobs import Captured, CaptureJob

_FAKE = "cpu"
_MAX_REAL_BYTES = 256 << 20
_FAKE_FAILURES = (RuntimeError, TypeError, NotImplementedError, AssertionError, ValueError)


def perform(job: CaptureJob) -> Captured:
    """Record every launch: with fake CUDA tensors, else with CPU tensors that really exist."""
    kind = device_api.written_for(job["module"]) or "cuda"
    target = job.get("target") or {"backend": kind, "arch": "90"}
    notes: list[str] = []
    with (
        absent_device.no_driver(target["backend"], str(target["arch"]), kind) as asked,
        tensor_placement.extensions(kind),
    ):
        module = entry_point.load_for(job.get("entry"), job["module"])
        recorder = None
        if job.get("fake", True):
            recorder = _with_fake_tensors(job, module, kind, notes)
        mode = "cpu" if recorder is None else "fake"
        if recorder is None:
            recorder = _with_real_tensors(job, module, kind, notes)
    return {
        "launches": recorder.launches,
        "config_index": recorder.config_index,
        "mode": mode,
        "notes": [*notes, *dict.fromkeys(recorder.notes), *asked.notes()],
    }


def _makes_inputs(job: CaptureJob) -> bool:
    return bool(job["case"].get("inputs_from_module"))


def _with_fake_tensors(
    job: CaptureJob, module: Any, kind: str, notes: list[str]
) -> Recorder | None:
    recorder = Recorder()
    try:
        with (
            absent_device.fake_tensors(),
            tensor_placement.elsewhere(kind, _FAKE),
            recorder.patched(),
            torch.no_grad(),
        ):
            call, _ = entry_call.build_call(job, module, _FAKE)
            arguments = generation.fake_inputs(job["case"], _maker(job, module), _FAKE)
            _fitting(call, arguments)
            call(*arguments)
    except _FAKE_FAILURES as error:
        reason = " ".join(str(error).split())[:300]
        notes.append(f"fake tensors did not do ({type(error).__name__}: {reason})")
        return None
    return recorder


def _with_real_tensors(job: CaptureJob, module: Any, kind: str, notes: list[str]) -> Recorder:
    size = generation.case_bytes(job["case"])
    if _makes_inputs(job):
        size = generation.made_bytes(job["case"], _maker(job, module))
    if size > _MAX_REAL_BYTES:
        raise JobError(
            f"{READS_RESULT} or other real data, without which it cannot be recorded, and "
            f"this case's inputs take {size >> 20} MiB, over the limit of "
            f"{_MAX_REAL_BYTES >> 20} MiB; name a smaller case"
            f"{' (' + '; '.join(dict.fromkeys(notes)) + ')' if notes else ''}"
        )
    recorder, waiting = Recorder(), Deferred()
    recorder.on_launch = waiting.launched
    with contextlib.ExitStack() as stack:
        stack.enter_context(tensor_placement.elsewhere(kind, "cpu"))
        stack.enter_context(recorder.patched())
        stack.enter_context(torch.no_grad())
        call, _ = entry_call.build_call(job, module, "cpu")
        stack.enter_context(waiting)
        call(*generation.make_inputs(job["case"], seed=0, module=_maker(job, module)).values())
    recorder.notes += waiting.notes()
    return recorder


def _maker(job: CaptureJob, module: Any) -> Any:
    """The module that makes a case's inputs, where one does."""
    if not _makes_inputs(job):
        return None
    path = job.get("inputs_from")
    return module_inputs.maker(path, job["case"]) if path else module


def _fitting(call: Any, arguments: list[Any]) -> None:
    """Say at once when the entry does not take the case's inputs."""
    target = call.forward if isinstance(call, torch.nn.Module) else call
    try:
        signature = inspect.signature(target)
    except ValueError:
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        given = len(arguments)
        raise JobError(
            f"{target.__qualname__}{signature} does not take {given} inputs: {error}"
        ) from None
