"""Lock file of an installed ocloc: packages and files with their checksums."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

NAME = "lock.json"
_FORMAT = 1
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Package:
    """One package of the archive, as its signed index describes it."""

    name: str
    version: str
    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Lock:
    """The packages of one installation and, once they are unpacked, its files."""

    distribution: str
    suite: str
    packages: tuple[Package, ...]
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """The offline compiler's, as its package counts."""
        return next((p.version for p in self.packages if p.name == "intel-ocloc"), "")


def read_lock(folder: Path) -> Lock | None:
    """The lock of a folder; None where there is none that can be read."""
    try:
        stored = json.loads((folder / NAME).read_text(encoding="utf-8"))
        if stored.pop("format") != _FORMAT:
            return None
        packages = tuple(Package(**package) for package in stored.pop("packages"))
        return Lock(packages=packages, **stored)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def write_lock(folder: Path, lock: Lock) -> None:
    """Write it whole or not at all."""
    partial = folder / f"{NAME}.{os.getpid()}"
    text = json.dumps({"format": _FORMAT, **asdict(lock)}, indent=1, sort_keys=True)
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(folder / NAME)


def damaged_packages(folder: Path, lock: Lock) -> tuple[str, ...]:
    """Files of the lock's packages that are not in ``folder`` as the lock says."""
    return tuple(
        package.file
        for package in lock.packages
        if not is_file_of(folder / package.file, package.sha256)
    )


def damaged_files(folder: Path, lock: Lock) -> tuple[str, ...]:
    """Unpacked files that are no longer what they were."""
    return tuple(
        name for name, sha256 in lock.files.items() if not is_file_of(folder / name, sha256)
    )


def is_file_of(path: Path, sha256: str) -> bool:
    """Whether there is such a file with this content."""
    try:
        return checksum(path) == sha256
    except OSError:
        return False


def checksum(path: Path) -> str:
    """SHA-256 of a file; raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()


def checksums(folder: Path) -> dict[str, str]:
    """Of every regular file below a folder, by its path from there."""
    return {
        str(path.relative_to(folder)): checksum(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
