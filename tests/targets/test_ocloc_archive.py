"""Which archive a machine's own apt names: both forms of its files, and what is no archive."""

from pathlib import Path

import pytest

from tilewright.targets.ocloc.archive import find_archive
from tilewright.targets.steps import InstallError

BOOKWORM = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_CODENAME=bookworm\n'
NOBLE = 'PRETTY_NAME="Ubuntu 24.04"\nID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n'
STANZAS = """\
Types: deb
# a snapshot of a day
URIs: http://mirror.invalid/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.invalid/debian-security
Suites: bookworm-security
Components: main
"""


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "etc" / "apt" / "sources.list.d").mkdir(parents=True)
    (tmp_path / "keys").mkdir()
    for name in ("debian-archive-keyring.gpg", "ubuntu-archive-keyring.gpg"):
        (tmp_path / "keys" / name).write_bytes(b"")
    return tmp_path / "etc"


def found(etc: Path, release: str = BOOKWORM, **files: str) -> tuple[str, ...]:
    (etc / "os-release").write_text(release)
    for name, text in files.items():
        (etc / "apt" / name.replace("__", "/").replace("_", ".")).write_text(text)
    return find_archive(etc, etc.parent / "keys").uris


def test_stanzas_of_the_newer_form(etc: Path) -> None:
    (etc / "apt" / "sources.list.d" / "debian.sources").write_text(STANZAS)
    assert found(etc) == ("http://mirror.invalid/debian",)
    archive = find_archive(etc, etc.parent / "keys")
    text = archive.source(archive.uris[0])
    assert "Suites: forky\n" in text
    assert f"Signed-By: {etc.parent}/keys/debian-archive-keyring.gpg\n" in text
    assert "rusted" not in text


def test_stanzas_that_are_switched_off_or_of_sources(etc: Path) -> None:
    parts = etc / "apt" / "sources.list.d"
    (parts / "a.sources").write_text(STANZAS.replace("Types: deb", "Enabled: no\nTypes: deb"))
    (parts / "b.sources").write_text(STANZAS.replace("Types: deb", "Types: deb-src"))
    (parts / "c.sources.disabled").write_text(STANZAS)
    with pytest.raises(InstallError, match=r"no entry of .*names an archive of debian"):
        found(etc)


def test_a_key_in_the_stanza_and_fields_over_two_lines(etc: Path) -> None:
    text = (
        "Types: deb deb-src\nURIs: http://one.invalid/debian\n http://two.invalid/debian\n"
        "Suites: bookworm\nComponents: main\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n"
        " .\n mQINBF\n"
    )
    (etc / "apt" / "sources.list.d" / "debian.sources").write_text(text)
    assert found(etc) == ("http://one.invalid/debian", "http://two.invalid/debian")


def test_lines_of_the_older_form(etc: Path) -> None:
    uris = found(
        etc,
        NOBLE,
        sources_list=(
            "# deb http://off.invalid/ubuntu noble main\n"
            "deb cdrom:[Ubuntu 24.04]/ noble main\n"
            "deb [ arch=amd64 signed-by=/etc/apt/keyrings/vendor.gpg ] http://vendor.invalid/ noble"
            " main\n"
            "deb-src http://mirror.invalid/ubuntu noble main\n"
            "deb [arch=amd64] http://mirror.invalid/ubuntu noble main universe # ours\n"
            "deb http://mirror.invalid/ubuntu noble-updates main\n"
            "garbage\n"
        ),
    )
    assert uris == ("http://mirror.invalid/ubuntu",)


@pytest.mark.parametrize("release", ["ID=fedora\nPRETTY_NAME=Fedora\n", "", "ID=arch\n"])
def test_another_system_is_told_how_to_get_it(etc: Path, release: str) -> None:
    with pytest.raises(InstallError, match=r"on Debian and Ubuntu, not on .*TILEWRIGHT_OCLOC"):
        found(etc, release)


def test_without_the_archives_key_nothing_is_believed(etc: Path) -> None:
    for key in (etc.parent / "keys").iterdir():
        key.unlink()
    (etc / "apt" / "sources.list.d" / "debian.sources").write_text(STANZAS)
    with pytest.raises(InstallError, match="install the package debian-archive-keyring"):
        found(etc)
