"""Certificate files: their canonical form, their own hash, where they lie, and their originals.

A certificate of ``softmax.py`` is ``softmax.tilewright.json`` next to it. There may be more, of
other chips or problems, as ``softmax.ANYTHING.tilewright.json``.
"""

import base64
import hashlib
import json
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tilewright.certificates.model import VERSION, CertificateFile
from tilewright.errors import InputError, TilewrightError
from tilewright.serialize import dump, load
from tilewright.source.text import digest
from tilewright.textfile import read_bytes

SUFFIX = ".tilewright.json"
LONGEST_PACKED = 6 * 1024
_LARGEST_FILE = 1024 * 1024
_LARGEST_TEXT = 16 * 1024 * 1024
_PATIENCE_S = 10.0


class CertificateError(InputError):
    """A certificate file that cannot be used: it is none, or of another version."""


class AlteredError(CertificateError):
    """A certificate file that is not as it was made."""


def default_place(source: Path) -> Path:
    """Where the certificate of a source file lies."""
    return source.with_name(f"{source.stem}{SUFFIX}")


def certificates_of(source: Path) -> tuple[Path, ...]:
    """The certificate files next to a source file, the plain one first."""
    plain = default_place(source)
    others = sorted(source.parent.glob(f"{_literal(source.stem)}.*{SUFFIX}"))
    return (*([plain] if plain.is_file() else []), *others)


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "[]*?" else c for c in name)


def content_hash(data: Mapping[str, Any]) -> str:
    """Of a certificate's JSON without its own hash: first 32 hex digits of SHA-256.

    The canonical form has sorted keys, no blanks and no escapes but those JSON needs.
    """
    rest = {key: value for key, value in data.items() if key != "hash"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]


def as_json(certificate: CertificateFile) -> dict[str, Any]:
    """A certificate as its file has it, with its hash; what is empty or unknown is left out."""
    data: dict[str, Any] = _lean(dump(replace(certificate, hash="")))
    return {"version": VERSION, "hash": content_hash(data), **data}


def _lean(value: Any) -> Any:
    if isinstance(value, Mapping):
        lean = {key: _lean(item) for key, item in value.items()}
        return {key: item for key, item in lean.items() if item not in (None, "", [], {})}
    return [_lean(item) for item in value] if isinstance(value, list | tuple) else value


def as_text(certificate: CertificateFile) -> str:
    """The file's text: one field a line, lists of parts and figures one entry a line."""
    data = as_json(certificate)
    fields = ",\n".join(f" {json.dumps(key)}: {_laid_out(value)}" for key, value in data.items())
    return f"{{\n{fields}\n}}\n"


def _laid_out(value: Any, depth: int = 1) -> str:
    plain = json.dumps(value, ensure_ascii=False)
    if depth > 3 or len(plain) <= 90 or not isinstance(value, dict | list):
        return plain
    blank, end = " " * (depth + 1), " " * depth
    if isinstance(value, dict):
        inner = [f"{json.dumps(k)}: {_laid_out(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(f"{blank}{each}" for each in inner) + f"\n{end}}}"
    inner = [_laid_out(each, depth + 1) for each in value]
    return "[\n" + ",\n".join(f"{blank}{each}" for each in inner) + f"\n{end}]"


def write_certificate(path: Path, certificate: CertificateFile) -> None:
    """Put a certificate in its place, at once or not at all.

    Raises:
        CertificateError: it cannot be written there.
    """
    beside = path.with_name(f".{path.name}.tmp")
    try:
        beside.write_text(as_text(certificate), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise CertificateError(f"cannot be written: {error.strerror}", str(path)) from None


def read_certificate(path: Path) -> CertificateFile:
    """Read a certificate file and check that it is as it was made.

    Raises:
        CertificateError: it cannot be read, is none, is of another version, or was changed.
    """
    try:
        data = json.loads(read_bytes(path, _LARGEST_FILE))
    except InputError as error:
        raise CertificateError(error.message, str(path)) from None
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"is not JSON: {error}", str(path)) from None
    return parse_certificate(data, str(path))


def parse_certificate(data: Any, path: str) -> CertificateFile:
    """A certificate from its JSON; raises as ``read_certificate`` does."""
    if not isinstance(data, dict) or "version" not in data:
        raise CertificateError("is no certificate: it has no version", path)
    if data["version"] != VERSION:
        raise CertificateError(
            f"is of version {data['version']}, this Tilewright reads version {VERSION}; "
            "verify it again, or update Tilewright",
            path,
        )
    if data.get("hash") != content_hash(data):
        raise AlteredError(
            "was changed after it was made: its hash is not that of its content; verify it again",
            path,
        )
    try:
        return load(CertificateFile, data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CertificateError(f"is no certificate: {where}: {first['msg']}", path) from None


def packed(text: str) -> str | None:
    """A text in few characters; None if they are more than a certificate should have."""
    found = base64.b85encode(zlib.compress(text.encode(errors="replace"), 9)).decode()
    return found if len(found) <= LONGEST_PACKED else None


def unpacked(text: str) -> str:
    """What ``packed`` made; raises ValueError for anything else."""
    expander = zlib.decompressobj()
    try:
        found = expander.decompress(base64.b85decode(text), _LARGEST_TEXT)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    return found.decode()


def git_blob(text: str) -> str:
    """The object name that git gives a file of this text (SHA-1)."""
    data = text.encode(errors="replace")
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def read_all(source: Path) -> Iterator[tuple[Path, CertificateFile | CertificateError]]:
    """Each certificate next to a source file, or why it is none."""
    for path in certificates_of(source):
        try:
            yield path, read_certificate(path)
        except CertificateError as error:
            yield path, error


class NoOriginalError(TilewrightError):
    """The original is not in the certificate, nor in the git repository around it."""


def original_text(certificate: CertificateFile, candidate: str, folder: Path) -> str:
    """The original: the text at hand itself, or from the certificate, or from git.

    Raises:
        NoOriginalError: it is in none of these places.
    """
    wanted = certificate.original
    if wanted.hash == digest(candidate):
        return candidate
    if wanted.packed is not None:
        try:
            text = unpacked(wanted.packed)
        except ValueError as error:
            raise NoOriginalError(f"the original in the certificate is broken: {error}") from None
        if digest(text) == wanted.hash:
            return text
        raise NoOriginalError("the original in the certificate is not the one it names")
    found = _from_git(wanted.git_blob, folder) if wanted.git_blob else None
    if found is None or digest(found) != wanted.hash:
        raise NoOriginalError(
            "the original is too long for the certificate, and the git repository here does not "
            "have it; fetch its history, or name the file with --original"
        )
    return found


def _from_git(blob: str, folder: Path) -> str | None:
    try:
        run = subprocess.run(
            ["git", "-C", str(folder), "cat-file", "blob", blob],
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        text = run.stdout.decode()
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return text if run.returncode == 0 and git_blob(text) == blob else None
