"""The cache of replies: asking again sends nothing, and nothing of it is open to others."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from scripted_client import Setup, ask
from scripted_server import Answer, by_turn

from tilewright.home import home
from tilewright.models.model import Message
from tilewright.models.prices import Price
from tilewright.models.settings import CallPolicy

CACHED = CallPolicy(cache=True)


def test_same_request_is_sent_once(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("one", prompt_tokens=9, completion_tokens=3)))
    choice, prices = setup.choice(server), {"scripted": Price(1000.0, 1000.0)}
    first = setup.client(choice, policy=CACHED, prices=prices)
    sent = first.complete(ask(choice))
    again = setup.client(choice, policy=CACHED, prices=prices)
    kept = again.complete(ask(choice))
    assert len(server.completions) == 1
    assert sent.dollars == pytest.approx(0.012)
    assert kept == replace(sent, from_cache=True, dollars=0.0, seconds=0.0)
    assert (again.spent.calls, again.spent.calls_cached) == (0, 1)
    assert again.spent.dollars == 0.0


def test_other_requests_are_sent(setup: Setup) -> None:
    server, other = setup.serve(by_turn(Answer("x"))), setup.serve(by_turn(Answer("y")))
    choice = setup.choice(server)
    base = ask(choice)
    changed = [
        replace(base, sample=1),
        replace(base, schema={"type": "object"}),
        replace(base, messages=(*base.messages, Message("user", "more"))),
        replace(base, choice=replace(choice, name="other")),
        replace(base, choice=replace(choice, temperature=0.1)),
        replace(base, choice=replace(choice, effort="high")),
        replace(base, choice=replace(choice, max_output_tokens=99)),
    ]
    client = setup.client(choice, policy=CACHED)
    for request in (base, *changed):
        assert not client.complete(request).from_cache
    assert len(server.completions) == 8
    assert len({request.key() for request in (base, *changed)}) == 8
    elsewhere = replace(base, choice=replace(choice, base_url=other.base_url))
    assert elsewhere.key() == base.key()
    assert client.complete(elsewhere).text == "y"


def test_cut_and_estimated_replies_stay_so(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("half", finish="length", usage=False)))
    choice = setup.choice(server)
    client = setup.client(choice, policy=CACHED)
    client.complete(ask(choice))
    kept = client.complete(ask(choice))
    assert (kept.finish, kept.estimated, kept.from_cache) == ("length", True, True)


def test_cache_can_be_turned_off(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("x")))
    client = setup.client(setup.choice(server), policy=CallPolicy(cache=False))
    for _ in range(2):
        client.complete(ask(setup.choice(server)))
    assert len(server.completions) == 2
    assert not (home() / "replies").exists()


def _files() -> list[Path]:
    return sorted((home() / "replies").rglob("*.json"))


def test_only_the_user_reads_the_files(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("x")))
    setup.client(setup.choice(server), policy=CACHED).complete(ask(setup.choice(server)))
    (file,) = _files()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((home() / "replies").stat().st_mode) == 0o700
    assert set(json.loads(file.read_text())) == {"reply"}  # nothing of the prompt


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"reply": {"text": 5}}', "\x00"])
def test_damaged_file_is_asked_again(setup: Setup, content: str) -> None:
    server = setup.serve(by_turn(Answer("x")))
    client = setup.client(setup.choice(server), policy=CACHED)
    client.complete(ask(setup.choice(server)))
    _files()[0].write_text(content)
    assert not client.complete(ask(setup.choice(server))).from_cache
    assert client.complete(ask(setup.choice(server))).from_cache


def test_size_is_bounded(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("x" * 100_000, pieces=1)))
    policy = CallPolicy(cache=True, cache_megabytes=1)
    client = setup.client(setup.choice(server), policy=policy)
    for sample in range(40):
        client.complete(ask(setup.choice(server), sample=sample))
    # It looks at the sizes every sixteenth time.
    assert sum(file.stat().st_size for file in _files()) < 1_000_000 + 17 * 101_000


def test_no_room_on_disk_is_reported(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("x")))
    client = setup.client(setup.choice(server), policy=CACHED)
    folder = home() / "replies"
    folder.rmdir()
    folder.write_text("a file where the folder should be")
    assert client.complete(ask(setup.choice(server))).text == "x"
    assert any("not kept on disk" in note for note in client.notes)
