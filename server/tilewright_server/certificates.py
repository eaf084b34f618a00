"""Certificates of open documents, compared with the current texts.

Files are read off the event loop and kept until something says that they changed; what they say
of a text is worked out once a text. Nothing of a workspace is run.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.lru import LruDict
from tilewright_server.analysis_cache import Parsed
from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright.certificates.files import CertificateError
    from tilewright.certificates.model import CertificateFile
    from tilewright.certificates.staleness import Change
    from tilewright.checking.certified import KernelProof
    from tilewright.source.model import Module

_REMEMBERED = 64
SUFFIX = ".tilewright.json"


@dataclass(frozen=True)
class Read:
    """The certificate files of one source file."""

    certificates: "tuple[tuple[Path, CertificateFile, Change | None], ...]" = ()
    faults: "tuple[CertificateError, ...]" = ()


@dataclass(frozen=True)
class Found:
    """Certificates of a document's current text, by kernel."""

    proofs: "dict[str, KernelProof]"
    faults: "tuple[CertificateError, ...]" = ()

    def choose(self, kernel: str | None, name: str | None) -> "KernelProof | None":
        """A kernel's certificate, or the one of that name, or the document's first."""
        known = [proof for proof in self.proofs.values() if proof.state is not None]
        if kernel is not None:
            known = [proof for proof in known if proof.kernel.name == kernel]
        if name is not None:
            known = [proof for proof in known if proof.place and proof.place.name == name]
        return known[0] if known else None


_NOTHING = Found({})


class Certificates:
    """Certificates by document; owned by the event loop."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._read: dict[str, Read] = {}
        self._found: LruDict[tuple[str, str], Found] = LruDict(_REMEMBERED)
        self._round = 0

    def forget(self) -> None:
        """Read the files again at the next need."""
        self._read.clear()
        self._found.clear()
        self._round += 1

    async def certificates_of(self, snapshot: Snapshot, parsed: Parsed) -> Found:
        """Certificates of a document; none for one that is not on disk."""
        if snapshot.path is None or snapshot.cell is not None or not parsed.module.kernels:
            return _NOTHING
        key = (snapshot.path, snapshot.hash)
        known = self._found.get(key)
        if known is not None:
            return known
        now = self._round
        read = self._read.get(snapshot.path)
        loop = asyncio.get_running_loop()
        if read is None:
            path = Path(snapshot.path)
            read = await loop.run_in_executor(self._pool, read_certificates, path)
        found = Found({}, read.faults)
        if read.certificates:
            found = await loop.run_in_executor(self._pool, hold, read, parsed.module)
        if now == self._round:
            self._read[snapshot.path] = read
            self._found.put(key, found)
        return found


def read_certificates(source: Path) -> Read:
    """Read the certificate files next to a source file, and the problems they name."""
    from tilewright.certificates.files import CertificateError, read_all
    from tilewright.checking.certified import problem_change

    found, faults = [], []
    for place, read in read_all(source):
        if isinstance(read, CertificateError):
            faults.append(read)
        elif (place.parent / read.subject.file).resolve() == source.resolve():
            found.append((place, read, problem_change(read, place, source)))
    return Read(tuple(found), tuple(faults))


def hold(read: Read, module: "Module") -> Found:
    """Hold what was read against a text."""
    from tilewright.checking.certified import certificate_state, proofs

    states = [
        (place, certificate_state(one, module, change)) for place, one, change in read.certificates
    ]
    known = {proof.kernel.name: proof for proof in proofs(module, states)}
    return Found(known, read.faults)
