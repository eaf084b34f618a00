"""A device that says it is a GPU and computes on the CPU: the ways that trials take on GPUs alone.

Compilers beside the candidate, caches of its own, a tuner's configurations, several hearings at a
time, quick looks at configurations. Kernels are compiled for a real chip (for a quick look, not at
all) and run in the interpreter; tuners take the first configuration for the fastest. Nothing of
CUDA itself shows here.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import faulting
import pytest

from tilewright.devices.client import WorkerClient, WorkerDevice
from tilewright.devices.model import Device, DeviceInfo
from tilewright.targets.model import Target

DEVICE = "cuda:0"
INFO = DeviceInfo(DEVICE, "a GPU", Target("cuda", "90"), True, "2.13", "3.9.0", "3.11")
_PRETEND = """
import types
import torch
from triton.runtime.autotuner import Autotuner
from tilewright.worker.sandbox import gpu_memory_limit
from tilewright.worker.trials import runner, version
from tilewright.worker.timing import clocks

real, host_clock = version.surroundings, clocks.HostClock

def synchronize(self):
    if getattr(torch, "is_spent", False):
        raise RuntimeError("CUDA error: misaligned address")

host_clock.synchronize = synchronize
version.place_of = lambda device: "cpu"
gpu_memory_limit.limit = lambda device: 0
torch.cuda.get_device_properties = lambda device: types.SimpleNamespace(total_memory=1 << 34)
clocks.clock_for = lambda device, flush_bytes=None: host_clock()

from tilewright.worker.jobs import measure
from tilewright.worker.timing import noise_floor

noise_floor.BLOCKS, noise_floor._ENOUGH_S = noise_floor.CLEAN_BLOCKS, 0.0
measure.target_of = lambda device: ("cuda", "90")
measure._compiled_module = lambda job, notes: measure.entry_point.load_for(
    job.get("entry"), job["module"]
)
version.surroundings = lambda device, module: real("interpreter", module)
runner.clock_for = clocks.clock_for

def enter(self):
    if not self._job.get("compiles"):
        self._stack.enter_context(real("interpreter", self._job["module"]))
    return self

def bench(self, *given, config, **meta):
    return [float(self.configs.index(config)) + 1.0] * 3

runner.Runner.__enter__, Autotuner._bench = enter, bench
"""
_PROGRAM = faulting._START  # as it is before any worker here has its own in that place


def start() -> str:
    """The program of such a worker, in the place of ``faulting``'s."""
    before, marker, after = _PROGRAM.partition("from tilewright.worker.trials import trial")
    assert marker
    return before + _PRETEND.replace("{", "{{").replace("}", "}}") + marker + after


@contextlib.contextmanager
def worker(patience_s: float = 15.0) -> Iterator[faulting.Worker]:
    """A worker that has such a device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faulting, "_START", start())
        with faulting.worker(DEVICE, patience_s) as started:
            yield started


@contextlib.contextmanager
def device(folder: Path) -> Iterator[Device]:
    """The device as the engine knows one, for as much of the engine as a test likes to try.

    ``folder``: for the program that is started in Python's place.
    """
    program = start().format(engine=str(faulting.ENGINE), patience_s=15.0)
    (folder / "pretend.py").write_text(program)
    python = folder / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} {folder}/pretend.py\n")
    python.chmod(0o700)
    with WorkerClient(str(python)) as client:
        yield WorkerDevice(client, INFO)
