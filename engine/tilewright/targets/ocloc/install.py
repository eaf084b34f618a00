"""Install ocloc from the distribution's signed packages, outside the system's folders.

The newest suite's compiler wants a newer C library than older systems have, so it is unpacked
together with the libraries it needs and started through the loader among them.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from tilewright.home import home
from tilewright.targets.ocloc.archive import BY_HAND, DISTRIBUTIONS, Archive, find_archive, quoted
from tilewright.targets.ocloc.location import (
    OCLOC,
    Ocloc,
    ocloc_at,
    ocloc_folder,
    ocloc_named,
    ocloc_on_path,
)
from tilewright.targets.ocloc.lock import (
    NAME,
    Lock,
    Package,
    checksums,
    damaged_files,
    damaged_packages,
    read_lock,
    write_lock,
)
from tilewright.targets.steps import (
    InstallError,
    Say,
    build_folder,
    put_in_place,
    require_space,
    run_step,
    size_mb,
)

PACKAGES = ("intel-ocloc", "libigc2", "libigdfcl2")
FIRST, BEYOND = (26,), (28,)
"""The versions that reports are read from: from ``FIRST`` on, below ``BEYOND``."""
NEEDED_MB = 420
_LOADER = "ld-linux-x86-64.so.2"
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
_SCRIPT = """#!/bin/sh
here=${{0%/*}}
if [ -L "$0" ]; then here=$(dirname "$(readlink -f "$0")"); fi
exec "$here/{loader}" --library-path "{libraries}" "$here/{binary}" "$@"
"""
_URI = re.compile(r"^'[^']+' (?P<file>\S+\.deb) (?P<bytes>\d+) SHA256:(?P<sha256>[0-9a-f]{64})$")
_REACHING = re.compile(
    r"^Acquire::(http|https|ftp|Retries|Check-Valid-Until|Check-Date|ForceIPv\d)\b"
)
_INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends")


@dataclass(frozen=True)
class PrivateApt:
    """apt with everything it keeps below ``folder``; packages go to ``downloads``."""

    folder: Path
    downloads: Path
    say: Say

    def update(self, archive: Archive) -> None:
        """Fetch the suite's index, signature checked, from the first address that has it.

        Raises InstallError with what each address said.
        """
        self._make_folders()
        said = []
        for uri in archive.uris:
            (self.folder / "private.sources").write_text(archive.source(uri), encoding="utf-8")
            try:
                self._run("apt-get", "update")
            except InstallError as error:
                said.append(str(error))
                continue
            return
        raise InstallError("\n".join(said))

    def resolve(self, names: Sequence[str]) -> tuple[Package, ...]:
        """The packages and all they depend on, as if nothing were installed."""
        # What is in the folder of packages already would not be printed.
        elsewhere = f"Dir::Cache::archives={self.folder / 'empty'}"
        said = self._run(*_INSTALL, "-o", elsewhere, "--print-uris", *names)
        matches = filter(None, map(_URI.match, said.splitlines()))
        return tuple(_package(m["file"], int(m["bytes"]), m["sha256"]) for m in matches)

    def download(self, names: Sequence[str]) -> None:
        """Fetch them into ``downloads``; apt checks each against the signed index."""
        self._run(*_INSTALL, "--download-only", *names)

    def _make_folders(self) -> None:
        for folder in ("lists/partial", "empty", self.downloads / "partial"):
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").write_text("", encoding="utf-8")
        kept = (line for line in _machine_settings() if _REACHING.match(line))
        (self.folder / "apt.conf").write_text(
            "\n".join((*_settings(self.folder, self.downloads), *kept, "")), encoding="utf-8"
        )

    def _run(self, *command: str) -> str:
        own = {"APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C.UTF-8"}
        return run_step(command, self.say, own)


def _settings(folder: Path, downloads: Path) -> tuple[str, ...]:
    empty = folder / "empty"
    paths = {
        "Dir::Etc::main": empty / "none",
        "Dir::Etc::parts": empty,
        "Dir::Etc::preferences": empty / "none",
        "Dir::Etc::preferencesparts": empty,
        "Dir::Etc::trusted": empty / "none",
        "Dir::Etc::trustedparts": empty,
        "Dir::Etc::sourceparts": empty,
        "Dir::Etc::sourcelist": folder / "private.sources",
        "Dir::State": folder,
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Cache::archives": downloads,
        "Dir::Log": folder,
    }
    return (
        *(f"{name} {quoted(path)};" for name, path in paths.items()),
        'APT::Architecture "amd64";',
        'APT::Architectures { "amd64"; };',
        # The folders are the user's own, which apt's own user may not be able to enter.
        'APT::Sandbox::User "";',
        'APT::Get::AllowUnauthenticated "false";',
        'Acquire::AllowInsecureRepositories "false";',
        'Acquire::AllowWeakRepositories "false";',
        'Acquire::AllowDowngradeToInsecureRepositories "false";',
        'Acquire::Languages { "none"; };',
        'Acquire::ForceHash "SHA256";',
        'APT::Update::Error-Mode "any";',
    )


def _machine_settings() -> list[str]:
    return run_step(("apt-config", "dump"), lambda line: None).splitlines()


def _package(file: str, size: int, sha256: str) -> Package:
    name, version, *_ = file.split("_")
    return Package(name, unquote(version), file, size, sha256)


def downloads() -> Path:
    """Where the packages stay, so that they can be installed again without a network."""
    return home() / "downloads" / "ocloc"


def planned() -> tuple[str, ...]:
    """What ``install_ocloc`` would do now, a sentence a line; raises InstallError if it cannot."""
    there = _usable(lambda line: None)
    if there is not None:
        return (f"ocloc {there.version} is there: {there.path}",)
    folder, place = downloads(), ocloc_folder()
    lock = read_lock(folder)
    if lock is not None and not damaged_packages(folder, lock):
        return (f"unpack ocloc {lock.version} from the packages in {folder} into {place}",)
    archive = _archive()
    return (
        f"fetch {', '.join(PACKAGES)} and what they depend on from suite "
        f"{archive.distribution.suite} of {archive.distribution.name}, checked against "
        f"{archive.keyring}, from the archive that this machine's apt uses, into {folder} "
        "(75 MB)",
        f"unpack them into {place} (270 MB); nothing of the system is changed",
    )


def install_ocloc(say: Say) -> Ocloc:
    """Intel's offline compiler: the one that is there if it knows every chip, else our own.

    Raises:
        InstallError: not Debian or Ubuntu, no network and no packages kept, a signature or
            checksum that does not hold, a full disk. What was in place before is still there.
    """
    there = _usable(say)
    if there is not None:
        say(f"already there: ocloc {there.version} ({there.path})")
        return there
    place = ocloc_folder()
    place.parent.mkdir(parents=True, exist_ok=True)
    require_space(place.parent, NEEDED_MB)
    lock = _installed_lock(say) or _fetched(say)
    with build_folder(place) as folder:
        _unpack(lock, folder, say)
        put_in_place(folder, place, lambda path: _whole(path) is not None)
    ocloc_at.cache_clear()
    found = _whole(place)
    if found is None:
        raise InstallError(f"{place} was made, but its ocloc does not answer; remove it, try again")
    say(f"installed ocloc {found.version} in {place} ({size_mb(place)} MB)")
    return found


def _usable(say: Say) -> Ocloc | None:
    """The ocloc that makes an installation needless."""
    if os.environ.get(OCLOC):
        return _named()
    place = ocloc_folder()
    own = _whole(place)
    if own is not None:
        return own
    if place.exists():
        say(f"{place} is not as it was installed: it is made again")
    other = ocloc_on_path()
    if other is None or not other.lacking:
        return other
    say(
        f"{other.path}, ocloc {other.version}, does not know {', '.join(other.lacking)}: "
        "a newer one is installed next to it"
    )
    return None


def _named() -> Ocloc:
    found = ocloc_named()
    if found is None:
        raise InstallError(
            f"{OCLOC} names {os.environ[OCLOC]}, which does not run: correct it, or unset it to "
            "have one installed"
        )
    return found


def _whole(place: Path) -> Ocloc | None:
    """Our own, if every file is as it was unpacked and it answers."""
    lock = read_lock(place)
    if lock is None or not lock.files or damaged_files(place, lock):
        return None
    try:
        return ocloc_at(str(place / "ocloc"))
    except OSError:
        return None


def _installed_lock(say: Say) -> Lock | None:
    """The packages of an earlier installation, if their checksums hold."""
    folder = downloads()
    lock = read_lock(folder)
    if lock is None:
        return None
    damaged = damaged_packages(folder, lock)
    if damaged:
        say(f"kept packages are not as they were fetched ({', '.join(damaged)}): fetched again")
        return None
    say(f"from the packages kept in {folder}, checksums verified; no network is used")
    return lock


def _archive() -> Archive:
    for tool in ("apt-get", "apt-config", "dpkg-deb", "dpkg"):
        if shutil.which(tool) is None:
            names = " and ".join(name.capitalize() for name in DISTRIBUTIONS)
            raise InstallError(f"no {tool} here: ocloc is installed on {names}; else {BY_HAND}")
    architecture = run_step(("dpkg", "--print-architecture"), lambda line: None).strip()
    if architecture != "amd64":
        raise InstallError(f"there is no ocloc for {architecture}: it is built for amd64 alone")
    return find_archive()


def _fetched(say: Say) -> Lock:
    """Packages fresh from the archive, and their lock next to them."""
    archive, folder = _archive(), downloads()
    about = archive.distribution
    say(
        f"fetching {', '.join(PACKAGES)} from suite {about.suite} of {about.name}, "
        f"signature checked against {archive.keyring}"
    )
    folder.mkdir(parents=True, exist_ok=True)
    with build_folder(home() / "downloads" / "apt") as private:
        apt = PrivateApt(private, folder, say)
        apt.update(archive)
        lock = Lock(about.name, about.suite, apt.resolve(PACKAGES))
        _require_version(lock)
        # apt takes a file of the right size for the right one.
        for name in damaged_packages(folder, lock):
            (folder / name).unlink(missing_ok=True)
        apt.download(PACKAGES)
    damaged = damaged_packages(folder, lock)
    if damaged:
        raise InstallError(f"checksum of {', '.join(damaged)} is not the signed index's; try again")
    write_lock(folder, lock)
    _prune(folder, lock)
    return lock


def _require_version(lock: Lock) -> None:
    found = tuple(int(number) for number in re.findall(r"\d+", lock.version)[:3])
    if not FIRST <= found < BEYOND:
        first, beyond = (".".join(map(str, version)) for version in (FIRST, BEYOND))
        raise InstallError(
            f"suite {lock.suite} of {lock.distribution} has ocloc {lock.version or 'none'}; "
            f"its messages are understood from {first} on and below {beyond}: {BY_HAND}"
        )


def _prune(folder: Path, lock: Lock) -> None:
    """Keep the packages of the lock alone."""
    kept = {NAME, *(package.file for package in lock.packages)}
    for path in folder.iterdir():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _unpack(lock: Lock, folder: Path, say: Say) -> None:
    """Unpack packages whose checksums were verified, and see that the compiler runs."""
    say(f"unpacking {len(lock.packages)} packages")
    root = folder / "root"
    for package in lock.packages:
        run_step(("dpkg-deb", "-x", str(downloads() / package.file), str(root)), say)
    script = folder / "ocloc"
    script.write_text(_script(folder), encoding="utf-8")
    script.chmod(0o755)
    try:
        found = ocloc_at(str(script))
    except OSError as error:
        raise InstallError(f"the unpacked ocloc does not run: {error.strerror}") from None
    if not found.devices:
        raise InstallError(
            "the unpacked ocloc supports none of the known chips: it does not answer"
        )
    write_lock(folder, replace(lock, files=checksums(folder)))


def _script(folder: Path) -> str:
    loader = _only(folder, f"root/**/{_LOADER}")
    binary = _only(folder, "root/usr/bin/ocloc*")
    libraries = [folder / "root" / name for name in _LIBRARIES]
    paths = ":".join(f"$here/{path.relative_to(folder)}" for path in libraries)
    return _SCRIPT.format(
        loader=loader.relative_to(folder), binary=binary.relative_to(folder), libraries=paths
    )


def _only(folder: Path, pattern: str) -> Path:
    found: Sequence[Path] = sorted(folder.glob(pattern))
    if not found:
        raise InstallError(f"the packages have no {pattern.rpartition('/')[2]}")
    return found[0]
