"""A folder of captured launches: written, read, and asked about a source file."""

import gzip
import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tilewright.captures.model import READABLE, VERSION, CapturedKernel, CaptureError, Found
from tilewright.errors import InputError
from tilewright.serialize import dump, load
from tilewright.source.model import Kernel, Module
from tilewright.source.text import digest
from tilewright.textfile import UnreadableError, read_bytes

ARCHIVE = ".jsonl.gz"


@dataclass(frozen=True)
class Captures:
    """All kernels of a folder."""

    kernels: tuple[CapturedKernel, ...]

    def concern(self, path: Path) -> bool:
        """Whether there may be something of this file: by its place, or it was moved there."""
        here = str(path.resolve())
        return any(x.file == here or not Path(x.file).exists() for x in self.kernels)

    def launches_of(self, module: Module, path: Path) -> Found:
        """What is captured of a file's kernels; those whose text has changed since are stale.

        A file that was moved is known by its kernels' texts.
        """
        here = str(path.resolve())
        now = {(kernel.name, _hash_of(kernel)) for kernel in module.kernels}
        fitting: list[CapturedKernel] = []
        stale: list[CapturedKernel] = []
        for captured in self.kernels:
            fits = (captured.kernel, captured.text_hash) in now
            if captured.file == here:
                (fitting if fits else stale).append(captured)
            elif fits and not Path(captured.file).exists():
                fitting.append(captured)
        return Found(tuple(fitting), tuple(stale))


def load_captures(folder: Path) -> Captures:
    """Read a folder, or the archive that ``pack`` made of one.

    Raises:
        CaptureError: no such folder, or a file in it is none of this version's.
    """
    if folder.is_file() and folder.name.endswith(ARCHIVE):
        return Captures(tuple(_unpacked(folder)))
    if not folder.is_dir():
        raise CaptureError(
            "no such folder of captured launches; `tilewright capture -- COMMAND` makes one",
            str(folder),
        )
    return Captures(tuple(_read(path) for path in sorted(folder.glob("*.json"))))


def pack(captures: Captures, archive: Path, root: Path) -> None:
    """Write all in one small file, files below ``root`` named relative to it, as to the archive."""
    lines = []
    for kernel in captures.kernels:
        file = Path(kernel.file)
        inside = file.is_relative_to(root)
        moved = replace(kernel, file=str(file.relative_to(root))) if inside else kernel
        lines.append(json.dumps(dump(moved), separators=(",", ":")))
    text = "".join(f"{line}\n" for line in sorted(lines))
    archive.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _unpacked(archive: Path) -> Iterator[CapturedKernel]:
    """The kernels of an archive; their files may be anywhere, their texts tell them."""
    try:
        lines = gzip.decompress(read_bytes(archive)).decode().splitlines()
    except InputError as error:
        raise CaptureError(error.message, str(archive)) from None
    except (OSError, EOFError, ValueError) as error:
        raise CaptureError(f"is no archive of captured launches: {error}", str(archive)) from None
    for line in lines:
        yield _parsed(line, archive)


def write_kernels(folder: Path, kernels: Iterable[CapturedKernel]) -> list[Path]:
    """Write a file a kernel, in place of what was captured of the same kernels before."""
    folder.mkdir(parents=True, exist_ok=True)
    new = list(kernels)
    places = {(kernel.file, kernel.qualified_name) for kernel in new}
    for path in folder.glob("*.json"):
        if _place_in(path) in places:
            path.unlink()
    return [_write(folder, kernel) for kernel in new]


def _hash_of(kernel: Kernel) -> str:
    return text_hash(" " * kernel.range.column + kernel.text)


def _write(folder: Path, kernel: CapturedKernel) -> Path:
    plain = re.sub(r"\W+", "_", kernel.kernel)
    name = digest(f"{kernel.file}\0{kernel.qualified_name}\0{kernel.text_hash}")[:10]
    path = folder / f"{plain}-{name}.json"
    beside = path.with_suffix(".tmp")
    beside.write_text(json.dumps(dump(kernel), indent=1) + "\n", encoding="utf-8")
    return beside.replace(path)


def _place_in(path: Path) -> tuple[Any, Any] | None:
    try:
        data = json.loads(read_bytes(path))
    except (InputError, ValueError, RecursionError):
        return None
    return (data.get("file"), data.get("qualified_name")) if isinstance(data, dict) else None


def _read(path: Path) -> CapturedKernel:
    try:
        return _parsed(read_bytes(path).decode(errors="replace"), path)
    except UnreadableError as error:
        raise CaptureError(error.message, str(path)) from None


def _parsed(text: str, path: Path) -> CapturedKernel:
    try:
        data = json.loads(text)
        version = data["version"]
        if version in READABLE:
            return load(CapturedKernel, data)
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise CaptureError(f"is no file of captured launches: {reason}", str(path)) from None
    raise CaptureError(
        f"is of version {version}, this Tilewright reads {VERSION}; capture again", str(path)
    )


def text_hash(source: str) -> str:
    """Of a kernel's text from its first decorator on, without blank lines and comment lines.

    The recorder in the user's process computes the same from ``inspect.getsource``.
    """
    lines = [line.rstrip() for line in textwrap.dedent(source.expandtabs()).splitlines()]
    return digest("\n".join(x for x in lines if x and not x.lstrip().startswith("#")))
