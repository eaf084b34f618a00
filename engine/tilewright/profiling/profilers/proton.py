"""Triton's own profiler, which comes with it: samples of what warps wait for, by line.

Where its names come from: Triton's repository, ``third_party/proton``.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tilewright.profiling.counters import TIME
from tilewright.profiling.model import Counters
from tilewright.profiling.profilers.base import Reading, failure
from tilewright.worker.messages.jobs import Counted, Tool

_FILE = "proton.hatchet"
_PLACE = re.compile(r"(?P<file>.+?):(?P<one>[^@]*)@(?P<other>.*)$")
_STALLED = "stalled_"
_REASONS = {"not_Selected": "not_selected", "branch_resolving": "branch_resolve"}


class Proton:
    """Samples one call of a version; needs no tool but the interpreter's own Triton."""

    name = "proton"
    backends = frozenset({"cuda"})
    untried = "its samples have not been read from a device here: they are read as documented"

    def tool(self) -> Tool:
        """As ``Profiler.tool`` says."""
        return {
            "executables": ["{python}"],
            "arguments": ["{program}"],
            "marks": "proton",
            "proton": {"backend": "cupti", "mode": "pcsampling"},
            "files": [_FILE],
        }

    def read(self, value: Counted) -> Reading:
        """As ``Profiler.read`` says."""
        try:
            tree = json.loads((value.get("files") or {}).get(_FILE) or "[]")
        except ValueError:
            return Reading(notes=("no samples: what proton wrote is no JSON",))
        kernels: dict[str, _Kernel] = {}
        for root in tree if isinstance(tree, list) else []:
            for kernel, place, metrics in _nodes(root, ""):
                kernels.setdefault(kernel, _Kernel()).take(place, metrics)
        module = str(value.get("module") or "")
        found = {name: kernel.counters(module) for name, kernel in kernels.items()}
        known = {name: one for name, one in found.items() if one.values or one.stalls}
        if not known:
            return Reading(notes=(f"no samples: {failure(self.name, value) or 'proton has none'}",))
        return Reading(known, (f"proton: {self.untried}",))


class _Kernel:
    """What proton's nodes say of one kernel."""

    def __init__(self) -> None:
        self.us = 0.0
        self.lines: dict[tuple[str, int], dict[str, float]] = {}

    def take(self, place: str, metrics: Mapping[str, Any]) -> None:
        """One node's metrics; ``place`` is empty for the kernel's own node."""
        self.us += float(metrics.get("time (ns)") or 0.0) / 1e3
        match = _PLACE.match(place)
        parts = (match["one"], match["other"]) if match else ()
        line = next((int(part) for part in parts if part.isdigit()), None)
        if match is None or line is None:
            return
        reasons = self.lines.setdefault((match["file"].rpartition("/")[2], line), {})
        for name, count in metrics.items():
            if name.startswith(_STALLED) and count:
                reason = name.removeprefix(_STALLED)
                reason = _REASONS.get(reason, reason)
                reasons[reason] = reasons.get(reason, 0.0) + float(count)

    def counters(self, module: str) -> Counters:
        """Shares of reasons over all samples; lines of the module alone."""
        totals: dict[str, float] = {}
        for reasons in self.lines.values():
            for reason, count in reasons.items():
                totals[reason] = totals.get(reason, 0.0) + count
        total = sum(totals.values())
        stalls = {reason: count / total for reason, count in totals.items()} if total else {}
        mine = {line: reasons for (file, line), reasons in self.lines.items() if file == module}
        return Counters({TIME: self.us} if self.us else {}, stalls, mine, "proton, PC sampling")


def _nodes(
    node: Mapping[str, Any], kernel: str, place: str = ""
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(kernel, place below it, metrics) of a node and all below it."""
    name = str((node.get("frame") or {}).get("name") or "")
    if _PLACE.match(name):
        place = name
    elif name and name != "ROOT":
        kernel, place = name, ""
    if kernel:
        yield kernel, place, node.get("metrics") or {}
    for child in node.get("children") or ():
        yield from _nodes(child, kernel, place)
