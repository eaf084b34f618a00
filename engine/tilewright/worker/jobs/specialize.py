"""``specialize``: which of the launches inferred from a text the compiler's front end takes.

What only an import tells is filled in: autotune configurations, heuristics, defaults, the types
that annotations state, and what the JIT must not specialize.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction

from ..launches import hooks
from ..launches.jit_signature import specialize
from ..loading import entry_point, kernel_import, partial_import
from ..protocol import JobError

if TYPE_CHECKING:
    from ..messages.jobs import Guess, Specialized, SpecializedKernels, SpecializeJob
    from ..messages.parts import Argument, Launch

_TARGET = GPUTarget("cuda", 90, 32)
_REFUSALS = (triton.TritonError, *partial_import.FAILURES)
_DEEPEST = 8


@dataclass(frozen=True)
class Decorated:
    """A jit function and what its decorators say."""

    function: Any
    configs: tuple[Any, ...] = ()
    heuristics: Mapping[str, Callable[[dict[str, Any]], Any]] = field(default_factory=dict)
    needs_pruning: bool = False


def perform(job: SpecializeJob) -> SpecializedKernels:
    """For each kernel the first guess that becomes TTIR, once for each configuration."""
    from ..host import absent_device, device_api, tensor_placement

    kind = device_api.written_for(job["module"]) or "cuda"
    with absent_device.no_driver(kind=kind), tensor_placement.extensions(kind):
        loaded = kernel_import.load_kernels(job["module"])
        found = {
            name: _chosen(loaded.module, name, guesses) for name, guesses in job["kernels"].items()
        }
    return {"kernels": found, "notes": loaded.notes()}


def _chosen(module: Any, name: str, guesses: list[Guess]) -> Specialized:
    try:
        jit = decorated(module, name)
    except JobError as error:
        return {"chosen": None, "launches": [], "refused": [str(error)]}
    refused: list[str] = []
    found: Specialized = {"chosen": None, "launches": [], "refused": refused}
    found |= {"configs": len(jit.configs), "pruned": jit.needs_pruning}
    for index, guess in enumerate(guesses):
        made, filled = completed(jit, guess)
        if not index:
            found |= {"launches": made, "filled": filled}
        try:
            build_ttir(jit.function, made[0], module)
        except _REFUSALS as error:
            refused.append(reason(error))
            continue
        return {**found, "chosen": index, "launches": made, "filled": filled}
    return found


def decorated(module: Any, name: str) -> Decorated:
    """A kernel below autotuners, heuristics and wrappers of a library's own that keep ``fn``."""
    value = getattr(module, name, None)
    configs: tuple[Any, ...] = ()
    heuristics: dict[str, Any] = {}
    pruned = False
    for _ in range(_DEEPEST):
        if value is None or isinstance(value, JITFunction):
            break
        if isinstance(value, Autotuner):
            configs = configs or tuple(value.configs)
            pruned = pruned or value.early_config_prune is not None
        if isinstance(value, Heuristics):
            heuristics.update(value.values or {})
        below = vars(value) if hasattr(value, "__dict__") else {}
        value = below.get("fn", below.get("_scalar_fn"))
    if not isinstance(value, JITFunction) or value.fn.__name__ != name:
        value = entry_point.find_kernel(module, name)
    return Decorated(value, configs, heuristics, pruned)


def completed(jit: Decorated, guess: Guess) -> tuple[list[Launch], dict[str, str]]:
    """(a guess's launch with each configuration, its own first; what was filled in from where)."""
    filled: dict[str, str] = {}
    launch = copy.deepcopy(guess["launch"])
    facts = {fact["name"]: fact for fact in launch["arguments"]}
    launch["arguments"] = [
        _declared(param, facts.get(param.name), guess, filled) for param in jit.function.params
    ]
    configs = list(jit.configs) or [None]
    first = guess["config"] % len(configs)
    made = [_configured(jit, c, launch, filled) for c in [*configs[first:], *configs[:first]]]
    return made, filled


def _declared(param: Any, fact: Argument | None, guess: Guess, filled: dict[str, str]) -> Argument:
    """A guessed argument, with what the jit function's declaration says of it."""
    if fact is None:
        fact = _constexpr(param.name)
    if param.is_constexpr and param.has_default and param.name in guess.get("defaulted", ()):
        value = hooks.encode(param.default)
        filled[param.name] = "default"
        return {**_constexpr(param.name), "kind": "constexpr", "value": value}
    if param.annotation_type and fact["type"] != "constexpr":
        if fact["type"] != param.annotation_type:
            filled[param.name] = "annotation"
        fact = {**fact, "type": param.annotation_type, "kind": _kind(param.annotation_type)}
    if param.do_not_specialize or param.do_not_specialize_on_alignment:
        fact = {**fact, "divisible_by_16": False}
    return fact


def _kind(type_name: str) -> str:
    if type_name.startswith("*"):
        return "tensor"
    return "float" if type_name.startswith(("fp", "bf")) else "int"


def _configured(jit: Decorated, config: Any, launch: Launch, filled: dict[str, str]) -> Launch:
    facts = {fact["name"]: fact.copy() for fact in launch["arguments"]}
    options = dict(launch["options"])
    for name, value in (config.all_kwargs() if config is not None else {}).items():
        if name in facts:
            facts[name] = {**_constexpr(name), "kind": "constexpr", "value": hooks.encode(value)}
            filled[name] = "configuration"
        elif isinstance(value, int | float | bool | str):
            options[name] = value
    _apply_heuristics(jit, facts, filled)
    _shape_descriptors(config, facts)
    return {**launch, "arguments": list(facts.values()), "options": options}


def _constexpr(name: str) -> Argument:
    return {
        "name": name, "kind": "none", "type": "constexpr", "value": None, "shape": None,
        "strides": None, "divisible_by_16": False,
    }  # fmt: skip


def _apply_heuristics(jit: Decorated, facts: dict[str, Argument], filled: dict[str, str]) -> None:
    given = {name: _stand_in(fact) for name, fact in facts.items()}
    for name, heuristic in jit.heuristics.items():
        if name not in facts:
            continue
        try:
            value = heuristic(given)
        except _REFUSALS:
            continue
        facts[name] = {**_constexpr(name), "kind": "constexpr", "value": hooks.encode(value)}
        given[name] = value
        filled[name] = "heuristic"


def _stand_in(fact: Argument) -> Any:
    """Something that a heuristic can calculate with."""
    if fact["kind"] == "tensor":
        return SimpleNamespace(
            shape=(1024, 1024), stride=lambda axis=0: 1024, data_ptr=lambda: 0,
            numel=lambda: 1024 * 1024, element_size=lambda: 2, ndim=2, block_shape=None,
        )  # fmt: skip
    return fact["value"]


def _shape_descriptors(config: Any, facts: dict[str, Argument]) -> None:
    """A tuner's hook states the blocks of the descriptors that the host passes."""
    hook = getattr(config, "pre_hook", None)
    names = [name for name, fact in facts.items() if fact["type"].startswith("tensordesc")]
    if hook is None or not names:
        return
    given = {name: _stand_in(fact) for name, fact in facts.items()}
    try:
        hook(given)
    except _REFUSALS:
        return
    for name in names:
        if given[name].block_shape:
            element = facts[name]["type"].removeprefix("tensordesc<").partition("[")[0]
            facts[name]["type"] = f"tensordesc<{element}{list(given[name].block_shape)}>"


def build_ttir(function: Any, launch: Launch, module: Any) -> None:
    """Through the compiler's front end alone; raises whatever that raises."""
    from triton._C.libtriton import ir

    signature, constants, attributes = specialize(function, launch, "cuda", module)
    backend = make_backend(_TARGET)
    options = backend.parse_options(dict(launch["options"]))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    ASTSource(function, signature, constants, attributes).make_ir(
        _TARGET,
        options,
        backend.get_codegen_implementation(options),
        backend.get_module_map(),
        context,
    )


def reason(error: BaseException) -> str:
    """What the compiler says, of the innermost function where one called another."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line.strip("^ ")]
    sentence = re.sub(r"\s+", " ", said[-1] if said else type(error).__name__)
    return re.sub(r"0x[0-9a-f]+", "0x…", sentence)[:300]
