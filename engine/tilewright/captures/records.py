"""From the parts that the command's processes left to one record a kernel."""

import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilewright.captures.model import VERSION, CapturedKernel, CapturedLaunch
from tilewright.serialize import load
from tilewright.worker.recorder.variables import UNDER_WAY

_COUNTER = struct.Struct("<Q")
_ABOUT_KERNEL = ("torch", "triton", "interpreted", "source", "slot", "others")
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Merged:
    """What all processes recorded; ``notes`` are launches that could not be."""

    kernels: tuple[CapturedKernel, ...]
    notes: tuple[str, ...]
    processes: int


@dataclass
class _Kernel:
    """A kernel while its launches are gathered from several processes."""

    source: Line
    versions: dict[str, str] = field(default_factory=dict)
    launches: dict[str, dict[str, Any]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    others: int = 0

    def add(self, record: Line, count: int, told: Line) -> None:
        """One process's launch; what it told of a launch afterwards goes with it."""
        if record.get("others"):
            self.others += count
            return
        self.versions.update({name: record[name] for name in ("torch", "triton")})
        own = {name: value for name, value in record.items() if name not in _ABOUT_KERNEL}
        key = json.dumps(own, sort_keys=True)
        self.counts[key] += count
        self.launches.setdefault(key, {}).update({**own, **told})

    def result(self, limit: int) -> CapturedKernel:
        """The most frequent launches up to the limit; the others are counted."""
        kept = self.counts.most_common(limit)
        rest = sum(self.counts.values()) - sum(count for _, count in kept)
        return CapturedKernel(
            version=VERSION,
            kernel=self.source["name"],
            qualified_name=self.source["qualified_name"],
            file=self.source["file"],
            line=self.source["line"],
            text_hash=self.source["text_hash"],
            launches=tuple(
                load(CapturedLaunch, {**self.launches[key], "count": count}) for key, count in kept
            ),
            others=self.others + rest,
            versions=self.versions,
        )


def merge(parts: Path, limit: int) -> Merged:
    """Put the processes' parts together; equal launches of several are one."""
    kernels: dict[str, _Kernel] = {}
    notes: dict[str, None] = {}
    files = sorted(parts.glob("*.jsonl"))
    for path in files:
        lines = list(_lines(path))
        notes.update(dict.fromkeys(line["note"] for line in lines if "note" in line))
        counts = path.with_suffix(".counts").read_bytes()
        told = _outcomes_by_launch(lines)
        for line in lines:
            if "slot" in line:
                (count,) = _COUNTER.unpack_from(counts, line["slot"] * _COUNTER.size)
                source = line["source"]
                kernel = kernels.setdefault(json.dumps(source, sort_keys=True), _Kernel(source))
                # One that ended its process was never counted.
                kernel.add(line, max(1, count), told.get(line["slot"], {}))
    notes.update(dict.fromkeys(_ended_in(parts)))
    merged = (kernel.result(limit) for kernel in kernels.values())
    ordered = sorted(merged, key=lambda k: (k.file, k.line, k.qualified_name))
    return Merged(tuple(ordered), tuple(notes), len(files))


def _ended_in(parts: Path) -> Iterator[str]:
    """The launches in which a process ended before it could tell of a failure."""
    for path in sorted(parts.glob(f"*{UNDER_WAY}")):
        told = path.read_text(encoding="utf-8")
        yield (
            f"a process ended in {told or 'a launch'}, in the interpreter: most likely it loads or "
            "stores far outside of its tensors"
        )


def _outcomes_by_launch(lines: list[Line]) -> dict[int, dict[str, Any]]:
    """What was written afterwards of launches: their failure, or what they wrote."""
    found: dict[int, dict[str, Any]] = {}
    for line in lines:
        if "of" not in line:
            continue
        about = found.setdefault(line["of"], {})
        if "failure" in line:
            about["failure"] = line["failure"]
        if "written" in line:
            about["written"] = {"names": line["written"], "compared": line["compared"]}
        about |= {name: line[name] for name in ("contents", "site") if name in line}
    return found


def _lines(path: Path) -> Iterator[Line]:
    """Whole lines; the last may be torn where a process was killed."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue
