"""One module a job; each has ``perform(job) -> value``. ``messages`` has the types of both."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

from ..loading import import_stamps
from ..protocol import JobError
from ..runtime import prewarm

if TYPE_CHECKING:
    from ..messages.envelope import Job

COMPILERS = ("compile_xpu",)
_COMPILING = {"compile", "compile_xpu"}
_FAKING = {"capture", "size", "measure"}
_KEPT_ON_DISK = _COMPILING | {"capture", "specialize"}
"""Whose answers hold as long as the files that they depend on."""
_MODULES = {
    "probe": "probe",
    "capture": "capture",
    "compile": "compile_launch",
    "compile_xpu": "compile_xpu",
    "specialize": "specialize",
    "inputs": "inputs",
    "run": "run",
    "measure": "measure",
    "profile": "profile",
    "counters": "counters",
    "perform": "trial_runner",
    "tries": "confinement_tests",
    "size": "size",
    "calls": "calls",
    "drafted": "drafted",
    "tests": "tests",
    "neuron_benchmark": "neuron_benchmark",
}


def uses_gpu(job: Job[Any]) -> bool:
    """Whether a job opens a device, whose driver needs more than other jobs may have."""
    return job.get("kind") == "probe" or str(job.get("device", "")).startswith(
        ("cuda", "hip", "xpu")
    )


def warm_up_for(job: Job[Any]) -> None:
    """Do once in the fork server what each child that does such a job would do again."""
    if job.get("kind") in _COMPILING | {"specialize"}:
        prewarm.before_compiling()
    elif job.get("kind") != "probe" and uses_gpu(job):
        prewarm.before_launching()
    if job.get("kind") in _FAKING:
        _warm_up_fake_tensors()


def preload(compile_only: bool = False) -> None:
    """Import every job's module, so that no child pays for it; compilers alone need no torch."""
    if compile_only:
        for kind in COMPILERS:
            importlib.import_module(f".{_MODULES[kind]}", __name__)
        return
    for name in _MODULES.values():
        importlib.import_module(f".{name}", __name__)


@cache
def _warm_up_fake_tensors() -> None:
    """Before the first job that needs them: the import takes a third of a worker's start."""
    from ..host import absent_device

    absent_device.warm_up()


def perform(job: Job[Any]) -> Any:
    """Do a job; raises JobError for one that is unknown or lacks an argument."""
    kind = job.get("kind")
    if kind not in _MODULES:
        raise JobError(f"unknown job {kind!r}; this worker knows {', '.join(_MODULES)}")
    module = importlib.import_module(f".{_MODULES[kind]}", __name__)
    if kind in _COMPILING:
        prewarm.without_tritons_cache()
    before = import_stamps.loaded() if kind in _KEPT_ON_DISK else frozenset()
    try:
        value = module.perform(job)
    except KeyError as error:
        if error.__traceback__ is not None and error.args and error.args[0] not in job:
            _blame_missing_argument(error, kind)
        raise
    if kind in _KEPT_ON_DISK:
        value["depends"] = import_stamps.brought_along(before, str(job.get("module")))
    return value


def _blame_missing_argument(error: KeyError, kind: str) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None and __name__.rpartition(".")[0] in trace.tb_frame.f_globals["__name__"]:
        raise JobError(f"a {kind} job needs {error.args[0]!r}") from error
