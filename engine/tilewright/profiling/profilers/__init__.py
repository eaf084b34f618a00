"""Profilers behind one interface: what to start around a version, and how to read what it wrote."""

from tilewright.profiling.profilers.base import Profiler, Reading
from tilewright.profiling.profilers.ncu import Ncu
from tilewright.profiling.profilers.proton import Proton
from tilewright.profiling.profilers.rocprof import Rocprof
from tilewright.profiling.profilers.unitrace import Unitrace

PROFILERS: tuple[Profiler, ...] = (Ncu(), Proton(), Rocprof(), Unitrace())

__all__ = ["PROFILERS", "Profiler", "Reading", "profilers_for"]


def profilers_for(backend: str) -> tuple[Profiler, ...]:
    """The profilers of a backend's devices, the one that tells most first."""
    return tuple(one for one in PROFILERS if backend in one.backends)
