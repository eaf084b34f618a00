"""Keys of what is known of kernels: the identity of all that a fact depends on."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import monotonic

from tilewright.lru import LruDict
from tilewright.problems.spec_files import SPEC_SUFFIXES, specs_of
from tilewright.source import parse_module
from tilewright_server.analysis_cache import Parsed
from tilewright_server.snapshot import Snapshot

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
