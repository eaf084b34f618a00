"""One version of a file: imported once, its entry point called repeatedly."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from .. import tamper
from ..host import absent_device, device_api, tensor_placement
from ..inputs import generation, layouts, tensor_files
from ..interpreter import batched_launch, switch
from ..launches import hooks
from ..loading import entry_call, entry_point
from ..memcheck import access_monitor, allocator_hooks, poison, redzones, uninitialized
from ..neuron import kernel_calls
from ..neuron.device_ids import NEURON, is_neuron
from ..protocol import JobError
from ..timing import resampled_inputs
from . import gradients
from .workspaces import KeptTensors

if TYPE_CHECKING:
    from ..messages.jobs import Measured
    from ..messages.parts import Entries

INTERPRETER = "interpreter"
WEIGHT = "weight "
"""What a model's weights and buffers are called with among the inputs that a call changes."""


def place_of(device: str) -> str:
    """Where tensors lie for a device: those of the interpreter and of NKI kernels are the CPU's."""
    return "cpu" if is_on_host(device) else device


def is_on_host(device: str) -> bool:
    """Whether kernels run in the process itself, on tensors of the CPU."""
    return device == INTERPRETER or is_neuron(device)


@contextlib.contextmanager
def surroundings(device: str, module: str) -> Iterator[None]:
    """What the host code of a file must find: on the interpreter, one in the place of a GPU; on a
    device of another kind than it was written for, that one in its place."""
    kind = device_api.written_for(module)
    with contextlib.ExitStack() as stack:
        if is_neuron(device):
            torch.set_num_threads(1)
            stack.enter_context(kernel_calls.surroundings(device))
            yield
            return
        if device == INTERPRETER:
            kind = kind or "cuda"
            # Its tensors are small: threads of an operator would wait for each other, and take
            # processor time from other processes.
            torch.set_num_threads(1)
            stack.enter_context(switch.interpreted())
            stack.enter_context(absent_device.no_driver(kind))
            stack.enter_context(tensor_placement.elsewhere(kind, "cpu"))
            yield
            return
        stack.enter_context(hooks.without_unknown_options())
        if kind is not None and not device.startswith(kind):
            stack.enter_context(device_api.another(kind, device))
            stack.enter_context(tensor_placement.elsewhere(kind, device))
        yield


def stood_in(device: str, module: str) -> list[str]:
    """What stands in for the device that a file's host code names, for people."""
    kind = device_api.written_for(module)
    if kind is None or device.startswith(kind) or is_neuron(device):
        return []
    by = "the CPU" if device == INTERPRETER else device.partition(":")[0]
    return [
        f"the host code was written for {kind}: {by} stood in for torch.{kind} and for the device "
        "of its tensors"
    ]


class Version:
    """What a file defines; import it, and call it, within its ``surroundings``.

    A model is built once a case, and gets its weights for each call: the job's, or its first ones.
    """

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.module: ModuleType = entry_point.load_for(job.get("entry"), job["module"])
        self.kept = KeptTensors(str(job["module"]), job.get("allow") or ())
        self._models: dict[str, tuple[Any, Any, dict[str, Any]]] = {}

    def call(self, job: dict[str, Any]) -> dict[str, Any]:
        """Call once as the job says; the value of a ``run`` job (``protocol``)."""
        configs: dict[str, int] = {}
        with torch.no_grad(), one_config(job, configs):
            value = self._call_value(job)
        return {**value, "configs": configs, "caveats": _caveats(job)}

    def _call_value(self, job: dict[str, Any]) -> dict[str, Any]:
        device = place_of(job["device"])
        guards = job.get("guard", True) and not is_neuron(job["device"])
        around = redzones.Bands() if guards else None
        with unseen():
            loaded = arranged(job["inputs"], job, device)
            state = weights(job)
        call, model = self.entry(job, device, state)
        if model is not None:
            self.kept.prepare(call, loaded)
        with unseen():
            inputs = _placed(loaded, model, device, around)
            self.kept.overwrite(model)
            before = tensors_of(model)
        with (
            hooks.counted() as counts,
            kernel_calls.launched(job) as of_nki,
            _circumstances(job, around) as found,
            _observation(job, model) as seen,
            _training(model, wanted=bool(job.get("training"))),
        ):
            batched_launch.take_tally()
            start = time.perf_counter()
            returned = _returned(job, call, inputs, model)
            synchronize(device)
            seconds = time.perf_counter() - start
            interpreted = dataclasses.asdict(batched_launch.take_tally())
        with unseen():
            changed = changed_inputs(loaded, inputs) | changed_inputs(
                before, tensors_of(model, own=True)
            )
            counts.update(of_nki.counts)
            value: dict[str, Any] = {**collect(job, returned, changed, counts)}
            value |= of_nki.result_fields()
        value["interpreted"] = interpreted
        if set(tensors_of(model, own=True)) != set(before):
            self._models.clear()  # one that makes buffers at its first call begins anew
        value["facts"] = seen.facts() if seen is not None else None
        leaves, _ = tensor_files.flatten(returned)
        if value["facts"] is not None and model is not None and self.kept.packs:
            value["facts"] |= self.kept.compared(
                shadowed_case(job), self.module, model, loaded, state, device
            )
        with unseen():
            if value["facts"] is not None:
                value["facts"]["shared"] = tamper.shared(list(leaves.values()), inputs)
            value |= _stray_facts(around, leaves)
            value |= _uninitialized_facts(found, inputs, is_launch=bool(job["case"].get("launch")))
            if job.get("keep_state") and model is not None:
                # As they were: a call may change its buffers.
                kept = {name.removeprefix(WEIGHT): one for name, one in before.items()}
                value["state"] = tensor_files.save(kept, job["out"], "state")
        return {**value, "seconds": seconds}

    def entry(
        self, job: dict[str, Any], device: str, state: dict[str, Any] | None
    ) -> tuple[Any, Any]:
        """(what to call with the inputs, the model if the entry is one), with these ``weights``."""
        case = shadowed_case(job)["case"]
        if self.kept.packs:
            self._models.clear()
        key = f"{case.get('category')} {case.get('index')} {case.get('dims')} {case.get('dtype')}"
        if key not in self._models:
            told = {**job, "case": case}
            made = entry_call.build_call(told, self.module, device, state)
            if is_neuron(job["device"]):
                adapt = kernel_calls.on_sdk if job["device"] == NEURON else kernel_calls.adapted
                made = (adapt(made[0], job["entry"]), made[1])
            if made[1] is None:
                return made
            first = {name: value.clone() for name, value in made[1].state_dict().items()}
            self._models[key] = (*made, first)
        call, model, first = self._models[key]
        entry_call.load_state(model, first if state is None else state)
        return call, model


def unseen() -> contextlib.AbstractContextManager[Any]:
    """What the worker does with tensors of itself: nothing that watches the host code sees it."""
    disabled: contextlib.AbstractContextManager[Any] = torch._C.DisableTorchFunction()
    return disabled


def _placed(
    loaded: Mapping[str, Any], model: Any, device: str, around: redzones.Bands | None
) -> dict[str, Any]:
    """The inputs in memory of their own; between bands, as a model's weights, where there are."""
    if around is None:
        return {name: tensor_files.own(value) for name, value in loaded.items()}
    poison.free_memory(device)
    inputs = around.place_all(dict(loaded), "input")
    if model is not None:
        around.place_weights(model)
    return inputs


def _stray_facts(around: redzones.Bands | None, leaves: Mapping[str, Any]) -> dict[str, Any]:
    """What was reached outside of tensors, and what programs do to each other's memory."""
    faults = around.out_of_bounds(leaves) if around is not None else []
    races = around.races() if around is not None else []
    return {
        "out_of_bounds": [fault.text for fault in faults],
        "out_of_bounds_lines": [fault.lines for fault in faults],
        "races": [fault.text for fault in races],
        "races_lines": [fault.lines for fault in races],
    }


def _returned(
    job: Mapping[str, Any], call: Any, inputs: Mapping[str, Any], model: Any
) -> Any:  # fmt: skip
    """What a call returns, or the gradients of that where those are asked for."""
    if job.get("gradients"):
        return gradients.of_call(call, inputs, model, int(job.get("seed") or 0))
    return call(*inputs.values())


@contextlib.contextmanager
def _training(model: Any, *, wanted: bool) -> Iterator[None]:
    """A module in training mode for a call, where that is asked for; in evaluation mode after."""
    if not wanted or model is None:
        yield
        return
    model.train()
    try:
        yield
    finally:
        model.eval()


@contextlib.contextmanager
def _observation(job: Mapping[str, Any], model: Any) -> Iterator[tamper.Seen | None]:
    """Side effects of the call, if they are requested."""
    with contextlib.ExitStack() as stack:
        if job.get("skip_launches"):
            stack.enter_context(tamper.launches_skipped())
        seen = None
        if job.get("observe") and not job.get("gradients"):
            seen = stack.enter_context(tamper.observed(str(job["module"]), model))
        yield seen


@contextlib.contextmanager
def one_config(job: Mapping[str, Any], configs: dict[str, int]) -> Iterator[None]:
    """One configuration of what is autotuned: the interpreter cannot choose by time."""
    index = job.get("config_index")
    if is_neuron(job["device"]) or (index is None and job["device"] != INTERPRETER):
        yield
        return
    tried = bool(job.get("tried")) and job["device"] == INTERPRETER
    with hooks.one_config(int(index or 0), configs, tried=tried):
        yield


def _uninitialized_facts(
    found: uninitialized.Contents | None, inputs: Mapping[str, Any], *, is_launch: bool
) -> dict[str, Any]:
    """What kernels loaded before it was written, and which inputs they reached, as JSON.

    Loads of inputs tell of a captured launch alone: other entry points may read them by operators.
    """
    if found is None:
        return {"unwritten": [], "stored_inputs": [], "loaded_inputs": []}
    stored, loaded = (
        [
            {
                "inputs": _inside(one.owner, inputs), "lines": sorted(one.lines),
                "changes": one.changes,
            }
            for one in reached
        ]
        for reached in (found.stored(), found.loaded() if is_launch else [])
    )  # fmt: skip
    unwritten = [dataclasses.asdict(one) for one in found.unwritten()]
    return {"unwritten": unwritten, "stored_inputs": stored, "loaded_inputs": loaded}


def _inside(owner: redzones.Banded, inputs: Mapping[str, Any]) -> list[str]:
    """What lies in the memory of an input or of a weight, for people: inputs are named as such."""
    if owner.name is not None and owner.name.startswith("weight "):
        return [owner.name]
    where = owner.storage.data_ptr()
    return [
        f"input {name}"
        for name, value in inputs.items()
        if isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() == where
    ]


@contextlib.contextmanager
def _circumstances(
    job: dict[str, Any], around: redzones.Bands | None
) -> Iterator[uninitialized.Contents | None]:
    """Unwritten memory full of poison, between bands, with an eye on who reaches them; programs in
    the order asked for; launches with the options asked for."""
    with contextlib.ExitStack() as stack:
        found = None
        if around is not None:
            stack.enter_context(allocator_hooks.Guard(around))
            if job["device"] == INTERPRETER:
                found = stack.enter_context(access_monitor.watched(around))
        if job.get("poison", True):
            stack.enter_context(poison.Poison())
        if job.get("launch_options"):
            stack.enter_context(hooks.with_options(job["launch_options"]))
        stack.enter_context(_order(job))
        yield found


def _order(job: Mapping[str, Any]) -> contextlib.AbstractContextManager[None]:
    order = str(job.get("order") or "forward")
    if order == "forward" or is_neuron(job["device"]):
        return contextlib.nullcontext()
    if job["device"] != INTERPRETER:
        raise JobError("only the interpreter runs programs in an order of one's choice")
    try:
        return switch.programs_in(order, int(job.get("seed") or 0))
    except ValueError as error:
        raise JobError(str(error)) from error


def weights(job: Mapping[str, Any]) -> dict[str, Any] | None:
    """A job's weights, which stay when their files go; None where it has none."""
    return shadowed(tensor_files.load(job["state"]), job) if job.get("state") else None


def arranged(manifest: Entries, job: Mapping[str, Any], device: str) -> dict[str, Any]:
    """The inputs of a manifest as a job wants them: contents of a turn, numbers for what is
    not finite, off by an ulp, dtypes, layout."""
    values = tensor_files.load(manifest, device)
    if job.get("turn") is not None:
        values = resampled_inputs.refreshed(values, int(job["turn"]), job["plan"])
    if job.get("contiguous"):
        values = {name: _contiguous(value) for name, value in values.items()}
    if job.get("fill") is not None:
        values = generation.filled(values, float(job["fill"]), job.get("filled_input"))
    if job.get("nudge") is not None:
        values = generation.nudged(values, int(job["nudge"]))
    facts = generation.facts_of(job.get("case"))
    return layouts.laid_out(shadowed(values, job), str(job.get("layout") or layouts.PLAIN), facts)


def _contiguous(value: Any) -> Any:
    return value.contiguous().clone() if isinstance(value, torch.Tensor) else value


def synchronize(device: str) -> None:
    """Wait for a device; what failed on it raises here."""
    kind = device.split(":")[0]
    if kind == "cuda":
        torch.cuda.synchronize(device)
    elif kind == "xpu":
        torch.xpu.synchronize(device)


def shadowed(values: dict[str, Any], job: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors of a dtype in the dtype asked for instead."""
    mapping = job.get("shadow_dtype") or {}
    made = {}
    for name, value in values.items():
        if isinstance(value, torch.Tensor) and tensor_files.dtype_name(value.dtype) in mapping:
            wanted = mapping[tensor_files.dtype_name(value.dtype)]
            value = value.to(tensor_files.dtype_of(wanted))
        made[name] = value
    return made


def shadowed_case(job: dict[str, Any]) -> dict[str, Any]:
    """The job, its case's own dtype exchanged as those of its inputs are."""
    mapping, dtype = job.get("shadow_dtype") or {}, job["case"].get("dtype")
    return {**job, "case": {**job["case"], "dtype": mapping.get(dtype, dtype)}}


def collect(
    job: Mapping[str, Any], returned: Any, changed: dict[str, Any], counts: Counter[str]
) -> Measured:
    """Write what came back and what was changed in place."""
    leaves, tree = tensor_files.flatten(returned)
    return {
        "outputs": tensor_files.save(leaves, job["out"], "output"),
        "output_tree": tree,
        "inputs_changed": list(changed),
        "changed_inputs": tensor_files.save(changed, job["out"], "changed"),
        "launches": dict(counts),
    }


def changed_inputs(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs whose bits differ from what they were."""
    return {
        name: value
        for name, value in after.items()
        if isinstance(value, torch.Tensor) and not same_bits(before[name], value)
    }


def tensors_of(model: Any, *, own: bool = False) -> dict[str, Any]:
    """A model's weights and saved buffers by the name in messages, copied unless its
    ``own`` are wanted; empty without a model."""
    if model is None:
        return {}
    return {
        f"{WEIGHT}{name}": value if own else value.clone()
        for name, value in model.state_dict().items()
        if isinstance(value, torch.Tensor)
    }


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors hold the same bits, NaN payloads included."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    one, other = one.contiguous().reshape(-1), other.contiguous().reshape(-1)
    return bool(torch.equal(one.view(torch.uint8), other.view(torch.uint8)))


def _caveats(job: Mapping[str, Any]) -> list[str]:
    said = stood_in(job["device"], job["module"])
    if is_neuron(job["device"]):
        return kernel_calls.caveats(job["device"])
    if job["device"] != INTERPRETER:
        names = ", ".join(sorted(hooks.left_out))
        return said + [f"launched without {names}, which this backend does not know"] * bool(names)
    said += [
        "the interpreter runs programs one after another: a race shows only where their order "
        "changes the result"
    ]
    dtypes = {entry.get("dtype") for entry in job["inputs"]} | {job["case"].get("dtype")}
    mapping = job.get("shadow_dtype") or {}
    for source, stand_in in mapping.items():
        if source in dtypes:
            said.append(f"{source} was computed in {stand_in}")
    return said
