"""Which means of confinement a GPU's driver works under, on the machine where this runs.

    PYTHONPATH=engine python benchmarks/isolation_probe.py

Each means is applied alone, then all together, in a child that compiles a Triton kernel, runs it,
multiplies matrices and ends. Then children that leave the device in a bad state, each followed by
a good one. One line each.
"""
# ruff: noqa: ANN001, ANN201, N803

from __future__ import annotations

import ctypes
import io
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import torch
import triton
import triton.language as tl

from tilewright.worker.messages.envelope import Job
from tilewright.worker.sandbox import (
    capabilities,
    cgroups,
    confinement,
    gpu_memory_limit,
    landlock,
    network_namespace,
    read_paths,
    rlimits,
    seccomp,
)

HERE = str(Path(__file__).resolve())
JOB: Job[Any] = cast("Job[Any]", {"kind": "run", "module": HERE, "device": "cuda:0"})


@triton.jit
def double(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, tl.load(X + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def far_out(X):
    tl.store(X + (1 << 40) + tl.program_id(0), 1.0)


@triton.jit
def endless(X):
    value = tl.load(X)
    while value >= 0:
        value = tl.load(X, volatile=True)
    tl.store(X, value)


def works() -> str:
    x = torch.arange(10_000, device="cuda", dtype=torch.float32)
    y = torch.empty_like(x)
    double[(triton.cdiv(10_000, 256),)](x, y, 10_000, BLOCK=256)
    assert torch.equal(y, x * 2)
    a = torch.randn(512, 512, device="cuda", dtype=torch.float16)
    assert torch.allclose((a @ a).float(), a.float() @ a.float(), atol=1.0)
    lines = Path("/proc/self/status").read_text().splitlines()
    sizes = [line.split()[1] for line in lines if line.startswith(("VmPeak", "VmData", "VmRSS"))]
    return f"ok; VmPeak, VmRSS, VmData kB {sizes}"


def child(what: Callable[[], Any], limit_s: float = 60.0) -> str:
    """Do it in a child; what it says, how it ended, how long it took and how long its end took."""
    read, write = os.pipe()
    start = time.perf_counter()
    process = os.fork()
    if process == 0:
        os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
        try:
            said = str(what())
        except BaseException as error:  # noqa: BLE001
            said = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    end, killed = time.monotonic() + limit_s, 0.0
    while (done := os.waitpid(process, os.WNOHANG))[0] == 0:
        if time.monotonic() > end and not killed:
            os.kill(process, signal.SIGKILL)
            killed = time.perf_counter()
        time.sleep(0.005)
    took = time.perf_counter() - start
    said = os.read(read, 4000).decode()
    os.close(read)
    ending = f", its end took {time.perf_counter() - killed:.2f} s" if killed else ""
    return f"{took:6.2f} s{ending}  exit {os.waitstatus_to_exitcode(done[1])}  {said}"


def with_means(means: Callable[[str], Any]) -> Callable[[], str]:
    def run() -> str:
        scratch = tempfile.mkdtemp()
        os.environ["TRITON_CACHE_DIR"] = scratch
        held = means(scratch)
        return f"{works()}; had {held}"

    return run


def landlocked(scratch: str) -> int:
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    os.environ["CUDA_CACHE_PATH"] = scratch
    paths = confinement.writable_paths(JOB, scratch)
    return landlock.restrict(paths, read_paths.readable_paths(JOB), read_paths.listable_paths(JOB))


MEANS: dict[str, Callable[[str], Any]] = {
    "nothing": lambda scratch: "",
    "environment": lambda scratch: confinement.scrub_environment(),
    "limits": lambda scratch: rlimits.limit(JOB, 60.0, True),
    "group": lambda scratch: sorted(cgroups.enter(rlimits.memory_allowance(JOB), 4096)),
    "network": lambda scratch: network_namespace.leave(),
    "landlock": landlocked,
    "capabilities": lambda scratch: capabilities.drop(),
    "seccomp": lambda scratch: seccomp.restrict() or "filtered",
    "hidden": lambda scratch: confinement.hide_from_ptrace(),
    "all": lambda scratch: confinement.confined(JOB, scratch, 60.0, on_gpu=True, untrusted=True),
}


def hold_all() -> str:
    held = []
    while True:
        held.append(torch.empty(4 << 30, dtype=torch.uint8, device="cuda"))


def waits_for_room() -> str:
    """Open the device while another process has all of it, for three seconds."""
    read, write = os.pipe()
    if os.fork() == 0:
        take_whole_device(write)
    os.close(write)
    taken = os.read(read, 1)
    start = time.perf_counter()
    allowed = gpu_memory_limit.limit("cuda:0")
    return f"taken {taken!r}; {allowed} bytes allowed after {time.perf_counter() - start:.2f} s"


def take_whole_device(told: int) -> None:
    torch.zeros(1, device="cuda")
    driver, size = ctypes.CDLL("libcuda.so.1"), 1 << 32
    while size >= 1 << 20:
        if driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(size)):
            size >>= 1
    os.write(told, b"!")
    time.sleep(3.0)
    os._exit(0)


def illegal() -> str:
    far_out[(64,)](torch.zeros(1, device="cuda"))
    torch.cuda.synchronize()
    return "nothing was noticed"


def never_ends() -> str:
    endless[(132,)](torch.zeros(1, device="cuda"))
    torch.cuda.synchronize()
    return "it ended"


def free_memory() -> str:
    return f"free, total {torch.cuda.mem_get_info()}"


def capped() -> str:
    start = time.perf_counter()
    torch.cuda.set_per_process_memory_fraction(0.1)
    cost = time.perf_counter() - start
    try:
        torch.empty(100 << 30, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError as error:
        return f"refused after {cost:.3f} s: {str(error)[:80]}"
    return "100 GiB were given"


def main() -> None:
    assert isinstance(sys.stdout, io.TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=True)
    print(os.uname(), "uid", os.getuid(), "torch", torch.__version__, triton.__version__)
    print("landlock", landlock.abi(), "may leave the network", network_namespace.can_leave())
    print("groups", cgroups.trees(), Path("/proc/self/cgroup").read_text().split())
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    print("mounts", [line.split()[4:6] for line in mounts if "cgroup" in line])
    print("devices", sorted(str(p) for p in Path("/dev").iterdir())[:60])
    print("environment", sorted(os.environ))
    for name, means in MEANS.items():
        print(f"{name:13}", child(with_means(means)))
    faults = {
        "free": free_memory, "capped": capped, "exhausts": hold_all, "room": waits_for_room,
        "illegal": illegal,
    }  # fmt: skip
    for name, fault in {**faults, "never ends": never_ends, "again": never_ends}.items():
        print(f"{name:13}", child(fault, 4.0 if fault is never_ends else 60.0))
        print(f"{'  then':13}", child(works))
    print(f"{'free':13}", child(free_memory))
    print(json.dumps({"done": True}))


if __name__ == "__main__":
    main()
