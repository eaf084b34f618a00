"""Getting back the text that a verified one was compared with."""

import subprocess
from pathlib import Path

from tilewright.certificates.files import git_blob, unpacked
from tilewright.certificates.model import CertificateFile
from tilewright.errors import TilewrightError
from tilewright.source.text import digest

_PATIENCE_S = 10.0


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
