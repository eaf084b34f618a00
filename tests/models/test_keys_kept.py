"""The key of an endpoint is searched for in every file and every process of a run."""

import contextlib
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from scripted_client import Setup, ask
from scripted_server import (
    Answer,
    ScriptedServer,
    by_turn,
    serve_process,
)

from tilewright.models.model import ModelUnavailableError

SECRET = "sk-searched-for-in-all-places-42"
PROGRAM = """
import os, subprocess, sys
from tilewright.devices.local_process import worker_environment
from tilewright.errors import TilewrightError
from tilewright.models.client import Client
from tilewright.models.model import CallRequest, Message, Role
from tilewright.models.settings import ModelSettings, ensemble

found = ensemble(["scripted"], ModelSettings(retries=1), lambda: ("", ""))
client = Client(found)
for sample in range(4):
    choice = found.choose(Role.OPTIMIZER, sample)
    request = CallRequest(Role.OPTIMIZER, choice, (Message("user", "Improve it."),), sample)
    try:
        print(client.complete(request), flush=True)
    except TilewrightError as error:
        print(repr(error), file=sys.stderr, flush=True)
print(client.spent, client.notes, found, flush=True)
child = subprocess.Popen(["sleep", "60"], env=worker_environment())
print("ready", child.pid, flush=True)
sys.stdin.read()
child.kill()
"""


def _files_with(folder: Path, secret: bytes) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if secret in path.read_bytes()]


def _below(root: int) -> list[int]:
    """All processes that descend from one."""
    parents = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            after = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(after[1])
    found, todo = [], [root]
    while todo:
        children = [pid for pid, parent in parents.items() if parent in todo]
        found += children
        todo = children
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_key_is_in_no_file_and_in_no_process_but_the_engines(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="needs openai: pip install 'tilewright[models]'")
    home, elsewhere = tmp_path / "home", tmp_path / "server"
    home.mkdir()
    elsewhere.mkdir()
    log = elsewhere / "log.jsonl"  # the server's own, which holds the header
    with serve_process("scripted_server:echoes_key", log) as server:
        environment = {
            **os.environ,
            "HOME": str(home),
            "TMPDIR": str(home),
            "TILEWRIGHT_HOME": str(home / "kept"),
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": SECRET,
            "OPENAI_LOG": "debug",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        with (home / "stdout").open("w+") as out, (home / "stderr").open("w") as err:
            run = subprocess.Popen(
                [sys.executable, "-c", PROGRAM],
                env=environment, stdin=subprocess.PIPE, stdout=out, stderr=err,
            )  # fmt: skip
            try:
                end = time.monotonic() + 600
                while "ready" not in (said := (home / "stdout").read_text()):
                    assert run.poll() is None, (home / "stderr").read_text()
                    assert time.monotonic() < end
                    time.sleep(0.05)
                children = _below(run.pid)
                assert int(said.split()[-1]) in children
                environments = {p: Path(f"/proc/{p}/environ").read_bytes() for p in children}
                assert not [p for p, e in environments.items() if SECRET.encode() in e]
            finally:
                run.communicate(timeout=120)
        assert SECRET.encode() in log.read_bytes()  # the search would find it
    assert len(server.completions) >= 4
    assert "[key removed]" in (home / "stdout").read_text()
    assert "[key removed]" in (home / "stderr").read_text()
    assert _files_with(home, SECRET.encode()) == []


def _certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for a host, signed by itself, and its key."""
    x509 = pytest.importorskip("cryptography.x509", reason="needs cryptography")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "certificate.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret = folder / "key.pem"
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pem, secret


def _secure(setup: Setup, folder: Path, name: str) -> ScriptedServer:
    server = setup.serve(by_turn(Answer("over TLS")))
    server.use_tls(*_certificate(folder, name))
    return server


def _at(server: ScriptedServer, host: str) -> str:
    return server.base_url.replace("127.0.0.1", host)


@pytest.mark.parametrize(
    ("name", "trusted", "message"),
    [
        ("elsewhere.example.com", True, "Hostname mismatch"),
        ("localhost", False, "self.signed certificate"),
    ],
)
def test_no_key_goes_to_a_server_that_is_not_the_one_named(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    name: str, trusted: bool, message: str,
) -> None:  # fmt: skip
    server = _secure(setup, tmp_path, name)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    base_url = _at(server, "localhost")
    monkeypatch.setenv("OPENAI_BASE_URL", base_url)
    choice = type(setup.choice(server))("scripted", base_url)
    with pytest.raises(ModelUnavailableError, match=f"no safe connection to .*{message}"):
        setup.client(choice).complete(ask(choice))
    assert server.requests == []


def test_server_with_the_right_certificate(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = _secure(setup, tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    monkeypatch.setenv("OPENAI_BASE_URL", _at(server, "localhost"))
    choice = type(setup.choice(server))("scripted", _at(server, "localhost"))
    assert setup.client(choice).complete(ask(choice)).text == "over TLS"
