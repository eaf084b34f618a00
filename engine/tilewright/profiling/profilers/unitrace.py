"""Intel's unitrace (of its profiling tools interfaces for GPU).

Metric names: the ComputeBasic group of Intel's metrics discovery, as unitrace's documentation
prints it; ``--metric-query`` gives one row a kernel instance.
"""

from collections.abc import Mapping

from tilewright.profiling.counters import TIME, merged
from tilewright.profiling.model import Counters
from tilewright.profiling.profilers.base import Reading, failure, number, rows_of
from tilewright.worker.messages.jobs import Counted, Tool

_DIRECT: Mapping[str, tuple[str, float]] = {
    TIME: ("GpuTime[ns]", 1e-3),
    "memory.read": ("GPU_MEMORY_BYTE_READ[bytes]", 1.0),
    "memory.write": ("GPU_MEMORY_BYTE_WRITE[bytes]", 1.0),
    "occupancy.achieved": ("XVE_THREADS_OCCUPANCY_ALL[%]", 1.0),
    "issue.busy": ("XVE_ACTIVE[%]", 1.0),
}


class Unitrace:
    """Counts all calls of the process: there are no marks around the one that counts."""

    name = "unitrace"
    backends = frozenset({"xpu"})
    untried = "not yet run on an Intel GPU: its counters are read as documented"

    def tool(self) -> Tool:
        """As ``Profiler.tool`` says."""
        return {
            "executables": ["unitrace"],
            "places": [],
            "version": ["--version"],
            "marks": None,
            "files": ["*metrics*", "*.csv"],
            "arguments": [
                "--metric-query", "-g", "ComputeBasic", "-o", "{out}/counters.csv", "{program}",
            ],
        }  # fmt: skip

    def read(self, value: Counted) -> Reading:
        """As ``Profiler.read`` says; a kernel's last launch counts."""
        tool = f"unitrace {value.get('version') or '(version unknown)'}, untried"
        kernels: dict[str, Counters] = {}
        for text in (value.get("files") or {}).values():
            for row in rows_of(str(text), "Kernel"):
                plain = {(name or "").strip(): text for name, text in row.items()}
                values = {
                    name: found * scale
                    for name, (theirs, scale) in _DIRECT.items()
                    if (found := number(plain.get(theirs))) is not None
                }
                kernels[(plain.get("Kernel") or "").strip().strip('"')] = Counters(
                    values, tool=tool
                )
        if not kernels:
            why = failure(self.name, value) or "it wrote no table of counters"
            return Reading(notes=(f"no counters: {why}",))
        read = {name: merged([found]) for name, found in kernels.items()}
        return Reading(read, (f"unitrace: {self.untried}",))
