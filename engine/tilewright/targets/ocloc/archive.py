"""The archive that this machine's own apt uses, and the suite of it that has a current ocloc."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tilewright.targets.steps import InstallError

ETC = Path("/etc")
KEYRINGS = Path("/usr/share/keyrings")
BY_HAND = (
    "get ocloc, Intel's offline compiler, from your distribution (packages called intel-ocloc, "
    "intel-compute-runtime or intel-opencl-icd) or from the releases of Intel's compute-runtime, "
    "and have it on PATH or named by TILEWRIGHT_OCLOC"
)


@dataclass(frozen=True)
class Distribution:
    """Where a distribution keeps a current ocloc, and whose signature vouches for it.

    ``rolling`` are names of suites next to release names under which a machine may follow it.
    """

    name: str
    suite: str
    components: str
    keyrings: tuple[str, ...]
    keyring_package: str
    rolling: tuple[str, ...] = ()


DISTRIBUTIONS: Mapping[str, Distribution] = MappingProxyType(
    {
        "debian": Distribution(
            "debian", "forky", "main",
            ("debian-archive-keyring.gpg", "debian-archive-keyring.pgp"),
            "debian-archive-keyring", ("stable", "testing", "unstable", "sid"),
        ),
        "ubuntu": Distribution(
            "ubuntu", "resolute", "main universe",
            ("ubuntu-archive-keyring.gpg", "ubuntu-archive-keyring.pgp"),
            "ubuntu-keyring", ("devel",),
        ),
    }
)  # fmt: skip


@dataclass(frozen=True)
class Archive:
    """One suite, the addresses that may have it, and the keyring that its signature must be of."""

    distribution: Distribution
    uris: tuple[str, ...]
    keyring: Path

    def source(self, uri: str) -> str:
        """An entry for apt, with the keyring that alone is believed."""
        # apt leaves what it reads from a folder where it is; it is to be kept.
        uri = f"copy:{uri.removeprefix('file:')}" if uri.startswith("file:") else uri
        return (
            f"Types: deb\nURIs: {uri}\nSuites: {self.distribution.suite}\n"
            f"Components: {self.distribution.components}\nArchitectures: amd64\n"
            f"Signed-By: {self.keyring}\n"
        )


@dataclass(frozen=True)
class _Entry:
    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str


def find_archive(etc: Path = ETC, keyrings: Path = KEYRINGS) -> Archive:
    """The archive of this machine's distribution; raises InstallError saying what is lacking."""
    release = _os_release(etc)
    distribution = DISTRIBUTIONS.get(release.get("ID", ""))
    if distribution is None:
        name = release.get("PRETTY_NAME") or release.get("ID") or "this system"
        raise InstallError(f"ocloc can be installed on Debian and Ubuntu, not on {name}: {BY_HAND}")
    keyring = _keyring(distribution, keyrings)
    suites = {release.get("VERSION_CODENAME", ""), *distribution.rolling} - {""}
    uris = dict.fromkeys(
        uri
        for entry in _entries(etc / "apt")
        if suites & set(entry.suites) and "main" in entry.components and _ours(entry, distribution)
        for uri in entry.uris
        if not uri.startswith("cdrom:")
    )
    if not uris:
        raise InstallError(
            f"no entry of {etc / 'apt'} names an archive of {distribution.name} "
            f"({' or '.join(sorted(suites))}, component main): add one, or {BY_HAND}"
        )
    return Archive(distribution, tuple(uris), keyring)


def _keyring(distribution: Distribution, keyrings: Path) -> Path:
    for name in distribution.keyrings:
        if (keyrings / name).is_file():
            return keyrings / name
    raise InstallError(
        f"packages are checked against the archive's own key, and {keyrings} has no "
        f"{distribution.keyrings[0]}: install the package {distribution.keyring_package}"
    )


def _ours(entry: _Entry, distribution: Distribution) -> bool:
    """Not another publisher's, who signs with a key of his own."""
    return not entry.signed_by or distribution.name in Path(entry.signed_by).name


def _os_release(etc: Path) -> dict[str, str]:
    try:
        text = (etc / "os-release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}


def _entries(apt: Path) -> Iterator[_Entry]:
    parts = apt / "sources.list.d"
    listed = sorted(parts.iterdir()) if parts.is_dir() else []
    for path in (apt / "sources.list", *listed):
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".sources":
            yield from _stanzas(text)
        elif path.suffix == ".list":
            yield from filter(None, map(_one_line, text.splitlines()))


def _one_line(line: str) -> _Entry | None:
    """``deb [options] uri suite component...``; None for anything else."""
    line = line.partition("#")[0].strip()
    options = ""
    if line.startswith("deb ") and line[4:].lstrip().startswith("["):
        options, _, rest = line[4:].lstrip()[1:].partition("]")
        line = f"deb {rest}"
    kind, *words = line.split() or [""]
    if kind != "deb" or len(words) < 3:
        return None
    uri, suite, *components = words
    given = dict(pair.partition("=")[::2] for pair in options.split())
    return _Entry((uri,), (suite,), tuple(components), given.get("signed-by", ""))


def _stanzas(text: str) -> Iterator[_Entry]:
    """The entries of a file in the newer form, fields with lines that go on."""
    kept = [line for line in text.splitlines() if not line.startswith("#")]
    for block in "\n".join(kept).split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if line[:1] in (" ", "\t"):
                fields[name] = f"{fields.get(name, '')} {line.strip()}"
            else:
                name, _, value = line.partition(":")
                name = name.strip().lower()
                fields[name] = value.strip()
        if "deb" in fields.get("types", "").split() and fields.get("enabled", "yes") != "no":
            uris, suites = fields.get("uris", "").split(), fields.get("suites", "").split()
            signed = fields.get("signed-by", "")
            # A key that stands in the file itself has no name to know it by.
            signed = "" if "BEGIN PGP" in signed else signed
            yield _Entry(
                tuple(uris), tuple(suites), tuple(fields.get("components", "").split()), signed
            )


def quoted(path: Path) -> str:
    """A path as apt's configuration takes it."""
    if '"' in str(path):
        raise InstallError(f"apt cannot work in a folder with a quotation mark: {path}")
    return f'"{path}"'
