"""Stand-ins for the vendor's modules, for a process that runs kernels on numpy."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from . import dtypes, isa, isa_dst, language
from .buffers import Buffer, psum, sbuf
from .kernels import Cores, Runs, decorator
from .launch import running
from .settings import Flavour, UnknownName

_OLD: Final = "neuronxcc"
_NEW: Final = "nki"

# Names of the language module that only the older package has.
_OLD_LANGUAGE: Final = frozenset(("load", "store", "load_transpose2d", "loop_reduce"))


class StandIn(ModuleType):
    """A module of the vendor's."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownName(f"the simulator has no {self.__name__}.{name}")


def install(runs: Runs | None = None, *, replace: bool = False) -> list[str]:
    """Puts the stand-ins into ``sys.modules``; returns the packages that they stand in for.

    Args:
        runs: how kernels run; those that were decorated before keep their own.
        replace: also where the vendor's package is installed, which is left alone otherwise.
    """
    chosen = runs or Runs()
    done = []
    for package, build in ((_OLD, _old_modules), (_NEW, _new_modules)):
        if not replace and _installed(package):
            continue
        for name in [n for n in sys.modules if n == package or n.startswith(package + ".")]:
            del sys.modules[name]
        sys.modules.update(build(chosen))
        done.append(package)
    return done


def _installed(package: str) -> bool:
    known = sys.modules.get(package)
    if known is not None:
        return not isinstance(known, StandIn)
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return False
    # An empty placeholder of the same name has no language module.
    return importlib.util.find_spec(
        f"{package}{'.nki' if package == _OLD else ''}"
    ) is not None and (_has_language(package))


def _has_language(package: str) -> bool:
    name = f"{package}.nki.language" if package == _OLD else f"{package}.language"
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _module(name: str, contents: dict[str, Any]) -> StandIn:
    module = StandIn(name)
    module.__path__ = []
    module.__dict__.update(contents)
    return module


def _public(module: ModuleType) -> dict[str, Any]:
    """The functions and constants that a module of ours defines for kernels."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", module.__name__) in (
            module.__name__, f"{__package__}.indices", f"{__package__}.isa",
            f"{__package__}.elementwise", f"{__package__}.vector_engine", "types",
        ) and not isinstance(value, ModuleType) and name not in _OURS
    }  # fmt: skip


def _strict(value: Any) -> Any:
    """A function that reports arguments which the simulator does not know."""
    known = inspect.signature(value).parameters if inspect.isfunction(value) else {}
    if not known or "more" in known:
        return value

    @functools.wraps(value)
    def strict(*given: Any, **named: Any) -> Any:
        for name, argument in named.items():
            if name not in known and argument is not None:
                running().stop("unsupported", f"the simulator does not know the argument {name}=")
        return value(*given, **{n: argument for n, argument in named.items() if n in known})

    return strict


_OURS: Final = frozenset(
    ("CONSTANTS", "Any", "Final", "Callable", "Iterator", "annotations", "constant_tensor",
     "Engine", "ParDim", "SimpleNamespace", "vector_engine_token", "scalar_engine_token")
)  # fmt: skip


def _language(flavour: Flavour) -> dict[str, Any]:
    functions = {name: _strict(value) for name, value in _public(language).items()}
    contents = {**functions, **language.CONSTANTS}
    contents["nc"] = Cores
    contents["spmd_dim"] = lambda *sizes: Cores(*(n for s in sizes for n in _sizes(s)))
    if flavour == "nki":
        contents = {n: v for n, v in contents.items() if n not in _OLD_LANGUAGE}
    return contents


def _sizes(value: Any) -> tuple[int, ...]:
    return value.sizes if isinstance(value, Cores) else (int(value),)


def _engines() -> dict[str, Any]:
    return {
        "tensor_engine": isa.tensor_engine,
        "vector_engine": isa.vector_engine_token,
        "scalar_engine": isa.scalar_engine_token,
        "gpsimd_engine": isa.gpsimd_engine,
        "unknown_engine": isa.unknown_engine,
    }


def _old_modules(runs: Runs) -> dict[str, ModuleType]:
    jit = decorator("neuronxcc", runs)
    nl = _module("neuronxcc.nki.language", _language("neuronxcc"))
    instructions = {name: _strict(value) for name, value in _public(isa).items()}
    nisa = _module("neuronxcc.nki.isa", {**instructions, **_engines()})
    typing = _module("neuronxcc.nki.typing", _typing())
    compiler = _module("neuronxcc.nki.compiler", _compiler())
    nki = _module(
        "neuronxcc.nki",
        {
            "jit": jit,
            "trace": jit,
            "baremetal": jit,
            "profile": jit,
            "benchmark": _benchmark(jit),
            "simulate_kernel": _simulate_kernel(jit),
            "tensor": Annotated(),
            "language": nl,
            "isa": nisa,
            "typing": typing,
            "compiler": compiler,
        },
    )
    top = _module("neuronxcc", {"nki": nki})
    constants = _module("neuronxcc.nki.language.constants", {"sizeinbytes": _size_in_bytes})
    nl.__dict__["constants"] = constants
    modules = (top, nki, nl, nisa, typing, compiler, constants)
    return {module.__name__: module for module in modules}


def _new_modules(runs: Runs) -> dict[str, ModuleType]:
    jit = decorator("nki", runs)
    nl = _module("nki.language", _language("nki"))
    nisa = _module("nki.isa", {**_public(isa_dst), **_engines()})
    typing = _module("nki.typing", _typing())
    nki = _module(
        "nki",
        {
            "jit": jit,
            "simulate": jit,
            "benchmark": _benchmark(jit),
            "baremetal": jit,
            "language": nl,
            "isa": nisa,
            "typing": typing,
        },
    )
    return {module.__name__: module for module in (nki, nl, nisa, typing)}


class Annotated:
    """``nt.tensor[128, 512]`` of annotations.

    Attributes:
        mutable: the kernel may write the argument.
    """

    def __init__(self, mutable: bool = False) -> None:
        self.mutable = mutable

    def __getitem__(self, shape: Any) -> Annotated:
        return self

    def __call__(self, *arguments: Any, **more: Any) -> Annotated:
        return self


def _size_in_bytes(dtype: Any) -> int:
    found = dtypes.find(dtype)
    if found is None:
        raise TypeError(f"{dtype!r} is no type of NKI")
    return found.itemsize


def _typing() -> dict[str, Any]:
    return {"tensor": Annotated(), "mutable_tensor": Annotated(mutable=True)}


def _simulate_kernel(jit: Callable[..., Any]) -> Callable[..., Any]:
    def simulate_kernel(kernel: Any, *arguments: Any, **keywords: Any) -> Any:
        return jit(kernel)(*arguments, **keywords)

    return simulate_kernel


def _benchmark(jit: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that runs as another: no time is measured here."""

    def benchmark(function: Any = None, **options: Any) -> Any:
        if function is None:
            return lambda wrapped: benchmark(wrapped)
        return jit(function)

    return benchmark


class Placement:
    """``ncc.sbuf`` and ``ncc.psum``: tensors at addresses that the kernel chooses.

    The simulator gives each tensor memory of its own, so that two at one address do not overlap
    here: a launch that uses it gets a warning.
    """

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer

    def _placed(self) -> Buffer:
        launch = running()
        launch.report("unsupported", "addresses of direct allocation are not modelled", "warning")
        return self._buffer

    def alloc(self, function: Any = None, **options: Any) -> Buffer:
        return self._placed()

    def mod_alloc(self, **options: Any) -> Buffer:
        return self._placed()

    def auto_alloc(self) -> Buffer:
        return self._buffer


def _compiler() -> dict[str, Any]:
    def unchanged(function: Any = None, **options: Any) -> Any:
        return function if function is not None else unchanged

    return {
        "sbuf": Placement(sbuf),
        "psum": Placement(psum),
        "skip_middle_end_transformations": unchanged,
        "enable_stack_allocator": unchanged,
        "force_auto_alloc": unchanged,
        "no_reorder": unchanged,
    }
