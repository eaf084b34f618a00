"""ocloc from a signed archive: whole or not at all, checked each time, offline when it can be."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.targets.ocloc import install
from tilewright.targets.ocloc.archive import DISTRIBUTIONS, Archive
from tilewright.targets.ocloc.install import install_ocloc, planned
from tilewright.targets.ocloc.location import ocloc, ocloc_at
from tilewright.targets.ocloc.lock import read_lock
from tilewright.targets.steps import InstallError

TOOLS = ("apt-get", "dpkg-deb", "gpg", "gpgv")
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)), reason=f"needs {', '.join(TOOLS)}"
)
PROGRAM = """#!/bin/sh
case "$1" in
  --version) echo 26.27.39122 ;;
  compile) echo "can be: dg2-g10, pvc, lnl-m, bmg-g21, bmg-g31, ptl-h" ;;
esac
"""
# Called as `loader --library-path FOLDERS PROGRAM ARGUMENTS`.
LOADER = '#!/bin/sh\nshift 2\nexec "$@"\n'


class Repository:
    """A signed archive of three small packages, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gpg_home = folder / "gpg"
        self.gpg_home.mkdir(parents=True, mode=0o700)
        self.keyring = folder / "keyring.gpg"
        self._gpg("--quick-generate-key", "archive@example.invalid", "ed25519", "sign", "never")
        self.keyring.write_bytes(self._gpg("--export"))
        self.publish("26.27.39122-1")

    def _gpg(self, *arguments: str) -> bytes:
        command = ["gpg", "--homedir", str(self.gpg_home), "--batch", "--yes", "--passphrase", ""]
        return subprocess.run([*command, *arguments], check=True, capture_output=True).stdout

    def close(self) -> None:
        command = ["gpgconf", "--homedir", str(self.gpg_home), "--kill", "all"]
        subprocess.run(command, check=False)

    def publish(self, version: str, depends: str = "libigc2") -> None:
        pool = self.folder / "pool"
        shutil.rmtree(pool, ignore_errors=True)
        pool.mkdir()
        files = {
            "intel-ocloc": {"usr/bin/ocloc-26.27.1": PROGRAM},
            "libigc2": {"usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2": LOADER},
            "libigdfcl2": {"usr/share/doc/libigdfcl2": ""},
        }
        stanzas = [
            self._package(name, version, depends if name == "intel-ocloc" else "", content)
            for name, content in files.items()
        ]
        self.sign("\n".join(stanzas))

    def _package(self, name: str, version: str, depends: str, content: dict[str, str]) -> str:
        tree = self.folder / "tree" / name
        shutil.rmtree(tree, ignore_errors=True)
        for place, text in content.items():
            path = tree / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        (tree / "DEBIAN").mkdir(parents=True)
        control = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\n"
        control += f"Maintainer: nobody\nDescription: {name}\n"
        control += f"Depends: {depends}\n" if depends else ""
        (tree / "DEBIAN" / "control").write_text(control)
        file = self.folder / "pool" / f"{name}_{version}_amd64.deb"
        command = ["dpkg-deb", "-Znone", "--root-owner-group", "-b", str(tree), str(file)]
        subprocess.run(command, check=True, capture_output=True)
        content_of = file.read_bytes()
        digest = hashlib.sha256(content_of).hexdigest()
        return f"{control}Filename: pool/{file.name}\nSize: {len(content_of)}\nSHA256: {digest}\n"

    def sign(self, packages: str) -> None:
        suite = self.folder / "dists" / "test"
        index = suite / "main" / "binary-amd64" / "Packages"
        index.parent.mkdir(parents=True, exist_ok=True)
        index.write_text(packages)
        digest = hashlib.sha256(packages.encode()).hexdigest()
        (suite / "Release").write_text(
            "Origin: test\nSuite: test\nCodename: test\nArchitectures: amd64\nComponents: main\n"
            "Date: Sat, 01 Jan 2022 00:00:00 UTC\n"
            f"SHA256:\n {digest} {len(packages)} main/binary-amd64/Packages\n"
        )
        signed = self._gpg("--clearsign", "-o", "-", str(suite / "Release"))
        (suite / "InRelease").write_bytes(signed)
        (suite / "Release").unlink()

    @property
    def archive(self) -> Archive:
        about = replace(DISTRIBUTIONS["debian"], suite="test")
        return Archive(about, (f"file:{self.folder}",), self.keyring)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    folder = Path("/tmp") / f"tw-archive-{os.getpid()}"
    repository = Repository(folder)
    yield repository
    repository.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def repository(
    made: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Repository]:
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TILEWRIGHT_OCLOC", raising=False)
    monkeypatch.setattr(install, "ocloc_on_path", lambda: None)
    monkeypatch.setattr(install, "find_archive", lambda: made.archive)
    ocloc_at.cache_clear()
    yield made
    ocloc_at.cache_clear()


def installed() -> tuple[str, list[str]]:
    """The path of what was installed, and what was said meanwhile."""
    said: list[str] = []
    return install_ocloc(said.append).path, said


def left(home: Path) -> list[str]:
    """What is below the folder of toolchains, hidden or not."""
    folder = home / "toolchains"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_it_is_fetched_verified_unpacked_and_locked(repository: Repository, tmp_path: Path) -> None:
    fetch, unpack = planned()
    assert "suite test of debian" in fetch
    assert str(tmp_path) in unpack
    path, said = installed()
    place = tmp_path / "home" / "toolchains" / "ocloc"
    assert path == str(place / "ocloc")
    assert "signature checked" in said[0]
    found = ocloc()
    assert found is not None
    assert (found.path, found.version, found.lacking) == (path, "26.27.39122", ())
    lock = read_lock(place)
    assert lock is not None
    assert [package.name for package in lock.packages] == ["libigc2", "intel-ocloc", "libigdfcl2"]
    assert lock.version == "26.27.39122-1"
    assert "root/usr/bin/ocloc-26.27.1" in lock.files
    assert left(tmp_path / "home") == ["ocloc"]
    assert sorted(p.name for p in (tmp_path / "home" / "downloads").iterdir()) == ["ocloc"]
    # Through a link it starts as well.
    (tmp_path / "linked").symlink_to(path)
    assert ocloc_at(str(tmp_path / "linked")).version == "26.27.39122"


def test_a_second_time_nothing_is_done(repository: Repository) -> None:
    installed()
    assert planned()[0].startswith("ocloc 26.27.39122 is there")
    assert [line.split(":")[0] for line in installed()[1]] == ["already there"]


def test_kept_packages_need_no_archive(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = installed()
    shutil.rmtree(Path(path).parent)

    def no_network() -> Archive:
        raise AssertionError("the archive was asked for")

    monkeypatch.setattr(install, "find_archive", no_network)
    ocloc_at.cache_clear()
    assert planned() == (
        f"unpack ocloc 26.27.39122-1 from the packages in {tmp_path}/home/downloads/ocloc into "
        f"{tmp_path}/home/toolchains/ocloc",
    )
    again, said = installed()
    assert again == path
    assert "no network is used" in said[0]


def test_a_changed_file_is_noticed_and_mended(repository: Repository) -> None:
    path, _ = installed()
    program = Path(path).parent / "root" / "usr" / "bin" / "ocloc-26.27.1"
    program.write_text(PROGRAM + "# changed\n")
    said = installed()[1]
    assert "is not as it was installed" in said[0]
    assert program.read_text() == PROGRAM


def test_a_changed_package_is_fetched_again(repository: Repository, tmp_path: Path) -> None:
    path, _ = installed()
    shutil.rmtree(Path(path).parent)
    package = tmp_path / "home" / "downloads" / "ocloc" / "intel-ocloc_26.27.39122-1_amd64.deb"
    good = package.read_bytes()
    package.write_bytes(bytes(len(good)))
    said = installed()[1]
    assert f"not as they were fetched ({package.name})" in said[0]
    assert package.read_bytes() == good


def refused(repository: Repository, home: Path, match: str) -> None:
    """An installation that must fail, and leave nothing that is taken for a compiler."""
    try:
        with pytest.raises(InstallError, match=match):
            installed()
    finally:
        repository.publish("26.27.39122-1")
    assert left(home) == []
    assert read_lock(home / "downloads" / "ocloc") is None


def test_a_package_that_is_not_the_signed_one(repository: Repository, tmp_path: Path) -> None:
    file = repository.folder / "pool" / "intel-ocloc_26.27.39122-1_amd64.deb"
    content = bytearray(file.read_bytes())
    content[-600] ^= 1
    file.write_bytes(bytes(content))
    refused(repository, tmp_path / "home", "apt-get install")


def test_an_index_that_nobody_signed(repository: Repository, tmp_path: Path) -> None:
    suite = repository.folder / "dists" / "test"
    (suite / "InRelease").rename(suite / "Release")
    refused(repository, tmp_path / "home", "not signed|no longer signed")
    (suite / "Release").unlink(missing_ok=True)


def test_an_index_that_another_signed(repository: Repository, tmp_path: Path) -> None:
    folder = Path("/tmp") / f"tw-other-{os.getpid()}"
    other = Repository(folder)
    try:
        shutil.copy(folder / "dists/test/InRelease", repository.folder / "dists/test/InRelease")
        refused(repository, tmp_path / "home", "apt-get update")
    finally:
        other.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_version_that_is_not_understood(repository: Repository, tmp_path: Path) -> None:
    repository.publish("31.1.1-1")
    refused(repository, tmp_path / "home", r"has ocloc 31\.1\.1-1; its messages are understood")


def test_a_compiler_that_does_not_run(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("test_ocloc_installing.PROGRAM", "#!/bin/sh\nexit 1\n")
    repository.publish("26.27.39122-1")
    with pytest.raises(InstallError, match="the unpacked ocloc does not run"):
        installed()
    monkeypatch.undo()
    repository.publish("26.27.39122-1")
    assert left(tmp_path / "home") == []


def test_stopped_half_way_it_leaves_what_was_there(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = installed()
    (Path(path).parent / "root" / "usr" / "bin" / "ocloc-26.27.1").write_text("#!/bin/sh\nexit 1\n")
    monkeypatch.setattr(install, "_script", _stop)
    with pytest.raises(KeyboardInterrupt):
        installed()
    assert left(tmp_path / "home") == ["ocloc"]
    monkeypatch.undo()


def test_what_a_killed_installation_left_is_not_used_and_goes(
    repository: Repository, tmp_path: Path
) -> None:
    left_behind = tmp_path / "home" / "toolchains" / ".ocloc-killed"
    left_behind.mkdir(parents=True)
    (left_behind / "ocloc").write_text(PROGRAM)
    assert ocloc() is None
    installed()
    assert left(tmp_path / "home") == [".ocloc-killed", "ocloc"], "it may still be at work"
    os.utime(left_behind, (0, 0))
    shutil.rmtree(tmp_path / "home" / "toolchains" / "ocloc")
    ocloc_at.cache_clear()
    installed()
    assert left(tmp_path / "home") == ["ocloc"]


def _stop(folder: Path) -> str:
    raise KeyboardInterrupt


def test_one_on_the_path_that_knows_every_chip_is_enough(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = installed()
    outside = replace(ocloc_at(path), path="/usr/bin/ocloc")
    shutil.rmtree(Path(path).parent)
    monkeypatch.setattr(install, "ocloc_on_path", lambda: outside)
    assert installed()[0] == "/usr/bin/ocloc"
    old = replace(outside, devices=frozenset({"pvc"}))
    monkeypatch.setattr(install, "ocloc_on_path", lambda: old)
    ocloc_at.cache_clear()
    again, said = installed()
    assert again == path
    assert "does not know dg2, lnl, bmg-g21" in said[0]


def test_the_one_that_is_named_is_used_or_the_error(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = installed()
    monkeypatch.setenv("TILEWRIGHT_OCLOC", path)
    assert installed()[0] == path
    monkeypatch.setenv("TILEWRIGHT_OCLOC", "/nowhere/ocloc")
    with pytest.raises(InstallError, match="TILEWRIGHT_OCLOC names /nowhere/ocloc, which does not"):
        installed()
    assert ocloc() is None
