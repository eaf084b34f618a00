"""An apt of one's own: no root, nothing of the system changed, nothing unsigned believed.

Its folders, its only source and the only key it believes are ours. Of the machine's settings it
keeps how the network is reached.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from tilewright.targets.ocloc.archive import Archive, quoted
from tilewright.targets.ocloc.lock import Package
from tilewright.targets.steps import InstallError, Say, run_step

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
