"""What compilers and devices said of kernels, kept by what they were said of.

A fact is found again only under the key of the very source it came from, so that no number can
be shown for code it does not belong to.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import monotonic
from time import time as now

from tilewright.lru import LruDict
from tilewright.problems.spec_files import SPEC_SUFFIXES, specs_of
from tilewright.source import parse_module
from tilewright.targets.model import LaunchFacts
from tilewright_server.analysis_cache import Parsed
from tilewright_server.compiled_facts import CompiledFacts
from tilewright_server.jobs.manager import JobKind
from tilewright_server.profile_facts import KernelFacts
from tilewright_server.snapshot import Snapshot

_REMEMBERED = 512
_STAMP_S = 0.5
_STAMPS: LruDict[str, "_Stamp"] = LruDict(64)


def facts_key(parsed: Parsed, snapshot: Snapshot, kernel: str) -> str:
    """The identity of all that a kernel's facts depend on: its source and the problem next to it.

    The file is a part of it: another one with the same text may import other modules, and other
    launches of it may have been captured.
    """
    place = snapshot.path or snapshot.uri
    return f"{parsed.facts_keys.get(kernel)}:{spec_stamp(snapshot.path)}:{place}"


def hashes_of(parsed: Parsed, snapshot: Snapshot) -> set[tuple[str, str]]:
    """Kernels with their content hashes, also as an engine sees them that reads plain newlines."""
    modules = [parsed.module]
    if "\r" in snapshot.text:
        plain = snapshot.text.replace("\r\n", "\n").replace("\r", "\n")
        modules.append(parse_module(plain, parsed.module.path))
    return {(kernel.name, kernel.content_hash) for m in modules for kernel in m.kernels}


def spec_stamp(path: str | None) -> str:
    """A mark that changes when the spec next to a file does; a look at its date, not its text.

    Looking through all folders takes as long as an analysis. Folders that seldom change are looked
    at anew only after a moment; the file's own and the one above, where specs come and go, always.
    """
    if path is None:
        return ""
    near = _dates(Path(path).parent)
    known = _STAMPS.get(path)
    if known is None or known.near != near or monotonic() - known.taken > _STAMP_S:
        known = _Stamp(near, monotonic(), _stamp(path))
        _STAMPS.put(path, known)
    return known.stamp


def forget_stamps() -> None:
    """Some file changed: look at all folders anew."""
    _STAMPS.clear()
    _specs_in.cache_clear()


@dataclass(frozen=True)
class _Stamp:
    near: tuple[int, ...]
    taken: float
    stamp: str


def _dates(folder: Path) -> tuple[int, ...]:
    """When a folder, the one above and the YAML files in both changed last."""
    found: list[int] = []
    for place in (folder, folder.parent):
        try:
            changed = place.stat().st_mtime_ns
            specs = _specs_in(place, changed)
            found += [changed, *(spec.stat().st_mtime_ns for spec in specs)]
        except OSError:
            found.append(0)
    return tuple(found)


@lru_cache(maxsize=64)
def _specs_in(folder: Path, changed: int) -> tuple[Path, ...]:
    """The YAML files of a folder; read again when its own date has changed.

    A file that comes within the same tick of the clock is found after ``_STAMP_S``.
    """
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    return tuple(folder / name for name in names if name.endswith(SPEC_SUFFIXES))


def _stamp(path: str) -> str:
    try:
        for spec in specs_of(Path(path)):
            found = spec.stat()
            return f"{spec.name}:{found.st_mtime_ns}:{found.st_size}"
    except (OSError, ValueError):
        return ""
    return ""


@dataclass(frozen=True)
class Verified:
    """The evidence an applied edit came with, for the whole text it left behind."""

    evidence: str
    taken: float = field(default_factory=now)


class KernelFactStore:
    """Facts by key, the newest of each. ``revision`` counts the changes."""

    def __init__(self) -> None:
        self._profiled: LruDict[str, dict[str, KernelFacts]] = LruDict(_REMEMBERED)
        self._compiled: LruDict[str, CompiledFacts] = LruDict(_REMEMBERED)
        self._verified: LruDict[str, Verified] = LruDict(_REMEMBERED)
        self._failures: dict[tuple[JobKind, str], tuple[str, str]] = {}
        self.revision = 0

    def add_profile(self, key: str, facts: KernelFacts) -> None:
        """Remember a profile, one for each target, under the key of its source."""
        self._profiled.put(key, {**(self._profiled.get(key) or {}), facts.target: facts})
        self.revision += 1

    def add_compiled(self, key: str, facts: CompiledFacts) -> None:
        """Remember what compilers made of a kernel under the key of its source."""
        self._compiled.put(key, facts)
        self.revision += 1

    def profiled(self, parsed: Parsed, snapshot: Snapshot, kernel: str) -> tuple[KernelFacts, ...]:
        """The profiles of a kernel in its present state, newest first."""
        if not self._profiled:
            return ()
        found = self._profiled.get(facts_key(parsed, snapshot, kernel)) or {}
        return tuple(sorted(found.values(), key=lambda facts: -facts.taken))

    def compiled(self, parsed: Parsed, snapshot: Snapshot, kernel: str) -> CompiledFacts | None:
        """What compilers made of a kernel in its present state."""
        if not self._compiled:
            return None
        return self._compiled.get(facts_key(parsed, snapshot, kernel))

    def all_compiled(self, parsed: Parsed, snapshot: Snapshot) -> Iterator[CompiledFacts]:
        """The same of all of a document's kernels. Only files are compiled."""
        for kernel in parsed.module.kernels if snapshot.cell is None else ():
            if (facts := self.compiled(parsed, snapshot, kernel.name)) is not None:
                yield facts

    def compiled_for(self, parsed: Parsed, snapshot: Snapshot, kernel: str) -> frozenset[str]:
        """The targets that a kernel was compiled for; its profiles need not repeat the figures."""
        facts = self.compiled(parsed, snapshot, kernel)
        return frozenset(str(report.target) for report in facts.reports) if facts else frozenset()

    def launches(self, parsed: Parsed, snapshot: Snapshot) -> tuple[LaunchFacts, ...]:
        """A launch of each kernel that was captured; an inferred one is no ground."""
        found: dict[str, LaunchFacts] = {}
        for facts in self.all_compiled(parsed, snapshot):
            if facts.origin in ("spec", "captured") and facts.reports:
                found[facts.kernel] = facts.reports[0].launch
        for kernel in parsed.module.kernels:
            for profile in self.profiled(parsed, snapshot, kernel.name)[:1]:
                if profile.launch is not None:
                    found[kernel.name] = profile.launch
        return tuple(found.values())

    def verify(self, text_hash: str, evidence: str) -> None:
        """Remember how far a text that was applied as an edit had been verified."""
        self._verified.put(text_hash, Verified(evidence))

    def verified(self, text_hash: str) -> Verified | None:
        """How far this very text was verified, if it came from here."""
        return self._verified.get(text_hash)

    def fail(self, kind: JobKind, snapshot: Snapshot, message: str) -> None:
        """Remember why a text could not be compiled, or not profiled."""
        self._failures[kind, snapshot.uri] = (snapshot.hash, message)
        self.revision += 1

    def failure(self, kind: JobKind, snapshot: Snapshot) -> str | None:
        """Why this very text could not be compiled, or not profiled, if that is so."""
        known = self._failures.get((kind, snapshot.uri))
        return known[1] if known is not None and known[0] == snapshot.hash else None

    def forget_failure(self, kind: JobKind, uri: str) -> None:
        self._failures.pop((kind, uri), None)
