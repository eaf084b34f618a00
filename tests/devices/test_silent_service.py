"""Nobody waits without end for a worker or a service that says nothing, or nonsense."""

import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.devices import client as clients
from tilewright.devices.client import WorkerClient
from tilewright.devices.model import JobStatus
from tilewright.devices.rpc import Conversation
from tilewright.devices.service import connection
from tilewright.devices.service.connection import ServiceChannel
from tilewright.worker.runtime.connections import encode

JOB = {"kind": "inputs", "seed": 0}
HELLO = encode({"hello": {"pid": os.getpid(), "executable": sys.executable}})


@pytest.fixture
def service() -> Iterator[tuple[ServiceChannel, socket.socket]]:
    """A service that greets, and then neither reads nor says anything by itself; its end."""
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(HELLO)
        channel = ServiceChannel(ours)
        channel.start()
        yield channel, theirs
        channel.close()


@pytest.mark.triton
def test_a_service_that_says_nothing_is_left_and_the_job_done_without(
    service: tuple[ServiceChannel, socket.socket],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(clients, "_LOOK_SECONDS", 0.1)
    monkeypatch.setattr(connection, "_HELLO_SECONDS", 0.2)
    monkeypatch.setattr(clients, "connect", lambda *_, **__: service[0])
    case = {"category": "ci", "index": 0, "dims": {}, "inputs": []}
    job = {"kind": "inputs", "seed": 0, "case": case, "out": str(tmp_path)}
    with caplog.at_level(logging.WARNING), WorkerClient(sys.executable, shared=True) as client:
        outcome = client.run(job, 60)
    assert outcome.status is JobStatus.OK, outcome.message
    assert "`tilewright service stop`" in caplog.text


def test_one_that_says_how_it_is_is_waited_for(
    service: tuple[ServiceChannel, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, theirs = service
    answer = encode({"id": 1, "status": "ok", "value": {}})
    saying = threading.Timer(0.1, theirs.sendall, (answer,))
    saying.start()
    assert channel.answers()
    monkeypatch.setattr(connection, "_HELLO_SECONDS", 0.1)
    assert not channel.answers()


def conversation(*said: bytes) -> tuple[Conversation, list[str]]:
    """One whose other side says these bytes and no more; what was noted of its end."""
    (from_them, their_end), (their_in, to_them) = os.pipe(), os.pipe()
    os.close(their_in)
    noted: list[str] = []

    def ended() -> None:
        noted.append("ended")
        raise RuntimeError("the clean-up failed")

    talk = Conversation(os.fdopen(from_them, "rb"), os.fdopen(to_them, "wb"), ended)
    for data in said:
        os.write(their_end, data)
    os.close(their_end)
    return talk, noted


@pytest.mark.parametrize("said", [b"", encode({"no": "id"}), b"\0\0\0\3{no"])
def test_whatever_ends_a_conversation_nobody_waits_for_its_answer(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its clean-up may fail as well, and the answer make no sense: both are reported."""
    reported = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: reported.set())
    talk, noted = conversation(said)
    pending = clients.Pending()
    talk._pending[7] = pending
    talk.start()
    assert pending.done.wait(600)
    assert pending.answer is None
    assert noted == ["ended"]
    assert reported.wait(600)
    late = talk.send(JOB, 1)
    assert late.done.is_set()
    assert late.answer is None
