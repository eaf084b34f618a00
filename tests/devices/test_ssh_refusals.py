"""What a person is told when there is no worker to be had on another host."""

from pathlib import Path

import pytest

from tilewright.devices.discovery import close_all
from tilewright.devices.model import DeviceError
from tilewright.devices.opening import open_device


@pytest.mark.parametrize(
    ("said", "code", "told"),
    [
        ("Host key verification failed.", 255, r"host key.*run `ssh -p 7 me@h true` once"),
        ("me@h: Permission denied (publickey).", 255, r"without a question.*ssh-copy-id"),
        ("ssh: Could not resolve hostname h: Name or ...", 255, "no host of that name"),
        ("ssh: connect to host h port 7: Connection refused", 255, "does not answer.*is on"),
        ("ssh: connect to host h port 7: Connection timed out", 255, "does not answer"),
        ("something else", 255, r"ssh did not get there \(something else\)"),
        ("sh: 1: exec: python3: not found", 127, "no python3 to run there.*ssh://h/path/to/python"),
        ("/usr/bin/python3 is Python 3.8; a worker needs 3.10 or newer", 1, "needs 3.10 or newer"),
        ("ModuleNotFoundError: No module named 'torch'", 1, "pip install torch triton there"),
    ],
)  # fmt: skip
def test_each_failure_says_what_is_so_and_what_to_do(
    fake_ssh: Path, monkeypatch: pytest.MonkeyPatch, said: str, code: int, told: str
) -> None:
    del fake_ssh
    monkeypatch.setenv("FAKE_SSH_SAYS", said)
    monkeypatch.setenv("FAKE_SSH_CODE", str(code))
    with pytest.raises(DeviceError, match=told):
        open_device("ssh://me@h:7#interpreter")
    close_all()


def test_without_an_ssh_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceError, match=r"no `ssh` here.*openssh-client"):
        open_device("ssh://h")
    close_all()


def test_an_interpreter_there_without_torch_says_what_to_install(
    fake_ssh: Path, tmp_path: Path
) -> None:
    del fake_ssh
    import subprocess
    import sys

    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    with pytest.raises(DeviceError, match=r"No module named 't.*pip install torch triton there"):
        open_device(f"ssh://h{bare}/bin/python")
    assert not list((tmp_path / "there" / "tmp").iterdir()), "nothing is left there"
    close_all()
