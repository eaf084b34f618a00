"""Profilers behind one interface: what to start around a version, and how to read what it wrote."""

from tilewright.profiling.profilers.base import Profiler, Reading
from tilewright.profiling.profilers.ncu import Ncu
from tilewright.profiling.profilers.rocprof import Rocprof
from tilewright.profiling.profilers.unitrace import Unitrace

PROFILERS: tuple[Profiler, ...] = (Ncu(), Rocprof(), Unitrace())

__all__ = ["PROFILERS", "Profiler", "Reading", "profiler_for"]


def profiler_for(backend: str) -> Profiler | None:
    """The profiler of a backend's devices; None if none is known."""
    return next((one for one in PROFILERS if backend in one.backends), None)
