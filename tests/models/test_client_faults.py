"""Each fault that an endpoint can show, against a real server on loopback."""

import json
import logging
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from scripted_client import KEY, Setup, ask
from scripted_server import (
    Answer,
    Closed,
    Huge,
    Raw,
    Reaction,
    Redirected,
    Refused,
    Request,
    by_turn,
)

from tilewright.errors import Stopped
from tilewright.models.client import Client
from tilewright.models.model import (
    ContextLengthError,
    Limits,
    ModelChoice,
    ModelUnavailableError,
    ReplyError,
)
from tilewright.models.settings import CallPolicy

GOOD = Answer("def kernel(): ...", prompt_tokens=100, completion_tokens=10)


def test_reply_with_usage_of_the_endpoint(setup: Setup) -> None:
    answer = Answer("code", prompt_tokens=100, completion_tokens=10, cached_tokens=64, model="m-1")
    server = setup.serve(by_turn(answer))
    client = setup.client(setup.choice(server))
    reply = client.complete(ask(setup.choice(server)))
    assert (reply.text, reply.finish, reply.model) == ("code", "stop", "m-1")
    assert (reply.tokens_in, reply.tokens_cached, reply.tokens_out) == (100, 64, 10)
    assert reply.dollars == 0.0  # on this machine
    assert not reply.estimated
    assert not reply.from_cache
    spent = client.spent
    assert (spent.calls, spent.tokens_in, spent.tokens_cached, spent.tokens_out) == (1, 100, 64, 10)


def test_what_is_sent(setup: Setup) -> None:
    server = setup.serve(by_turn(GOOD))
    choice = setup.choice(server, temperature=0.5, effort="low", max_output_tokens=77)
    setup.client(choice).complete(ask(choice, "the text", schema={"type": "object"}))
    (request,) = server.completions
    assert [m["content"] for m in request.messages] == ["You improve kernels.", "the text"]
    assert request.body["temperature"] == 0.5
    assert request.body["reasoning_effort"] == "low"
    assert request.body["max_tokens"] == 77
    assert request.body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    machine = [n for n in request.headers if n.startswith("x-stainless")]
    assert machine == ["x-stainless-raw-response"]  # nothing of the system or its Python


def test_no_system_header_of_the_environment_goes_to_another_endpoint(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = setup.serve(by_turn(GOOD))
    setup.serve(by_turn(GOOD))  # the endpoint of the environment
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-user")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-token: abcdef")
    setup.client(setup.choice(other)).complete(ask(setup.choice(other)))
    (request,) = other.completions
    assert not {"authorization", "openai-organization", "x-token"} & set(request.headers)
    assert KEY not in json.dumps(dict(request.headers))


@pytest.mark.parametrize("pieces", [1, 7])
def test_text_with_line_separators_in_a_stream(setup: Setup, pieces: int) -> None:
    text = 'a = "\u2028\x85"\r\nb = 1\n\n\ndata: [DONE]\n'
    server = setup.serve(by_turn(Answer(text, pieces=pieces)))
    client = setup.client(setup.choice(server))
    arrived: list[int] = []
    assert client.complete(ask(setup.choice(server)), arrived.append).text == text
    assert arrived[-1] == len(text)


def test_halves_of_characters(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("a\ud800b")))
    reply = setup.client(setup.choice(server)).complete(ask(setup.choice(server), "c\udc00d"))
    assert reply.text == "a?b"
    assert server.completions[0].prompt.endswith("c?d")


def test_proxy_of_the_environment_is_not_asked_for_this_machine(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = setup.serve(by_turn(GOOD))
    client = setup.client(setup.choice(server), policy=CallPolicy(retries=0, cache=False))
    assert client.complete(ask(setup.choice(server))).text == GOOD.text


def test_server_that_does_not_stream(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("whole", stream=False)))
    assert setup.client(setup.choice(server)).complete(ask(setup.choice(server))).text == "whole"


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
        thread.join(60)
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


@pytest.mark.parametrize(
    "refusal",
    [
        Refused(400, "This model's maximum context length is 8192 tokens, you sent 9000.", None),
        Refused(400, "too long", code="context_length_exceeded"),
        Refused(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        Refused(413, {"error": "the request exceeds the available context size"}),
        Refused(422, {"error": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"}),
        Refused(500, {"object": "error", "message": "input exceeds the context window", "code": 5}),
        Raw(b'data: {"error": {"message": "context length exceeded"}}\n\n', "text/event-stream"),
    ],
)
def test_prompt_too_long(setup: Setup, refusal: Reaction) -> None:
    server = setup.serve(by_turn(refusal))
    with pytest.raises(ContextLengthError, match="too long for scripted"):
        setup.client(setup.choice(server)).complete(ask(setup.choice(server)))
    assert len(server.completions) == 1


def test_output_limit_above_the_room_that_is_left(setup: Setup) -> None:
    refusal = Refused(
        400,
        "'max_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and "
        "your request has 1000 input tokens",
    )
    server = setup.serve(by_turn(refusal, GOOD))
    client = setup.client(setup.choice(server))
    assert client.complete(ask(setup.choice(server))).text == GOOD.text
    assert [r.body["max_tokens"] for r in server.completions] == [8192, 3096]
    assert any("3096" in note for note in client.notes)


def _refuses(*names: str) -> object:
    """A server that knows none of the parameters, and names one at a time."""

    def script(request: Request, number: int) -> Reaction:
        wrong = next((name for name in names if name in request.body), None)
        if wrong is None:
            return GOOD
        if number % 2:
            return Refused(400, f"Unrecognized request argument supplied: {wrong}")
        return Refused(422, {"detail": [{"loc": ["body", wrong], "msg": "extra"}]})

    return script


@pytest.mark.parametrize(
    "names",
    [
        ("response_format",),
        ("reasoning_effort",),
        ("temperature",),
        ("stream_options",),
        ("max_tokens",),
        ("stream_options", "temperature", "reasoning_effort", "response_format", "max_tokens"),
    ],
)
def test_parameters_that_the_endpoint_refuses_are_left_out(
    setup: Setup, names: tuple[str, ...]
) -> None:
    server = setup.serve(_refuses(*names))  # type: ignore[arg-type]
    choice = setup.choice(server, temperature=0.2, effort="low")
    client = setup.client(choice)
    for sample in range(2):
        request = ask(choice, sample=sample, schema={"type": "object"})
        assert client.complete(request).text == GOOD.text
    assert len(server.completions) == len(names) + 2  # remembered for the second call
    reported = [n for n in names if any(n in note for note in client.notes)]
    # The other name of the limit on the output does the same: nothing is lost.
    assert reported == [n for n in names if n != "max_tokens"]
    assert ("max_completion_tokens" in server.completions[-1].body) == ("max_tokens" in names)


def test_streaming_that_the_endpoint_refuses(setup: Setup) -> None:
    def script(request: Request, number: int) -> Reaction:
        return Refused(400, "streaming is not supported") if request.streams else GOOD

    server = setup.serve(script)
    client = setup.client(setup.choice(server))
    assert client.complete(ask(setup.choice(server))).text == GOOD.text
    assert "stream" not in server.completions[-1].body


def test_unknown_model(setup: Setup) -> None:
    server = setup.serve(by_turn(Refused(404, "The model `scripted` does not exist")))
    with pytest.raises(ModelUnavailableError, match="status 404: The model `scripted` does not"):
        setup.client(setup.choice(server)).complete(ask(setup.choice(server)))
    assert len(server.completions) == 1


def test_silence_before_the_first_byte(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("late", delay_s=20), GOOD))
    policy = CallPolicy(first_byte_seconds=0.3, cache=False)
    client = setup.client(setup.choice(server), policy=policy)
    begun = time.monotonic()
    assert client.complete(ask(setup.choice(server))).text == GOOD.text
    assert time.monotonic() - begun < 15
    assert len(server.completions) == 2


def test_call_that_takes_too_long_altogether(setup: Setup) -> None:
    drip = Answer("x" * 400, pieces=400, between_s=0.05)
    server = setup.serve(by_turn(drip))
    policy = CallPolicy(call_seconds=0.5, cache=False)
    client = setup.client(setup.choice(server), policy=policy, real_time=True)
    with pytest.raises(ModelUnavailableError, match=r"gave no reply in 0\.5 s"):
        client.complete(ask(setup.choice(server)))
    assert client.spent.tokens_in > 0
    _wait_until(lambda: bool(server.hung_up))


def test_limit_in_minutes_ends_a_call_under_way(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("late", delay_s=20)))
    limits = Limits(minutes=0.01)
    client = setup.client(setup.choice(server), limits=limits, real_time=True)
    with pytest.raises(Exception, match="minutes"):
        client.complete(ask(setup.choice(server)))
    _wait_until(lambda: bool(server.hung_up))


def test_redirect_is_not_followed(setup: Setup) -> None:
    elsewhere = setup.serve(by_turn(GOOD))
    server = setup.serve(by_turn(Redirected(elsewhere.base_url + "/chat/completions")))
    with pytest.raises(ModelUnavailableError, match=r"redirects to 127\.0\.0\.1, which is not"):
        setup.client(setup.choice(server)).complete(ask(setup.choice(server)))
    assert elsewhere.requests == []


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


def test_cancellation_closes_the_request_in_flight(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("late", delay_s=60)))
    client = setup.client(setup.choice(server), real_time=True)
    raised: list[BaseException] = []

    def call() -> None:
        try:
            client.complete(ask(setup.choice(server)))
        except Stopped as stopped:
            raised.append(stopped)

    thread = threading.Thread(target=call)
    thread.start()
    _wait_until(lambda: bool(server.completions))
    cancelled = time.monotonic()
    client.cancel()
    thread.join(10)
    assert len(raised) == 1
    _wait_until(lambda: bool(server.hung_up))
    assert server.hung_up[0] - cancelled < 1.0
    with pytest.raises(Stopped):
        client.complete(ask(setup.choice(server)))
    assert len(server.completions) == 1


def test_cancellation_at_any_moment_ends_every_call(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("late", delay_s=60)))
    for moment in range(12):
        client = setup.client(setup.choice(server), concurrency=3, real_time=True)
        begun, ended = threading.Barrier(7), threading.Semaphore(0)

        def call(
            n: int,
            client: Client = client,
            begun: threading.Barrier = begun,
            ended: threading.Semaphore = ended,
        ) -> None:
            begun.wait(10)
            try:
                client.complete(ask(setup.choice(server), sample=n))
            except Stopped:
                ended.release()

        for n in range(6):
            threading.Thread(target=call, args=(n,), daemon=True).start()
        begun.wait(10)
        time.sleep(moment * 0.002)
        client.cancel()
        assert all(ended.acquire(timeout=20) for _ in range(6)), moment


def test_cancellation_ends_calls_that_wait_for_their_turn(setup: Setup) -> None:
    server = setup.serve(by_turn(Answer("late", delay_s=60)))
    client = setup.client(setup.choice(server), concurrency=1, real_time=True)
    ended = threading.Semaphore(0)

    def call(n: int) -> None:
        try:
            client.complete(ask(setup.choice(server), sample=n))
        except Stopped:
            ended.release()

    for n in range(4):
        threading.Thread(target=call, args=(n,), daemon=True).start()
    _wait_until(lambda: bool(server.completions))
    client.cancel()
    assert all(ended.acquire(timeout=10) for _ in range(4))
    assert len(server.completions) == 1


def _wait_until(condition: object, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)
