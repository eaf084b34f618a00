"""A captured launch made again: views of the inputs, the recorded values, the planned grid.

A recorded call made again: its arguments, filled from the inputs as its template says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..inputs import tensor_files
from ..loading import entry_point
from ..protocol import JobError
from . import jit_signature

if TYPE_CHECKING:
    from ..messages.envelope import EntryJob
    from ..messages.parts import Plan, View


def launcher(job: EntryJob[Any] | Mapping[str, Any], module: Any) -> Callable[..., None]:
    """What launches the module's kernel on a case's inputs, as the plan for its file says."""
    call = job["case"]["launch"]
    assert call is not None
    plans = job.get("launching") or {}
    plan = plans.get(module.__file__)
    if plan is None:
        raise JobError(f"no launch is known for {call['kernel']} of {module.__file__}")
    kernel, chosen = _launchable(module, plan)
    names = [spec["name"] for spec in job["case"]["inputs"]]
    values = {name: jit_signature.decode(value, module) for name, value in plan["values"].items()}

    def launch(*inputs: Any) -> None:
        given = dict(zip(names, inputs, strict=True))
        views = {view["name"]: _view(given[view["input"]], view) for view in call["views"]}
        arguments = {**values, **views}
        args, keywords = _passed(entry_point.unwrap(kernel), arguments, chosen)
        options = {n: v for n, v in plan["options"].items() if n not in chosen}
        kernel[_grid(plan)](*args, **keywords, **options)

    return launch


def _launchable(module: Any, plan: Plan) -> tuple[Any, set[str]]:
    """(the kernel, what its own decorators choose)."""
    from triton.runtime.autotuner import Autotuner, Heuristics

    if not plan["through"]:
        return entry_point.find_kernel(module, plan["kernel"]), set()
    kernel = layer = getattr(module, plan["kernel"])
    chosen: set[str] = set()
    while isinstance(layer, Autotuner | Heuristics):
        if isinstance(layer, Autotuner):
            chosen.update(name for config in layer.configs for name in config.all_kwargs())
        else:
            chosen.update(layer.values)
        layer = layer.fn
    return kernel, chosen


def _passed(
    kernel: Any, arguments: Mapping[str, Any], chosen: set[str]
) -> tuple[list[Any], dict[str, Any]]:
    """By position as far as that goes: functions that prune configurations look there."""
    positional: list[Any] = []
    left = {name: value for name, value in arguments.items() if name not in chosen}
    for name in kernel.arg_names:
        if name not in left:
            break
        positional.append(left.pop(name))
    return positional, left


def _view(tensor: Any, view: View) -> Any:
    offset = int(tensor.storage_offset()) + view["offset"]
    made = tensor.as_strided(view["shape"], view["strides"], offset)
    if view["block"] is None:
        return made
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(made, list(view["shape"]), list(view["strides"]), view["block"])


def _grid(plan: Plan) -> Any:
    axes = plan["axes"]
    if axes is None:
        return tuple(plan["grid"])
    return lambda meta: tuple(_number(axis, meta) for axis in axes)


def _number(axis: str, meta: Mapping[str, Any]) -> int:
    """The value of arithmetic that the engine has written, over what the launch is given."""
    names = {"__builtins__": {}, "min": min, "max": max, "cdiv": _cdiv}
    names["next_power_of_2"] = _next_power_of_2
    return int(eval(axis, names, dict(meta)))


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


def _next_power_of_2(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def caller(
    function: Callable[..., Any], arguments: Mapping[str, Any], names: Sequence[str], device: str
) -> Callable[..., Any]:
    """What calls a function with inputs by position, as a template says."""

    def call_with_values(*values: Any) -> Any:
        known = dict(zip(names, values, strict=True))
        args = [_filled(one, known, device) for one in arguments["args"]]
        kwargs = {key: _filled(one, known, device) for key, one in arguments["kwargs"].items()}
        return function(*args, **kwargs)

    return call_with_values


def _filled(template: Mapping[str, Any], known: Mapping[str, Any], device: str) -> Any:
    ((kind, value),) = template.items()
    if kind == "input":
        return known[value]
    if kind == "none":
        return None
    if kind == "dtype":
        return tensor_files.dtype_of(value)
    if kind == "device":
        return torch.device(device)
    if kind in ("list", "tuple"):
        filled = [_filled(one, known, device) for one in value]
        return tuple(filled) if kind == "tuple" else filled
    if kind == "dict":
        return {key: _filled(one, known, device) for key, one in value.items()}
    raise JobError(f"an argument of kind {kind!r} is not known")
