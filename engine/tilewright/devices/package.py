"""The worker as one zip file, made once for each version of its sources; the cache folder."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tilewright import worker
from tilewright.home import home, unkept
from tilewright.worker.loading.import_stamps import stamp

PACKAGE = "tilewright_worker"
_MAIN = f"""import sys

from {PACKAGE}.protocol import SERVICE
from {PACKAGE}.runtime import fork_server, service

sys.exit(service.main() if SERVICE in sys.argv else fork_server.main())
"""
_EPOCH = (2020, 1, 1, 0, 0, 0)


def worker_zip() -> Path:
    """The zip to start a worker from; written to ``home()`` when it is not there yet.

    Raises InputError where it cannot be written.
    """
    data = _zip_bytes()
    folder = home() / "worker"
    path = folder / f"worker-{worker_hash()[:16]}.zip"
    if not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
        except OSError as error:
            raise unkept(folder, error) from error
    return path


@cache
def worker_hash() -> str:
    """Content hash of the worker, part of every cache key that its answers go into."""
    return hashlib.sha256(_zip_bytes()).hexdigest()


def unchanged(files: Mapping[str, object]) -> bool:
    """Whether all files still have the stamps that a worker took of them."""
    return all(stamp(path) == seen for path, seen in files.items())


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file or none: a reader never sees half of it."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


@cache
def _zip_bytes() -> bytes:
    root = Path(worker.__file__).parent
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py", _EPOCH), _MAIN)
        for source in sorted(root.rglob("*.py")):
            name = f"{PACKAGE}/{source.relative_to(root).as_posix()}"
            entry = zipfile.ZipInfo(name, _EPOCH)
            archive.writestr(entry, source.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
