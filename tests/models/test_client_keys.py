"""Where a key goes, against a real server on loopback."""

import logging
import platform
import subprocess

import pytest
from scripted_client import GOOD, KEY, Setup, ask
from scripted_server import (
    Answer,
    Redirected,
    Refused,
    ScriptedServer,
    by_turn,
)

from tilewright.errors import InputError
from tilewright.models.model import (
    ModelChoice,
    ModelUnavailableError,
)
from tilewright.models.settings import CallPolicy


def test_redirect_is_not_followed(setup: Setup) -> None:
    elsewhere = setup.serve(by_turn(GOOD))
    server = setup.serve(by_turn(Redirected(elsewhere.base_url + "/chat/completions")))
    with pytest.raises(ModelUnavailableError, match=r"redirects to 127\.0\.0\.1, which is not"):
        setup.client(setup.choice(server)).complete(ask(setup.choice(server)))
    assert elsewhere.requests == []


def test_no_process_is_started_that_would_inherit_the_key(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []

    def start(*arguments: object, **_: object) -> None:
        started.append(arguments)
        raise OSError("no process is to be started")

    monkeypatch.setattr(platform, "_uname_cache", None)
    monkeypatch.setattr(platform, "_platform_cache", {})
    monkeypatch.setattr(subprocess, "Popen", start)
    server = setup.serve(by_turn(GOOD))
    setup.client(setup.choice(server)).complete(ask(setup.choice(server)))
    assert started == []


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
def test_key_echoed_in_an_error(
    setup: Setup, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = Refused(status, f"Incorrect API key provided: {KEY}", code=KEY, param=KEY)
    server = setup.serve(by_turn(echo))
    client = setup.client(setup.choice(server), policy=CallPolicy(retries=1, cache=False))
    with pytest.raises(ModelUnavailableError) as caught:
        client.complete(ask(setup.choice(server)))
    assert "[key removed]" in str(caught.value)
    assert KEY not in repr(caught.value)
    assert KEY not in caplog.text
    assert KEY not in repr(client.notes)
    error: BaseException | None = caught.value
    while error is not None:  # also what a traceback would show
        assert KEY not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_key_echoed_in_a_reply(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer(f"your key is {KEY}!", model=f"m-{KEY}", pieces=9)))
    reply = setup.client(setup.choice(server)).complete(ask(setup.choice(server)))
    assert reply.text == "your key is [key removed]!"
    assert KEY not in repr(reply)


def test_key_on_a_connection_without_encryption(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = setup.serve(by_turn(GOOD))
    # This machine under an address that is not its loopback address.
    base_url = server.base_url.replace("127.0.0.1", "0.0.0.0")
    monkeypatch.setenv("OPENAI_BASE_URL", base_url)
    choice = ModelChoice("scripted", base_url)
    client = setup.client(choice)
    client.complete(ask(choice))
    assert client.notes == (f"{base_url} is not encrypted: others may read the key on its way",)
    local = setup.client(setup.choice(server))
    local.complete(ask(setup.choice(server)))
    assert local.notes == ()


def test_endpoint_that_asks_for_a_key(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    server = setup.serve(by_turn(Refused(401, "missing bearer")))
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelUnavailableError, match=r"asks for a key .*set OPENAI_API_KEY"):
        setup.client(setup.choice(server)).complete(ask(setup.choice(server)))
    assert "authorization" not in server.completions[0].headers


def elsewhere(server: ScriptedServer) -> ModelChoice:
    """This machine under an address that is not its loopback address."""
    return ModelChoice("scripted", server.base_url.replace("127.0.0.1", "0.0.0.0"))


def test_missing_key_is_an_error_before_anything_is_asked(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = setup.serve(by_turn(GOOD))
    server.demands_key = True
    monkeypatch.delenv("OPENAI_API_KEY")
    local, remote = setup.choice(server), elsewhere(server)
    client = setup.client(local, remote)
    with pytest.raises(InputError, match=r"0\.0\.0\.0.* demands a key, and there is none: store"):
        client.complete(ask(local))
    assert server.completions == []
    assert client.spent.calls == 0


def test_endpoint_that_needs_no_key_is_asked_without_one(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = setup.serve(by_turn(GOOD, GOOD))
    monkeypatch.delenv("OPENAI_API_KEY")
    remote = elsewhere(server)
    client = setup.client(remote)
    assert [client.complete(ask(remote, text)).text for text in "ab"] == [GOOD.text] * 2
    listed = [request for request in server.requests if request not in server.completions]
    assert len(listed) == 1, "it was asked once whether it demands a key"
