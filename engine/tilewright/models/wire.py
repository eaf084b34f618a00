"""Requests and replies as JSON: parameters, streams of events, usage; pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tilewright.models.model import CallRequest

OPTIONAL = ("response_format", "reasoning_effort", "temperature", "stream_options", "stream")
"""Parameters that a request can do without."""
OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens")
"""The two names of the limit on the output, in the order in which they are tried."""
_BYTES_PER_TOKEN_AT_LEAST = 2
_BYTES_PER_TOKEN_USUALLY = 3
_TOKENS_OF_A_MESSAGE = 16


def parameters(
    request: CallRequest, refused: frozenset[str], max_output: int | None = None
) -> dict[str, Any]:
    """The body of a request without the parameters that the endpoint refuses."""
    choice = request.choice
    messages = [{"role": m.role, "content": encodable(m.text)} for m in request.messages]
    body: dict[str, Any] = {
        "model": choice.name,
        "messages": messages,
        "temperature": choice.temperature,
        "reasoning_effort": choice.effort,
        "response_format": _response_format(request.schema),
        "stream": True,
        "stream_options": None if "stream" in refused else {"include_usage": True},
    }
    limit = next((name for name in OUTPUT_LIMITS if name not in refused), None)
    if limit is not None:
        body[limit] = min(choice.max_output_tokens, max_output or choice.max_output_tokens)
    return {name: v for name, v in body.items() if v is not None and name not in refused}


def _response_format(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(schema)}}


def tokens_at_most(request: CallRequest) -> int:
    """More tokens than the prompt of kernels and prose has with the usual vocabularies."""
    return _tokens(request, _BYTES_PER_TOKEN_AT_LEAST)


def tokens_about(request: CallRequest) -> int:
    """An estimate of the prompt's tokens, for an endpoint that reports none."""
    return _tokens(request, _BYTES_PER_TOKEN_USUALLY)


def text_tokens_about(text: str) -> int:
    """An estimate of a text's tokens."""
    return -(-_bytes(text) // _BYTES_PER_TOKEN_USUALLY)


def encodable(text: str) -> str:
    """A text without halves of characters, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _tokens(request: CallRequest, bytes_per_token: int) -> int:
    texts = [message.text for message in request.messages]
    if request.schema is not None:
        texts.append(json.dumps(dict(request.schema)))
    size = sum(map(_bytes, texts))
    return -(-size // bytes_per_token) + _TOKENS_OF_A_MESSAGE * (1 + len(request.messages))


@dataclass(frozen=True)
class Usage:
    """Tokens that an endpoint reports."""

    tokens_in: int
    tokens_cached: int
    tokens_out: int


@dataclass
class Answer:
    """A reply while it arrives."""

    texts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    finish: str = ""
    model: str = ""
    usage: Usage | None = None
    error: Any = None
    complete: bool = False
    characters: int = 0

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def refusal(self) -> str:
        return "".join(self.refusals)

    def add(self, event: Any) -> None:
        """Take in a document, or one event of a stream; what has another shape adds nothing."""
        if not isinstance(event, dict):
            return
        self.error = event.get("error") or self.error
        self.model = _text(event.get("model")) or self.model
        self.usage = usage(event.get("usage")) or self.usage
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, dict):
            return
        self.finish = _text(first.get("finish_reason")) or self.finish
        part = first.get("delta") or first.get("message")
        if isinstance(part, dict):
            text = _content(part.get("content"))
            self.texts.append(text)
            self.characters += len(text)
            self.refusals.append(_text(part.get("refusal")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _content(value: Any) -> str:
    """A text, or the texts of a list of parts as some servers send them."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return _text(value)


def usage(value: Any) -> Usage | None:
    """The tokens of a reply; None unless both counts are there."""
    if not isinstance(value, dict):
        return None
    given, written = _count(value.get("prompt_tokens")), _count(value.get("completion_tokens"))
    if given is None or written is None:
        return None
    details = value.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    if cached is None:
        cached = _count(value.get("cache_read_input_tokens")) or 0
    return Usage(given, min(cached, given), written)


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None


class Events:
    """Server-sent events out of bytes as they arrive."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, data: bytes) -> Iterator[str]:
        """The data of the events that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return self._events(lines)

    def end(self) -> Iterator[str]:
        """The data of an event whose end the server left out."""
        lines, self._rest = [self._rest, b""], b""
        return self._events(lines)

    def _events(self, lines: Iterable[bytes]) -> Iterator[str]:
        for line in lines:
            text = line.rstrip(b"\r").decode("utf-8", "replace")
            if text.startswith("data:"):
                self._data.append(text[5:].removeprefix(" "))
            elif not text and self._data:
                yield "\n".join(self._data)
                self._data.clear()
