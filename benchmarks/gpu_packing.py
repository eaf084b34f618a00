"""One archive of a folder that somebody still writes to."""

from __future__ import annotations

import contextlib
import io
import tarfile
from pathlib import Path

_MOST_BYTES = 12 << 20


def pack(folder: Path, archive: Path) -> None:
    """Write the files of an absolute folder anew to ``archive`` (.tar.gz): all of it, or as it was.

    A file of more than 12 MiB is left out, and a file beside it in the archive says so.
    """
    archive = archive.resolve()
    archive.parent.mkdir(parents=True, exist_ok=True)
    beside = archive.with_name(f"{archive.name}.part")
    with tarfile.open(beside, "w:gz") as made:
        found = (path for path in folder.rglob("*") if path.is_file())
        for file in sorted(path for path in found if path not in (archive, beside)):
            with contextlib.suppress(OSError):  # its writer may have put another in its place
                _add(made, file, str(file.relative_to(folder)))
    beside.replace(archive)


def _add(made: tarfile.TarFile, file: Path, name: str) -> None:
    status = file.stat()
    if status.st_size > _MOST_BYTES:
        text = f"{name} has {status.st_size} bytes and was left out"
        name, data = f"{name}.left_out", text.encode()
    else:
        data = file.read_bytes()
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(data), int(status.st_mtime)
    made.addfile(info, io.BytesIO(data))
