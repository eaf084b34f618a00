"""The Neuron SDK of the interpreter that runs this worker: its simulator, runs on its chip.

Tried only with a small SDK that the tests write, not with AWS's: names and arguments are
those of its documentation (``nki.simulate_kernel``, ``nki.simulate``,
``nki.baremetal``, ``neuron-profile view --output-format summary-json``).
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..protocol import JobError

_PACKAGES = {"neuronxcc": "neuronxcc.nki.language", "nki": "nki.language"}
_DISTRIBUTIONS = {"neuronxcc": "neuronx-cc", "nki": "nki"}
_PROFILER = "neuron-profile"
_PROFILE_S = 300.0
_TIME = "total_time"


def packages() -> dict[str, str]:
    """The SDK's packages that can be imported, with their versions; imports their roots alone.

    An empty package of the same name is none.
    """
    return {name: _version(name) for name, module in _PACKAGES.items() if _is_there(module)}


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(_DISTRIBUTIONS[name])
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def simulated(kernel: Any, arguments: Sequence[Any]) -> Any:
    """What the SDK's own simulator makes of a kernel on arrays.

    Raises:
        JobError: the SDK has no simulator for the package that decorated the kernel.
    """
    old = _is_of(kernel, "neuronxcc")
    nki: Any = importlib.import_module("neuronxcc.nki" if old else "nki")
    if old and hasattr(nki, "simulate_kernel"):
        return nki.simulate_kernel(kernel, *arguments)
    if not old and hasattr(nki, "simulate"):
        return nki.simulate(kernel)(*arguments)
    raise JobError(f"this {nki.__name__} has no simulator; use the device neuron-sim")


def _is_of(kernel: Any, package: str) -> bool:
    kind = type(kernel).__module__
    if kind.partition(".")[0] in _PACKAGES:
        return kind.partition(".")[0] == package
    return package in packages()


def benchmarked(kernel: Any, arguments: Sequence[Any], folder: str, rounds: int) -> dict[str, Any]:
    """Run a kernel on a NeuronCore ``rounds`` times, each compiled anew as the SDK does it.

    Returns ``seconds``, a time a round, and ``terms``, the profiler's own names of the last one.

    Raises:
        JobError: there is no profiler, or what it says cannot be read.
    """
    profiler = shutil.which(_PROFILER)
    if profiler is None:
        raise JobError(f"{_PROFILER} is not on the PATH; it comes with aws-neuronx-tools")
    nki: Any = importlib.import_module("neuronxcc.nki" if _is_of(kernel, "neuronxcc") else "nki")
    found: list[dict[str, Any]] = []
    for number in range(rounds):
        neff, trace = (Path(folder) / f"{number}.{kind}" for kind in ("neff", "ntff"))
        run = nki.baremetal(kernel, save_neff_name=str(neff), save_trace_name=str(trace))
        run(*arguments)
        found.append(_summary(profiler, neff, trace))
    return {"seconds": [float(one[_TIME]) for one in found], "terms": found[-1] if found else {}}


def _summary(profiler: str, neff: Path, trace: Path) -> dict[str, Any]:
    command = [profiler, "view", "-n", str(neff), "-s", str(trace)]
    command += ["--output-format", "summary-json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=_PROFILE_S, check=False)
    if ended.returncode:
        raise JobError(f"{_PROFILER} ended with {ended.returncode}: {ended.stderr[-400:]}")
    try:
        read = json.loads(ended.stdout)
        summary = read if _TIME in read else next(iter(read.values()))
        float(summary[_TIME])
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        raise JobError(f"{_PROFILER} said nothing that gives {_TIME}: {error}") from None
    told: dict[str, Any] = summary
    return told
