"""One module a job; each has ``perform(job) -> value``. ``messages`` has the types of both."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

from ..protocol import JobError
from ..runtime import prewarm

if TYPE_CHECKING:
    from ..messages.envelope import Job

COMPILERS = ("compile_xpu",)
COMPILING = {"compile", "compile_xpu"}
_FAKING = {"capture", "size", "measure"}
KEPT_ON_DISK = COMPILING | {"capture", "specialize"}
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
    if job.get("kind") in COMPILING | {"specialize"}:
        prewarm.before_compiling()
    elif job.get("kind") != "probe" and uses_gpu(job):
        prewarm.before_launching()
    if job.get("kind") in _FAKING:
        _warm_up_fake_tensors()


def preload(compile_only: bool = False) -> None:
    """Import every job's module, so that no child pays for it; compilers alone need no torch."""
    if compile_only:
        for kind in COMPILERS:
            module_of(kind)
        return
    for kind in _MODULES:
        module_of(kind)


@cache
def _warm_up_fake_tensors() -> None:
    """Before the first job that needs them: the import takes a third of a worker's start."""
    from ..host import absent_device

    absent_device.warm_up()


def module_of(kind: object) -> Any:
    """The module that does jobs of a kind; raises JobError for one that is unknown."""
    if kind not in _MODULES:
        raise JobError(f"unknown job {kind!r}; this worker knows {', '.join(_MODULES)}")
    return importlib.import_module(f".{_MODULES[str(kind)]}", __name__)
