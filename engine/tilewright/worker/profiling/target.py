"""The program that a profiler starts: one call of a version, marked as what is to be profiled.

The profiler's own library comes into this process first; then it is confined, and only then the
file under test is imported.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from ..sandbox import confinement as confine
from ..sandbox import triton_cache

_LOCKS = "nvidia/nsight_compute"  # where Nsight Compute keeps one process at a time on a device
_INJECTED = ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")


def main(path: str) -> None:
    """Do the job in the file ``path``: run once unprofiled, then ``calls`` times profiled.

    The last line of standard output is JSON: ``{"profiled": calls, "confinement": ...}``.
    """
    job: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    import torch

    device = str(job["device"])
    api: Any = getattr(torch, device.split(":")[0])
    torch.zeros(1, device=device)
    api.set_device(torch.device(device))
    api.synchronize()
    confinement = _confine(job)
    from ..trials import version
    from . import prepare

    with version.surroundings(device, job["module"]), version.one_config(job, {}), torch.no_grad():
        call, inputs = prepare.prepared(job, device)
        call(*inputs.values())
        api.synchronize()
        _region(job, lambda: call(*inputs.values()), api)
    said = {"profiled": int(job.get("calls") or 1), "confinement": confinement}
    sys.stdout.write("\n" + json.dumps(said) + "\n")
    sys.stdout.flush()


def _confine(job: Any) -> dict[str, int]:
    """Keep this process from writing elsewhere, and from TCP: as much as a profiler can bear.

    It may read: the profiler's library asks for files as it goes. It has gone through what starts
    other programs before: they do not start under a profiler in here.
    """
    from triton.runtime.driver import driver

    driver.active.get_current_target()
    os.chdir(job["scratch"])
    triton_cache.use(str(job.get("cache") or triton_cache.LINKED))
    for name in _INJECTED:  # compilers that this process starts are not to be profiled
        os.environ.pop(name, None)
    scratch = os.environ.get("TMPDIR") or str(job["scratch"])
    places = [*confine.writable_paths(job, scratch), *map(str, Path("/tmp").glob(_LOCKS))]
    return {"landlock": confine.restrict_files(places)}


def _region(job: Any, call: Any, api: Any) -> None:
    """The calls to profile, between the marks that the tool looks for."""
    calls = range(int(job.get("calls") or 1))
    if job.get("marks") == "proton":
        _proton(job, call, calls, api)
        return
    if job.get("marks") == "cuda":
        api.cudart().cudaProfilerStart()
    for _ in calls:
        call()
    api.synchronize()
    if job.get("marks") == "cuda":
        api.cudart().cudaProfilerStop()


def _proton(job: Any, call: Any, calls: range, api: Any) -> None:
    from triton import profiler

    name = str(Path(job["scratch"], "proton"))
    profiler.start(name, context="shadow", **(job.get("proton") or {}))
    for _ in calls:
        call()
    api.synchronize()
    profiler.finalize()
