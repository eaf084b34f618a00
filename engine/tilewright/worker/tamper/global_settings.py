"""What a process has set for everybody in it: defaults of torch, random states, environment."""

from __future__ import annotations

import gc
import hashlib
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

_SETTINGS: dict[str, Callable[[], Any]] = {
    "torch's default dtype": torch.get_default_dtype,
    "torch's default device": torch.get_default_device,
    "torch.backends.cuda.matmul.allow_tf32": lambda: torch.backends.cuda.matmul.allow_tf32,
    "torch.backends.cudnn.allow_tf32": lambda: torch.backends.cudnn.allow_tf32,
    "torch's float32 matmul precision": torch.get_float32_matmul_precision,
    "fp16 reductions in reduced precision": lambda: (
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    ),
    "bf16 reductions in reduced precision": lambda: (
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    ),
    "torch.backends.cudnn.benchmark": lambda: torch.backends.cudnn.benchmark,
    "torch.backends.cudnn.enabled": lambda: torch.backends.cudnn.enabled,
    "deterministic algorithms": torch.are_deterministic_algorithms_enabled,
    "grad mode": torch.is_grad_enabled,
    "inference mode": torch.is_inference_mode_enabled,
    "autocast": lambda: (torch.is_autocast_enabled("cuda"), torch.is_autocast_enabled("cpu")),
    "torch's function modes": torch._C._len_torch_function_stack,
    "torch's number of threads": torch.get_num_threads,
    "torch's random state": lambda: _hashed(torch.get_rng_state().numpy().tobytes()),
    "the device's random state": lambda: _device_random(),
    "Python's random state": lambda: hash(random.getstate()),
    "numpy's random state": lambda: _numpy_random(),
    "the environment": lambda: _hashed(repr(sorted(os.environ.items())).encode()),
    "the working folder": os.getcwd,
    "the import system": lambda: (len(sys.meta_path), len(sys.path_hooks)),
    "standard output": lambda: (id(sys.stdout), id(sys.stderr), id(sys.stdin)),
    "the trace function": lambda: (sys.gettrace() is None, sys.getprofile() is None),
    "garbage collection": lambda: (gc.isenabled(), len(gc.callbacks)),
    "the recursion limit": sys.getrecursionlimit,
    "signal handlers": lambda: tuple(
        id(signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)
    ),
}


def settings(module_file: str) -> dict[str, Any]:
    """Every setting's value now; those of random states and the environment as a hash.

    The folder of the file under test comes and goes in ``sys.path`` as it is imported.
    """
    folder = str(Path(module_file).parent)
    path = tuple(place for place in sys.path if not place.startswith(folder))
    with torch._C.DisableTorchFunction():
        return {"sys.path": path, **{name: read() for name, read in _SETTINGS.items()}}


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Names of the settings that differ."""
    return [name for name, value in before.items() if after.get(name) != value]


def _hashed(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _device_random() -> str | None:
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    return _hashed(torch.cuda.get_rng_state().numpy().tobytes())


def _numpy_random() -> str:
    state = np.random.get_state(legacy=False)
    inner = state["state"]
    return _hashed(inner["key"].tobytes() + str(inner["pos"]).encode())
