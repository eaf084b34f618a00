"""Other hosts for the tests: an ``ssh`` that stays here, and a real sshd on this machine."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.devices.client import WorkerDevice

CLOSE = WorkerDevice.close

# Takes the place of ssh: what it would have run there is run here, in an empty home.
FAKE = """#!/bin/sh
while [ "$1" != "--" ]; do shift; done
shift; host=$1; shift
if [ -n "$FAKE_SSH_SAYS" ]; then echo "$FAKE_SSH_SAYS" >&2; exit ${FAKE_SSH_CODE:-255}; fi
echo $$ >> "$FAKE_SSH_PIDS"
cd "$FAKE_SSH_HOME" || exit 1
export HOME="$FAKE_SSH_HOME" TMPDIR="$FAKE_SSH_HOME/tmp"
eval "$FAKE_SSH_LOGIN"
exec sh -c "$*"
"""


@pytest.fixture(autouse=True)
def closing_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that is closed ends its worker, as it does outside of the tests."""
    monkeypatch.setattr(WorkerDevice, "close", CLOSE)


@pytest.fixture
def fake_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of the host that ``ssh`` now leads to; ``tmp`` in it is its temporary one."""
    home = tmp_path / "there"
    (home / "tmp").mkdir(parents=True)
    programs = tmp_path / "programs"
    programs.mkdir()
    ssh = programs / "ssh"
    ssh.write_text(FAKE)
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SSH_HOME", str(home))
    monkeypatch.setenv("FAKE_SSH_PIDS", str(tmp_path / "pids"))
    return home


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has torch and triton, and nothing of Tilewright."""
    import torch

    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # What a .pth file names is searched, but the .pth files there, as ours is one, are not read.
    (packages / "heavy.pth").write_text(str(Path(torch.__file__).parents[1]))
    python = folder / "bin" / "python"
    has_ours = [str(python), "-c", "import tilewright.worker"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    assert subprocess.run(has_ours, env=clean, capture_output=True, check=False).returncode != 0
    return python


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an ``ssh`` that knows the host ``box``: a real sshd of this user.

    ``there`` next to that folder is the temporary folder of what runs on that host.
    """
    server, keygen = shutil.which("sshd", path="/usr/sbin:/usr/bin"), shutil.which("ssh-keygen")
    real = shutil.which("ssh")
    if server is None or keygen is None or real is None:
        pytest.skip("needs sshd, ssh and ssh-keygen: apt-get install openssh-server")
    folder = tmp_path_factory.mktemp("sshd")
    folder.chmod(0o700)
    (folder / "there").mkdir()
    for name in ("key", "host"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    port = _free_port()
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/key.pub\nStrictModes no\nPasswordAuthentication no\n"
        f"SetEnv TMPDIR={folder}/there\n"
    )
    known = (folder / "host.pub").read_text()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {known}")
    (folder / "ssh_config").write_text(
        f"Host box\n HostName 127.0.0.1\n Port {port}\n User {getpass.getuser()}\n"
        f" IdentityFile {folder}/key\n UserKnownHostsFile {folder}/known\n"
    )
    programs = folder / "programs"
    programs.mkdir()
    (programs / "ssh").write_text(f'#!/bin/sh\nexec {real} -F {folder}/ssh_config "$@"\n')
    (programs / "ssh").chmod(0o755)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    process = subprocess.Popen([server, "-D", "-f", str(folder / "sshd_config"), "-e"])
    try:
        _wait_for_port(port)
        yield programs
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


def _wait_for_port(port: int) -> None:
    end = time.monotonic() + 600
    while time.monotonic() < end:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("sshd does not listen")
