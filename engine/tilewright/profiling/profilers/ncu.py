"""NVIDIA's Nsight Compute on the command line.

Metric names and what they count: Nsight Compute's Kernel Profiling Guide, and ``ncu
--query-metrics`` for Hopper.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.profiling.counters import TIME, merged
from tilewright.profiling.model import Counters
from tilewright.profiling.profilers.base import Reading, Row, failure, number, rows_of
from tilewright.worker.messages.jobs import Counted, Tool

METRICS: Mapping[str, tuple[str, ...]] = {
    TIME: ("gpu__time_duration.sum",),
    "memory.read": ("dram__bytes_read.sum",),
    "memory.write": ("dram__bytes_write.sum",),
    "memory.busy": ("dram__throughput.avg.pct_of_peak_sustained_elapsed",),
    "l2.busy": ("lts__throughput.avg.pct_of_peak_sustained_elapsed",),
    "l2.hit": ("lts__t_sector_hit_rate.pct",),
    "l2.bytes": ("lts__t_bytes.sum",),
    "l1.hit": ("l1tex__t_sector_hit_rate.pct",),
    "l1.busy": ("l1tex__throughput.avg.pct_of_peak_sustained_elapsed",),
    "load.requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",),
    "load.sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "store.requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
    "store.sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "shared.conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",),
    "shared.passes": ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",),
    "occupancy.achieved": ("sm__warps_active.avg.pct_of_peak_sustained_active",),
    "occupancy.possible": ("sm__maximum_warps_per_active_cycle_pct",),
    "issue.busy": ("smsp__issue_active.avg.pct_of_peak_sustained_active",),
    "tensor.busy": ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",),
    "units.busy": ("sm__throughput.avg.pct_of_peak_sustained_elapsed",),
    "local.loads": ("smsp__inst_executed_op_local_ld.sum",),
    "local.stores": ("smsp__inst_executed_op_local_st.sum",),
    "waves": ("launch__waves_per_multiprocessor",),
}
"""Metrics by our names; the first that was read counts."""
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALLS = (
    "barrier", "branch_resolve", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
    "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
_VECTOR = {
    f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum": flop
    for name, flop in (("fadd", 1.0), ("fmul", 1.0), ("ffma", 2.0))
}
_SCALES = {
    "nsecond": 1e-3, "ns": 1e-3, "usecond": 1.0, "us": 1.0, "msecond": 1e3, "ms": 1e3,
    "second": 1e6, "s": 1e6, "byte": 1.0, "kbyte": 1e3, "mbyte": 1e6, "gbyte": 1e9, "tbyte": 1e12,
}  # fmt: skip
_FILE, _SOURCE = "counters.csv", "source.csv"
Samples = Mapping[int, Mapping[str, float]]
_LONG = {
    "branch_resolving": "branch_resolve", "dispatch": "dispatch_stall", "imc": "imc_miss",
    "lg": "lg_throttle", "long_sb": "long_scoreboard", "math": "math_pipe_throttle",
    "mio": "mio_throttle", "no_inst": "no_instruction", "short_sb": "short_scoreboard",
    "sleep": "sleeping", "tex": "tex_throttle",
}  # fmt: skip
_STALL = re.compile(r"stall_(\w+)$")
_LINE = "Line No"


class Ncu:
    """Counts one call of a version, its launches replayed once for each group of counters.

    Caches are flushed before each replay and the chip's clocks left as they are.
    """

    name = "ncu"
    backends = frozenset({"cuda"})
    untried = ""

    def tool(self) -> Tool:
        """As ``Profiler.tool`` says."""
        wanted = [name for names in METRICS.values() for name in names]
        wanted += [*_VECTOR, *(STALL.format(reason) for reason in STALLS)]
        report = ["--import", "{out}/report.ncu-rep", "--csv"]
        return {
            "executables": ["ncu"],
            "places": ["/usr/local/cuda*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu"],
            "version": ["--version"],
            "marks": "cuda",
            "then": {
                _FILE: [*report, "--page", "raw", "--print-units", "base"],
                _SOURCE: [*report, "--page", "source", "--print-source", "cuda,sass"],
            },
            "files": [_FILE, _SOURCE],
            "arguments": [
                "--profile-from-start", "off", "--clock-control", "none", "--cache-control", "all",
                "--target-processes", "application-only", "--force-overwrite",
                "--export", "{out}/report", "--section", "SourceCounters",
                "--metrics", ",".join(wanted), "{program}",
            ],
        }  # fmt: skip

    def read(self, value: Counted) -> Reading:
        """As ``Profiler.read`` says."""
        files = value.get("files") or {}
        text = str(files.get(_FILE) or value.get("stdout") or "")
        lines = samples_in(str(files.get(_SOURCE) or ""), str(value.get("module") or ""))
        version = re.search(r"\d+(\.\d+)+", str(value.get("version")))
        tool = f"ncu {version[0] if version else '(version unknown)'}"
        launches: dict[str, list[Counters]] = {}
        for kernel, metrics in launches_in(text):
            if kernel and metrics:
                launches.setdefault(kernel, []).append(_counters(metrics, tool))
        if launches:
            kernels = {kernel: merged(found) for kernel, found in launches.items()}
            return Reading(
                {
                    name: replace(one, line_stalls=lines.get(name, {}))
                    for name, one in kernels.items()
                }
            )
        why = (
            failure(self.name, value)
            or _remark(f"{value.get('stdout') or ''}\n{text}")
            or "it profiled no launch"
        )
        return Reading(notes=(f"no counters: {why}",))


def launches_in(text: str) -> Iterator[tuple[str, Mapping[str, float]]]:
    """(kernel, metrics in base units) of each launch, from a table of either shape."""
    rows = list(rows_of(text, "ID"))
    if rows and "Metric Name" in rows[0]:
        yield from _one_metric_a_row(rows)
    elif rows:
        yield from _one_launch_a_row(rows)


def _one_launch_a_row(rows: Sequence[Row]) -> Iterator[tuple[str, Mapping[str, float]]]:
    units: Row = {}
    for row in rows:
        if not (row.get("ID") or "").strip():
            units = row
            continue
        found = {
            name: value * _scale(units.get(name))
            for name, text in row.items()
            if name and "__" in name and (value := number(text)) is not None
        }
        yield row.get("Kernel Name") or "", found


def _one_metric_a_row(rows: Sequence[Row]) -> Iterator[tuple[str, Mapping[str, float]]]:
    launches: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        key = (row.get("ID") or "", row.get("Kernel Name") or "")
        value = number(row.get("Metric Value"))
        found = launches.setdefault(key, {})
        if value is not None:
            found[row["Metric Name"]] = value * _scale(row.get("Metric Unit"))
    for (_, kernel), metrics in launches.items():
        yield kernel, metrics


def _scale(unit: str | None) -> float:
    """To microseconds, bytes; everything else as it is."""
    return _SCALES.get((unit or "").strip().lower(), 1.0)


def _counters(metrics: Mapping[str, float], tool: str) -> Counters:
    values = {
        name: metrics[found]
        for name, names in METRICS.items()
        if (found := next((one for one in names if one in metrics), None)) is not None
    }
    if all(name in metrics for name in _VECTOR):
        values["fp32.flop"] = sum(flop * metrics[name] for name, flop in _VECTOR.items())
    cycles = {reason: metrics.get(STALL.format(reason), 0.0) for reason in STALLS}
    total = sum(cycles.values())
    stalls = {r: c / total for r, c in cycles.items() if c} if total else {}
    return Counters(values, stalls, {}, tool)


def _remark(text: str) -> str | None:
    """What the tool itself says went wrong."""
    said = [line for line in text.splitlines() if line.startswith(("==ERROR==", "==WARNING=="))]
    return said[0].strip("= ")[:300] if said else None


@dataclass
class _Part:
    """Where reading has come to: whose rows these are, and where their numbers stand."""

    kernel: str = ""
    ours: bool = False
    stalls: Mapping[int, str] = field(default_factory=dict)


def samples_in(text: str, file: str) -> Mapping[str, Samples]:
    """Samples of each kernel by line and reason, of the lines of ``file`` (its name) alone."""
    found: dict[str, dict[int, dict[str, float]]] = {}
    part = _Part()
    for row in text.splitlines():
        cells = row.strip()[1:-1].split('","') if row.startswith('"') else [""]
        if cells[0] == "File Path":
            part = _Part(ours=cells[-1].rpartition("/")[2] == file)
        elif cells[0] in ("Function Name", "Kernel Name"):
            part.kernel = cells[-1]
        elif cells[0] == _LINE:
            part.stalls = _columns(cells)
        elif part.ours and cells[0].isdigit():
            for reason, count in _samples(part, cells):
                reasons = found.setdefault(part.kernel, {}).setdefault(int(cells[0]), {})
                reasons[reason] = reasons.get(reason, 0.0) + count
    return found


def _columns(header: Sequence[str]) -> Mapping[int, str]:
    """Reasons by the places of their columns, counted from the end."""
    found = ((at - len(header), _STALL.match(name)) for at, name in enumerate(header))
    return {at: _LONG.get(match[1], match[1]) for at, match in found if match}


def _samples(part: _Part, cells: Sequence[str]) -> Iterator[tuple[str, float]]:
    for at, reason in part.stalls.items():
        count = number(cells[at]) if -at < len(cells) else None
        if count:
            yield reason, count
