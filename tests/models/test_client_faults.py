"""Each fault that an endpoint can show, against a real server on loopback."""

import json
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from scripted_client import GOOD, Setup, ask, wait_until
from scripted_server import (
    Answer,
    Closed,
    Huge,
    Raw,
    Reaction,
    Refused,
    Request,
    by_turn,
)

from tilewright.models.model import (
    Limits,
    ModelUnavailableError,
    ReplyError,
)
from tilewright.models.settings import CallPolicy


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_statuses_that_pass_are_tried_again(setup: Setup, status: int) -> None:
    server = setup.serve(by_turn(Refused(status), Refused(status), GOOD))
    client = setup.client(setup.choice(server))
    assert client.complete(ask(setup.choice(server))).text == GOOD.text
    assert client.spent.calls == 3
    assert client.spent.tokens_out == 10  # a refusal costs no tokens
    first, second = setup.time.pauses
    assert 0.25 <= first <= 0.5
    assert 0.5 <= second <= 1.0


def test_pauses_are_the_same_for_the_same_request(setup: Setup) -> None:
    server = setup.serve(by_turn(Refused(500), GOOD, Refused(500), GOOD))
    client = setup.client(setup.choice(server))
    for _ in range(2):
        client.complete(ask(setup.choice(server)))
    first, second = setup.time.pauses
    assert first == second


@pytest.mark.parametrize("status", [429, 500])
def test_storm_ends_with_an_error(setup: Setup, status: int) -> None:
    server = setup.serve(by_turn(Refused(status, "too much")))
    client = setup.client(setup.choice(server), policy=CallPolicy(retries=5, cache=False))
    with pytest.raises(ModelUnavailableError, match="no reply in 6 attempts; the last: too much"):
        client.complete(ask(setup.choice(server)))
    assert len(server.completions) == client.spent.calls == 6


def test_storm_with_many_calls_in_flight(setup: Setup) -> None:
    def script(request: Request, number: int) -> Reaction:
        return Refused(429) if number < 20 else GOOD

    server = setup.serve(script)
    policy = CallPolicy(retries=30, cache=False)
    client = setup.client(setup.choice(server), policy=policy, concurrency=8)
    texts: list[str] = []
    threads = [
        threading.Thread(
            target=lambda n=n: texts.append(
                client.complete(ask(setup.choice(server), sample=n)).text
            )
        )
        for n in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert texts == [GOOD.text] * 16
    assert len(server.completions) == client.spent.calls == 36
    assert server.most_at_once <= 8


def test_retry_after_in_seconds(setup: Setup) -> None:
    server = setup.serve(by_turn(Refused(429, headers={"Retry-After": "17"}), GOOD))
    setup.client(setup.choice(server)).complete(ask(setup.choice(server)))
    assert setup.time.pauses == [17.0]


def test_retry_after_as_a_date(setup: Setup) -> None:
    now = datetime.now(UTC) - timedelta(hours=3)  # the server's clock is wrong: only its own counts
    headers = {
        "Date": format_datetime(now, usegmt=True),
        "Retry-After": format_datetime(now + timedelta(seconds=40), usegmt=True),
    }

    class Dated(Refused):
        def send(self, call: object, request: Request) -> None:
            call.date_time_string = lambda *_: headers["Date"]  # type: ignore[attr-defined]
            super().send(call, request)  # type: ignore[arg-type]

    wait = {"Retry-After": headers["Retry-After"]}
    server = setup.serve(by_turn(Dated(503, headers=wait), GOOD))
    setup.client(setup.choice(server)).complete(ask(setup.choice(server)))
    assert setup.time.pauses == [40.0]


def test_retry_after_of_an_hour_is_not_waited_for(setup: Setup) -> None:
    server = setup.serve(by_turn(Refused(429, "later", headers={"Retry-After": "3600"})))
    client = setup.client(setup.choice(server))
    with pytest.raises(ModelUnavailableError, match="asks to wait 3600 s"):
        client.complete(ask(setup.choice(server)))
    assert setup.time.pauses == []


def test_wish_to_wait_holds_for_other_calls_to_the_endpoint(setup: Setup) -> None:
    server = setup.serve(by_turn(Refused(429, headers={"Retry-After": "20"}), GOOD))
    client = setup.client(setup.choice(server), policy=CallPolicy(retries=0, cache=False))
    with pytest.raises(ModelUnavailableError):
        client.complete(ask(setup.choice(server)))
    assert setup.time.pauses == []
    client.complete(ask(setup.choice(server), "another"))
    assert setup.time.pauses == [20.0]


def test_spent_account_is_not_tried_again(setup: Setup) -> None:
    server = setup.serve(by_turn(Refused(429, "no credit left", code="insufficient_quota")))
    with pytest.raises(ModelUnavailableError, match="no credit left"):
        setup.client(setup.choice(server)).complete(ask(setup.choice(server)))
    assert len(server.completions) == 1


@pytest.mark.parametrize("when", ["before headers", "after headers", "half body"])
def test_closed_connection_is_tried_again(setup: Setup, when: str) -> None:
    server = setup.serve(by_turn(Closed(when), GOOD))
    client = setup.client(setup.choice(server))
    assert client.complete(ask(setup.choice(server))).text == GOOD.text
    assert client.spent.calls == 2
    # The endpoint may charge for the prompt of the first attempt: it is estimated.
    assert client.spent.tokens_in > 100


def test_stream_that_ends_without_its_end(setup: Setup) -> None:
    event = json.dumps({"choices": [{"index": 0, "delta": {"content": "half"}}]})
    cut = Raw(f"data: {event}\n\n".encode(), "text/event-stream")
    server = setup.serve(by_turn(cut, GOOD))
    client = setup.client(setup.choice(server))
    assert client.complete(ask(setup.choice(server))).text == GOOD.text
    assert len(server.completions) == 2


@pytest.mark.parametrize("status", [200, 400])
def test_body_of_50_megabytes_is_cut_off(setup: Setup, status: int) -> None:
    server = setup.serve(by_turn(Huge(50_000_000, status)))
    choice = setup.choice(server, max_output_tokens=2000)
    client = setup.client(choice)
    with pytest.raises(ReplyError, match="sent more than"):
        client.complete(ask(choice))
    assert len(server.completions) == 1
    assert server.sent_bytes < 20_000_000


def test_compressed_reply_is_refused(setup: Setup) -> None:
    server = setup.serve(by_turn(Raw(b"\x1f\x8b", headers={"Content-Encoding": "gzip"})))
    with pytest.raises(ReplyError, match="compresses"):
        setup.client(setup.choice(server)).complete(ask(setup.choice(server)))


def test_no_usage_is_estimated_and_said(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("x" * 300, usage=False)))
    client = setup.client(setup.choice(server))
    reply = client.complete(ask(setup.choice(server), "y" * 3000))
    assert reply.estimated
    assert 1000 <= reply.tokens_in <= 1100
    assert reply.tokens_out == 100
    assert client.spent.tokens_out == 100
    assert any("estimated" in note for note in client.notes)


def test_cut_reply_says_so(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("half", finish="length")))
    reply = setup.client(setup.choice(server)).complete(ask(setup.choice(server)))
    assert (reply.text, reply.finish) == ("half", "length")


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(None), "empty"),
        (Answer("  \n"), "empty"),
        (Answer(None, finish="length"), "after its limit of output tokens"),
        (Answer(None, refusal="I cannot help with that."), "refuses to answer: I cannot help"),
        (Answer("x", finish="content_filter"), "content_filter"),
    ],
)
def test_reply_of_no_use(setup: Setup, answer: Answer, message: str, streams: bool) -> None:
    server = setup.serve(by_turn(Answer(**{**vars(answer), "stream": streams})))
    client = setup.client(setup.choice(server))
    with pytest.raises(ReplyError, match=message):
        client.complete(ask(setup.choice(server)))
    assert client.spent.tokens_in > 0  # it was paid for
    assert len(server.completions) == 1


@pytest.mark.parametrize(
    "body", [b"<html>not an API</html>", b"", b"[1, 2]", b'{"choices": "none"}', b"\xff\xfe"]
)
def test_body_that_is_no_reply(setup: Setup, body: bytes) -> None:
    server = setup.serve(by_turn(Raw(body)))
    with pytest.raises(ReplyError):
        setup.client(setup.choice(server)).complete(ask(setup.choice(server)))


def test_silence_before_the_first_byte(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("late", delay_s=20), GOOD))
    policy = CallPolicy(first_byte_seconds=0.3, cache=False)
    client = setup.client(setup.choice(server), policy=policy)
    assert client.complete(ask(setup.choice(server))).text == GOOD.text
    assert len(server.completions) == 2


def test_call_that_takes_too_long_altogether(setup: Setup) -> None:
    drip = Answer("x" * 400, pieces=400, between_s=0.05)
    server = setup.serve(by_turn(drip))
    policy = CallPolicy(call_seconds=0.5, cache=False)
    client = setup.client(setup.choice(server), policy=policy, real_time=True)
    with pytest.raises(ModelUnavailableError, match=r"gave no reply in 0\.5 s"):
        client.complete(ask(setup.choice(server)))
    assert client.spent.tokens_in > 0
    wait_until(lambda: bool(server.hung_up))


def test_limit_in_minutes_ends_a_call_under_way(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("late", delay_s=20)))
    limits = Limits(minutes=0.01)
    client = setup.client(setup.choice(server), limits=limits, real_time=True)
    with pytest.raises(Exception, match="minutes"):
        client.complete(ask(setup.choice(server)))
    wait_until(lambda: bool(server.hung_up))
