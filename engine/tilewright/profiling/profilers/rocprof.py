"""AMD's rocprofv3 (ROCm 6.2 and later).

Counter names: ROCm's documentation of the MI200 and MI300 performance counters, and of rocprofv3's
``--pmc`` and CSV output.
"""

from collections.abc import Mapping

from tilewright.profiling.counters import merged
from tilewright.profiling.model import Counters
from tilewright.profiling.profilers.base import Reading, failure, number, rows_of
from tilewright.worker.messages.jobs import Counted, Tool

_KILOBYTE = 1024.0
_DIRECT: Mapping[str, tuple[str, float]] = {
    "memory.read": ("FETCH_SIZE", _KILOBYTE),
    "memory.write": ("WRITE_SIZE", _KILOBYTE),
    "l2.hit": ("L2CacheHit", 1.0),
    "occupancy.achieved": ("OccupancyPercent", 1.0),
    "tensor.busy": ("MfmaUtil", 1.0),
}


class Rocprof:
    """Counts all calls of the process: there are no marks around the one that counts."""

    name = "rocprofv3"
    backends = frozenset({"hip"})
    untried = "not yet run on an AMD GPU: its counters are read as documented"

    def tool(self) -> Tool:
        """As ``Profiler.tool`` says."""
        return {
            "executables": ["rocprofv3"],
            "places": ["/opt/rocm*/bin/rocprofv3"],
            "version": ["--version"],
            "marks": None,
            "files": ["*counter_collection.csv"],
            "arguments": [
                "--pmc", *(name for name, _ in _DIRECT.values()), "--output-format", "csv",
                "-d", "{out}", "--", "{program}",
            ],
        }  # fmt: skip

    def read(self, value: Counted) -> Reading:
        """As ``Profiler.read`` says; a kernel's last launch counts."""
        launches: dict[str, dict[str, dict[str, float]]] = {}
        for text in (value.get("files") or {}).values():
            for row in rows_of(str(text), "Correlation_Id"):
                found = number(row.get("Counter_Value"))
                if found is not None:
                    of_kernel = launches.setdefault(row.get("Kernel_Name") or "", {})
                    of_launch = of_kernel.setdefault(row.get("Dispatch_Id") or "", {})
                    of_launch[row.get("Counter_Name") or ""] = found
        if not launches:
            why = failure(self.name, value) or "it wrote no table of counters"
            return Reading(notes=(f"no counters: {why}",))
        tool = f"rocprofv3 {value.get('version') or '(version unknown)'}, untried"
        kernels = {
            kernel: merged([_counters(list(found.values())[-1], tool)])
            for kernel, found in launches.items()
        }
        return Reading(kernels, (f"rocprofv3: {self.untried}",))


def _counters(raw: Mapping[str, float], tool: str) -> Counters:
    values = {
        name: raw[theirs] * scale for name, (theirs, scale) in _DIRECT.items() if theirs in raw
    }
    return Counters(values, tool=tool)
