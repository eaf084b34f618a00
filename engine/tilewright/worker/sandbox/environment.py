"""Which variables of the environment a job gets to see, and taking the others out of a process.

An allow-list: what interpreters, compilers and drivers read. A name that speaks of a secret is
dropped even where its beginning is allowed. ``TILEWRIGHT_ALLOW_ENV`` names more, by commas.
"""

from __future__ import annotations

import ctypes
import os
import posix
from collections.abc import Mapping
from pathlib import Path

from ..protocol import MARKER, SECRET

MORE = "TILEWRIGHT_ALLOW_ENV"
NAMES = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "NO_COLOR",
    "TMPDIR", "TEMP", "TMP", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
    "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES", "MACA_PATH", "NIX_LD",
    "NIX_LD_LIBRARY_PATH", "ENABLE_TMA", "DISABLE_MMA_V5",
})  # fmt: skip
BEGINNINGS = (
    "LC_", "PYTHON", "TILEWRIGHT_", "TRITON_", "TORCH", "PYTORCH_", "ATEN_", "MLIR_", "LLVM_",
    "CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NV_", "NVTE_", "NCCL_",
    "HIP_", "HSA_", "ROCR_", "ROCM_", "AMD_", "AMDGCN_", "GPU_", "MIOPEN_",
    "ZE_", "ZET_", "ZES_", "SYCL_", "ONEAPI_", "ONEDNN_", "DNNL_", "IGC_", "NEO", "XPU_", "UR_",
    "OCL_", "OPENCL_", "NEURON_",
    "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "MALLOC_", "JEMALLOC_",
)  # fmt: skip
_ENVIRONMENT_BEGINS = 49  # fields 50 and 51 of /proc/PID/stat, counted from 0 (proc(5))


def allowed(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``environment`` that a job may have."""
    named = {name.strip() for name in environment.get(MORE, "").split(",")}
    return {name: value for name, value in environment.items() if name in named or _harmless(name)}


def _harmless(name: str) -> bool:
    if SECRET.search(name):
        return False
    return name in NAMES or name.startswith(BEGINNINGS)


def replace(environment: Mapping[str, str]) -> None:
    """Make ``environment`` all that this process has, and all that it can find out it had.

    Python keeps a copy of what it was started with, and the system shows a process's first
    environment in /proc/self/environ, which children made by a fork share: both are overwritten.
    The worker's mark stays there, for whoever looks for what it left behind.
    """
    kept = dict(environment)
    os.environ.clear()
    posix.environ.clear()
    _overwrite_first_block(f"{MARKER}={kept.get(MARKER, '')}".encode())
    os.environ.update(kept)


def _overwrite_first_block(mark: bytes) -> None:
    """Zeros, and the mark, over the strings that the system put on this process's stack."""
    try:
        after_name = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        # What follows the name begins with field 3.
        start, end = (int(after_name[_ENVIRONMENT_BEGINS - 2 + turn]) for turn in (0, 1))
    except (OSError, IndexError, ValueError):
        return
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)
        if len(mark) < end - start:
            ctypes.memmove(start, mark, len(mark))
