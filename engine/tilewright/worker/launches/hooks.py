"""Every Triton launch goes through here: recorded, counted, or steered to one configuration."""

from __future__ import annotations

import contextlib
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
import triton
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources, PTXASError
from triton.runtime.interpreter import GridExecutor
from triton.runtime.jit import JITFunction

from ..inputs import tensor_files
from ..loading import host_timeout
from .jit_signature import FACTS

if TYPE_CHECKING:
    from ..messages.parts import Argument, Launch, Options

MAX_CONFIGS = 64
_TYPES = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "bool": "i1",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
    "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2fnuz": "fp8e5b16",
}  # fmt: skip
_UNKNOWN = re.compile(r"Keyword argument (\w+) was specified but unrecogni[sz]ed")
_DROPPED_OPTIONS = ("ir_override", "debug")
_ALIGNMENT = 16


class Recorder:
    """Records launches instead of executing them; one entry a configuration when autotuned.

    ``on_launch``: gets kernel, grid, args and kwargs of each launch, of a tuner's of the first.
    """

    def __init__(self) -> None:
        self.launches: list[Launch] = []
        self.config_index: list[int | None] = []
        self.notes: list[str] = []
        self._config: int | None = None
        self.on_launch: Callable[..., None] | None = None

    @contextlib.contextmanager
    def patched(self) -> Iterator[None]:
        """Take over every launch while host code runs."""
        recorder = self

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> None:
            if not warmup:
                recorder._record(kernel, grid, args, kwargs)

        def tuned(tuner: Any, *args: Any, **kwargs: Any) -> None:
            recorder._each_config(tuner, args, kwargs)

        with mock.patch.object(JITFunction, "run", run), mock.patch.object(Autotuner, "run", tuned):
            yield

    def _each_config(self, tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        configs = pruned_configs(tuner, args, kwargs, self.notes)
        if len(configs) > MAX_CONFIGS:
            self.notes.append(
                f"{len(configs)} configurations; the first {MAX_CONFIGS} were recorded"
            )
        outer = self._config
        for index, config in enumerate(configs[:MAX_CONFIGS]):
            self._config = index
            launch_config(tuner, config, args, kwargs)
        self._config = outer

    def _record(
        self, kernel: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        bound, options = bind(kernel, args, kwargs)
        if callable(grid):
            grid = grid(bound)
        self.launches.append(
            {
                "kernel": kernel.fn.__name__,
                "grid": [int(size) for size in grid],
                "arguments": [describe(param, bound[param.name]) for param in kernel.params],
                "options": plain_options(options),
            }
        )
        self.config_index.append(self._config)
        if self.on_launch is not None and not self._config:
            self.on_launch(kernel, grid, args, kwargs)


def plain_options(options: Mapping[str, Any]) -> Options:
    """The compiler options among a launch's other keywords."""
    return {
        name: value
        for name, value in options.items()
        if isinstance(value, int | float | bool | str) and name not in _DROPPED_OPTIONS
    }


def bind(
    kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(arguments by parameter with defaults filled in, compiler options) of a launch."""
    names = {param.name for param in kernel.params}
    signature = inspect.signature(kernel.fn)
    given = {name: value for name, value in kwargs.items() if name in names}
    bound = signature.bind(*args, **given)
    bound.apply_defaults()
    return dict(bound.arguments), {k: v for k, v in kwargs.items() if k not in names}


def describe(param: Any, value: Any) -> Argument:
    """One argument as ``ArgumentFacts``, typed as Triton's JIT would."""
    facts: Argument = {
        "name": param.name, "kind": "constexpr", "type": "constexpr", "value": None,
        "divisible_by_16": False,
    }  # fmt: skip
    if param.is_constexpr:
        return {**facts, "value": encode(value)}
    if isinstance(value, torch.Tensor) or hasattr(value, "data_ptr"):
        return _tensor(facts, param, value)
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        return _descriptor(facts, value)
    if value is None:
        return {**facts, "kind": "none"}
    if isinstance(value, bool):
        return {**facts, "kind": "bool", "type": param.annotation_type or "u1", "value": value}
    if isinstance(value, int):
        divisible = value % _ALIGNMENT == 0 and _specialized(param)
        of = param.annotation_type or _int_type(value)
        return {**facts, "kind": "int", "type": of, "value": value, "divisible_by_16": divisible}
    if isinstance(value, float):
        return {**facts, "kind": "float", "type": param.annotation_type or "fp32", "value": value}
    if isinstance(value, tuple | list):
        items = [describe(_Item(f"{param.name}[{at}]"), item) for at, item in enumerate(value)]
        return {**facts, "kind": "tuple", "type": "tuple", "value": FACTS + json.dumps(items)}
    return {**facts, "value": encode(value)}


class _Item:
    """An item of a tuple, which the JIT specializes as a parameter that nothing is said of."""

    is_constexpr = is_const = do_not_specialize = do_not_specialize_on_alignment = False
    annotation_type = ""

    def __init__(self, name: str) -> None:
        self.name = name


def _specialized(param: Any) -> bool:
    return not param.do_not_specialize and not param.do_not_specialize_on_alignment


def _int_type(value: int) -> str:
    if -(2**31) <= value < 2**31:
        return "i32"
    return "i64" if value < 2**63 else "u64"


def _tensor(facts: Argument, param: Any, value: Any) -> Argument:
    tensor = getattr(value, "base", value) if not isinstance(value, torch.Tensor) else value
    name = tensor_files.dtype_name(value.dtype) if isinstance(value.dtype, torch.dtype) else ""
    kind = _TYPES.get(name) or str(value.dtype)
    # A fake tensor has no address; a fresh allocation is aligned, so its offset decides.
    offset = tensor.storage_offset() * tensor.element_size()
    return {
        **facts,
        "kind": "tensor",
        "type": ("*k" if param.is_const else "*") + kind,
        "shape": [int(size) for size in tensor.shape],
        "strides": [int(stride) for stride in tensor.stride()],
        "divisible_by_16": offset % _ALIGNMENT == 0 and _specialized(param),
    }


def _descriptor(facts: Argument, value: Any) -> Argument:
    inner = _TYPES.get(tensor_files.dtype_name(value.base.dtype), str(value.base.dtype))
    return {
        **facts,
        "kind": "tensor",
        "type": f"tensordesc<{inner}{list(value.block_shape)}>",
        "shape": [int(size) for size in value.shape],
        "strides": [int(stride) for stride in value.strides],
    }


def encode(value: Any) -> Any:
    """A constexpr as JSON; what JSON cannot hold becomes a ``triton.…:`` string."""
    value = (
        getattr(value, "value", value) if isinstance(value, triton.language.constexpr) else value
    )
    if value is None or isinstance(value, int | float | bool | str):
        return value
    if isinstance(value, triton.language.dtype):
        return f"triton.dtype:{value}"
    if hasattr(value, "fn") and hasattr(value.fn, "__name__"):
        return f"triton.jit:{value.fn.__name__}"
    if isinstance(value, tuple | list):
        return "triton.tuple:" + json.dumps([encode(item) for item in value])
    return f"triton.unknown:{type(value).__name__}"


def pruned_configs(
    tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], notes: list[str]
) -> list[Any]:
    """The configurations a tuner would try for these arguments, in its order."""
    if tuner.perf_model is not None:
        notes.append("the autotuner's performance model was not run; all configurations are listed")
    if tuner.early_config_prune is None:
        return list(tuner.configs)
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    try:
        return list(tuner.early_config_prune(tuner.configs, tuner.nargs, **kwargs))
    except (RuntimeError, AttributeError, TypeError, KeyError, AssertionError) as error:
        notes.append(f"the autotuner's pruning function failed without a device: {error}")
        return list(tuner.configs)


def launch_config(tuner: Any, config: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Launch once with one configuration, as the tuner does after it has chosen."""
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    chosen = config.all_kwargs()
    if config.pre_hook is not None:
        config.pre_hook({**tuner.nargs, **kwargs, **chosen})
    return tuner.fn.run(*args, **{**kwargs, **chosen})


def _tried(tuner: Any, config: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Launch once as a tuner does to take the time, with the hooks that clear or restore what such
    launches write."""
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    every = {**tuner.nargs, **kwargs, **config.all_kwargs()}
    tuner.pre_hook(every)
    launch_config(tuner, config, args, kwargs)
    tuner.post_hook(every, exception=None)
    tuner.pre_hook(every, reset_only=True)


@contextlib.contextmanager
def one_config(index: int, seen: dict[str, int], *, tried: bool = False) -> Iterator[None]:
    """Make every tuner use its configuration ``index``, without benchmarking.

    ``seen`` gets how many each has. One that the device cannot run no tuner would choose either:
    then the next that it can. ``tried``: the configuration is launched before, as where a tuner
    benchmarks, which a kernel that adds to its output does not stand.
    """

    def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        configs = pruned_configs(tuner, args, kwargs, [])
        seen[tuner.base_fn.__name__] = len(configs)
        first = min(index, len(configs) - 1)
        *others, last = [*configs[first:], *configs[:first]]
        if tried and others:
            _tried(tuner, configs[first], args, kwargs)
        for config in others:
            with contextlib.suppress(OutOfResources, PTXASError, CompileTimeAssertionFailure):
                return launch_config(tuner, config, args, kwargs)
        return launch_config(tuner, last, args, kwargs)

    with mock.patch.object(Autotuner, "run", run):
        yield


@contextlib.contextmanager
def with_options(options: Mapping[str, Any]) -> Iterator[None]:
    """Give every launch these compiler options instead of its own; the interpreter has none."""
    run = JITFunction.run

    def changed(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        return run(kernel, *args, **{**kwargs, **options})

    with mock.patch.object(JITFunction, "run", changed):
        yield


left_out: set[str] = set()
"""Options of launches of this process that the backend does not know."""


@contextlib.contextmanager
def without_unknown_options() -> Iterator[None]:
    """Leave out of launches what another backend's compiler has for an option: ``grf_mode``."""
    launch = JITFunction.run

    def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        if not left_out:
            return attempted(kernel, args, kwargs)
        return attempted(kernel, args, {k: v for k, v in kwargs.items() if _is_known(kernel, k)})

    def attempted(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return launch(kernel, *args, **kwargs)
        except KeyError as error:
            unknown = _UNKNOWN.search(str(error))
            if unknown is None or unknown[1] not in kwargs:
                raise
            left_out.add(unknown[1])
        return attempted(kernel, args, {k: v for k, v in kwargs.items() if k != unknown[1]})

    with mock.patch.object(JITFunction, "run", run):
        yield


def _is_known(kernel: Any, option: str) -> bool:
    return option not in left_out or option in kernel.arg_names


@contextlib.contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count launches by kernel name, on a device and in the interpreter."""
    counts: Counter[str] = Counter()

    def counting(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            if not kwargs.get("warmup"):
                counts[kernel.fn.__name__] += 1
            return original(kernel, *args, **kwargs)

        return run

    with (
        mock.patch.object(JITFunction, "run", counting(JITFunction.run)),
        mock.patch.object(GridExecutor, "__call__", counting(GridExecutor.__call__)),
    ):
        yield counts


class _StandIn:
    """As much of a tensor as the JIT looks at when it specializes."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.dtype = tensor.dtype
        self._offset = tensor.storage_offset() * tensor.element_size()
        self._range = tensor.untyped_storage().nbytes()

    def data_ptr(self) -> int:
        """Aligned as a fresh allocation's is."""
        return int(self._offset)

    def ptr_range(self) -> int:
        """Bytes that the pointer reaches."""
        return int(self._range)


@contextlib.contextmanager
def compiled_only() -> Iterator[None]:
    """Compile every launch, each configuration included, and execute none."""
    compile_one = JITFunction.run

    def run(kernel: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> None:
        args = tuple(_stand_in(value) for value in args)
        kwargs = {name: _stand_in(value) for name, value in kwargs.items()}
        # What does not compile is the tuner's to leave out, or the launch's to tell.
        with host_timeout.not_counted(), contextlib.suppress(triton.TritonError, RuntimeError):
            compile_one(kernel, *args, grid=grid, warmup=True, **kwargs)

    def tuned(tuner: Any, *args: Any, **kwargs: Any) -> None:
        for config in pruned_configs(tuner, args, kwargs, []):
            launch_config(tuner, config, args, kwargs)

    with mock.patch.object(JITFunction, "run", run), mock.patch.object(Autotuner, "run", tuned):
        yield


def _stand_in(value: Any) -> Any:
    return _StandIn(value) if isinstance(value, torch.Tensor) else value
