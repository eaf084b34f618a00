"""Recording the launches of a process that is the user's own: their script, their tests.

``sitecustomize`` of that process calls ``install`` before anything of theirs is imported, so
nothing heavy is imported here; torch and triton are, by the first launch, there already.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from . import variables

_CUSTOMIZE = "sitecustomize"


class _Thread(threading.local):
    """What a thread is doing: inside which tuners, whether one of them is benchmarking, and
    whether the recorder looks at tensors, with operations that may be Triton kernels themselves."""

    def __init__(self) -> None:
        self.tuners: list[str] = []
        self.benchmarking = 0
        self.looking = 0
        self.tried = False
        self.launches = 0


_thread = _Thread()


def install(hook_folder: str) -> None:
    """Take over Triton's launches once it is imported; hand over to the user's sitecustomize."""
    if os.environ.get(variables.TO):
        sys.meta_path.insert(0, _AfterImport())
        for name, patch in _PATCHES.items():
            if name in sys.modules:
                patch(sys.modules[name])
    sys.path[:] = [entry for entry in sys.path if entry != hook_folder]
    _run_next_customization()


def _run_next_customization() -> None:
    """Ours hides the ``sitecustomize`` that would have run, so run that one."""
    spec = PathFinder.find_spec(_CUSTOMIZE, sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[_CUSTOMIZE] = module
    spec.loader.exec_module(module)


class _AfterImport(importlib.abc.MetaPathFinder):
    """Patches a few of Triton's modules as soon as they have been executed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the other finders find, with a patch to follow."""
        patch = _PATCHES.get(name)
        if patch is None:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((each for each in found if each is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                execute(module)
                patch(module)

            setattr(spec.loader, "exec_module", executed)  # noqa: B010 - a method, on one object
        return spec


def _patch_compiled(module: Any) -> None:
    module.JITFunction.run = _recorded(module.JITFunction.run, interpreted=False)


def _patch_interpreted(module: Any) -> None:
    module.InterpretedFunction.run = _recorded(module.InterpretedFunction.run, interpreted=True)


def _patch_tuner(module: Any) -> None:
    tune, bench = module.Autotuner.run, module.Autotuner._bench

    @functools.wraps(tune)
    def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        steered = bool(os.environ.get(variables.STEERED))
        _thread.tuners.append("first" if steered else "chosen")
        try:
            if steered:
                return _launch_first(tuner, args, kwargs)
            return tune(tuner, *args, **kwargs)
        finally:
            _thread.tuners.pop()

    @functools.wraps(bench)
    def benchmarked(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        _thread.benchmarking += 1
        _thread.tried = True
        try:
            return bench(tuner, *args, **kwargs)
        finally:
            _thread.benchmarking -= 1

    module.Autotuner.run = run
    module.Autotuner._bench = benchmarked


def _launch_first(tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The interpreter cannot time: the first configuration that the tuner would try."""
    from ..launches import hooks

    configs = hooks.pruned_configs(tuner, args, kwargs, [])
    return hooks.launch_config(tuner, configs[0], args, kwargs)


def _recorded(run: Callable[..., Any], *, interpreted: bool) -> Callable[..., Any]:
    @functools.wraps(run)
    def recorded(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("warmup") or _thread.benchmarking or _thread.looking:
            return run(kernel, *args, **kwargs)
        from . import launch_records

        try:
            recorder = launch_records.recorder()
        except OSError:  # nowhere to write: the command that started us tells that nothing came
            return run(kernel, *args, **kwargs)
        tuned = _thread.tuners[-1] if _thread.tuners else None
        with _looking():
            seen, kwargs = recorder.begin_launch(kernel, args, kwargs, tuned, interpreted)
        if seen is not None and _thread.tried:
            seen.before.clear()  # a tuner's trials have just written what this launch will
        _thread.tried = False
        try:
            with _under_way(kernel) if interpreted else contextlib.nullcontext():
                result = run(kernel, *args, **kwargs)
        except BaseException as error:
            recorder.end_launch(seen, failure=f"{type(error).__name__}: {error}")
            raise
        with _looking():
            recorder.end_launch(seen)
        return result

    return recorded


@contextlib.contextmanager
def _under_way(kernel: Any) -> Iterator[None]:
    """A file that names the launch, gone when it is over: a process that reads where it has no
    memory is ended by a signal, and tells nothing more."""
    code = kernel.fn.__code__
    _thread.launches += 1
    about = f"launch {_thread.launches} of {kernel.fn.__name__} "
    file = variables.folder() / f"{os.getpid()}-{threading.get_ident()}{variables.UNDER_WAY}"
    with contextlib.suppress(OSError):
        file.write_text(f"{about}({code.co_filename}:{code.co_firstlineno})", encoding="utf-8")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


@contextlib.contextmanager
def _looking() -> Iterator[None]:
    _thread.looking += 1
    try:
        yield
    finally:
        _thread.looking -= 1


_for_good = contextlib.ExitStack()


def _mend_interpreter(triton: Any) -> None:
    """What the interpreter does otherwise than the compiler is mended as it is in verify.

    Before a kernel's module is imported: what it imports by name from libdevice it keeps.
    """
    del triton
    if os.environ.get(variables.STEERED):
        from ..interpreter import switch

        _for_good.enter_context(switch.interpreted())


_PATCHES: dict[str, Callable[[Any], None]] = {
    "triton": _mend_interpreter,
    "triton.runtime.jit": _patch_compiled,
    "triton.runtime.autotuner": _patch_tuner,
    "triton.runtime.interpreter": _patch_interpreted,
}
