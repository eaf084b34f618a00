"""What a client sends and reads, and how it adapts to what an endpoint takes."""

import json

import pytest
from scripted_client import GOOD, KEY, Setup, ask
from scripted_server import (
    Answer,
    Raw,
    Reaction,
    Refused,
    Request,
    by_turn,
)

from tilewright.models.model import (
    ContextLengthError,
    ModelUnavailableError,
)
from tilewright.models.settings import CallPolicy


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
