"""``measure``: one candidate, compiled in parallel, then run and timed roughly by itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from ..compare import comparison, output_tree
from ..host import absent_device, device_api, tensor_placement
from ..inputs import generation, layouts, tensor_files
from ..launches import hooks
from ..loading import entry_call, entry_point, host_timeout
from ..memcheck import poison
from ..timing.calibration import quick_look
from ..timing.clocks import clock_for
from ..timing.device_file_lock import holding
from ..trials import version

if TYPE_CHECKING:
    from ..messages.jobs import Expected, Measured, MeasureJob

_WARM_UP_S = 0.05
_DEFAULT_BUDGET_S = 0.3
_SEED = 0
_HOST_CODE_FAILURES = (
    RuntimeError,
    TypeError,
    ValueError,
    AssertionError,
    AttributeError,
    KeyError,
    host_timeout.TookTooLongError,
)
HOST_CODE_S = 5.0
_FAKE = "cpu"


def perform(job: MeasureJob) -> Measured:
    """Compile without the lock; then, holding it, run once, write the outputs, and time."""
    notes: list[str] = []
    start = time.perf_counter()
    with (
        version.surroundings(job["device"], job["module"]),
        version.one_config(job, {}),
        torch.no_grad(),
    ):
        module = _compiled_module(job, notes)
        compile_seconds = time.perf_counter() - start
        with holding(job.get("gpu_lock")) as waited, hooks.counted() as counts:
            value = _measure(job, module, counts)
    return {**value, "compile_seconds": compile_seconds, "waited_s": waited, "notes": notes}


def _compiled_module(job: MeasureJob, notes: list[str]) -> Any:
    """The module under test, every kernel that the case launches already compiled."""
    from triton.runtime.driver import driver

    # Imported before any pretence: what it asks of the device at import is answered truly.
    module = entry_point.load_for(job.get("entry"), job["module"])
    if str(job["device"]).startswith("cuda"):
        target = job.get("target")
        backend, arch = (target["backend"], target["arch"]) if target else target_of(job["device"])
        compile_ahead(job, module, (backend, arch), notes)
        driver.reset_active()
    return module


def compile_ahead(
    job: MeasureJob | Mapping[str, Any], module: Any, target: tuple[str, str], notes: list[str]
) -> None:
    """Compile what the module's host code launches for the case, without touching a device.

    Host code that fails, or goes on for ``HOST_CODE_S`` by itself, is left to the real call.
    """
    layout, options = str(job.get("layout") or layouts.PLAIN), job.get("launch_options") or {}
    kind = device_api.written_for(str(module.__file__)) or "cuda"
    try:
        with (
            absent_device.no_driver(*target, kind),
            absent_device.fake_tensors(),
            tensor_placement.elsewhere(kind, _FAKE),
            hooks.with_options(options),
            hooks.compiled_only(),
            host_timeout.limited(HOST_CODE_S),
        ):
            call, _ = entry_call.build_call(job, module, _FAKE)
            made = generation.fake_inputs(job["case"], module, _FAKE)
            laid = layouts.laid_out({str(at): value for at, value in enumerate(made)}, layout)
            call(*laid.values())
    except _HOST_CODE_FAILURES as error:
        reason = " ".join(str(error).split())[:200]
        notes.append(f"compiled while holding the device ({type(error).__name__}: {reason})")


def target_of(device: str) -> tuple[str, str]:
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip is not None:
        return "hip", properties.gcnArchName.partition(":")[0]
    return "cuda", f"{properties.major}{properties.minor}"


def _measure(job: MeasureJob, module: Any, counts: Any) -> Measured:
    device = version.place_of(job["device"])
    clock = clock_for(device, job.get("flush_bytes"))
    inputs = tensor_files.load(job["inputs"], device)
    state = tensor_files.load(job.get("state") or [], device) or None
    call, _ = entry_call.build_call(job, module, device, state)
    value: Measured = {"us": [], "repeats": 0, "device_name": clock.device_name}
    value |= _first_call(job, call, inputs, device, counts)
    if value.get("difference"):
        return value
    budget_s = float(job.get("budget_s") or _DEFAULT_BUDGET_S)
    samples, repeats = quick_look(clock, call, inputs, _WARM_UP_S, budget_s)
    return {**value, "us": samples, "repeats": repeats}


def _first_call(
    job: MeasureJob, call: Any, inputs: dict[str, Any], device: str, counts: Any
) -> Measured:
    """Call once; keep the results where the job names a folder, compare them where it has others.

    A look at the clock alone does neither: both take time and room.
    """
    if not (job.get("out") or job.get("like")):
        call(*inputs.values())
        version.synchronize(device)
        return {}
    torch.manual_seed(_SEED)  # what draws numbers by itself draws the same ones
    poison.free_memory(device)
    with poison.Poison():
        returned = call(*inputs.values())
    version.synchronize(device)
    if job.get("like"):
        return {"difference": _difference(job["like"], returned, inputs, device)}
    changed = version.changed_inputs(tensor_files.load(job["inputs"], device), inputs)
    return version.collect(job, returned, changed, counts)


def _difference(
    like: Expected, returned: Any, inputs: Mapping[str, Any], device: str
) -> str | None:
    """What is wrong with a call's results, compared with kept ones; each may be off by a tolerance.

    Of the inputs those are looked at that the other version changes.
    """
    leaves, tree = tensor_files.flatten(returned)
    wrong = output_tree.difference(like["output_tree"], tree)
    if wrong is not None:
        return wrong
    expected = tensor_files.load([*like["outputs"], *like["changed_inputs"]], device)
    actual = {**leaves, **{name: inputs[name] for name in like["inputs_changed"]}}
    rtol, atol = 2 * float(like["rtol"]), 2 * float(like["atol"])
    verdict = comparison.judge_outputs(expected, None, actual, rtol=rtol, atol=atol)
    return verdict["message"] or None
