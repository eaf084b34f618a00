"""What an endpoint's refusal means: wait, leave a parameter out, a prompt too long; pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from tilewright.models.model import ModelError
from tilewright.models.wire import OPTIONAL, OUTPUT_LIMITS

_WAITS = frozenset({408, 409, 425, 429, *range(500, 600)}) - {501, 505}
_MAY_BE_LENGTH = frozenset({0, 400, 413, 422, 500})
_MAY_BE_PARAMETER = frozenset({0, 400, 404, 422, 500, 501})
_SPENT = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance")
_LENGTH = re.compile(
    r"context[_ -]?(length|window|size|limit)|maximum (context|sequence|prompt) length"
    r"|(prompt|input|request)( is|s)? too long|too many (input )?tokens"
    r"|reduce the length of|exceeds? the (maximum )?(number of )?tokens|tokens.* must be <=",
    re.IGNORECASE,
)
_WORDS = {
    "response_format": ("response_format", "json_schema", "structured output", "grammar"),
    "reasoning_effort": ("reasoning_effort", "reasoning effort"),
    "temperature": ("temperature",),
    "stream_options": ("stream_options", "include_usage"),
    "stream": ("'stream'", '"stream"', "`stream`", "streaming"),
}
_CONTEXT = re.compile(r"context (?:length|window|size)\D{0,20}(\d+)", re.IGNORECASE)
_PROMPT = re.compile(
    r"(\d+) (?:input tokens|in the messages|in the input|tokens? in the (?:prompt|messages))",
    re.IGNORECASE,
)
_SHORTEST_OUTPUT = 256
_LONGEST = 300


@dataclass(frozen=True)
class Fault:
    """A refusal.

    Attributes:
        status: of HTTP; 0 for an error inside a stream.
        text: the endpoint's message and code, the key removed.
        wait: seconds that the endpoint asks for before the next attempt.
    """

    status: int
    text: str
    code: str = ""
    param: str = ""
    wait: float | None = None

    @property
    def passes(self) -> bool:
        """Whether a later attempt may do."""
        if self.code in _SPENT:
            return False
        return self.status in _WAITS or (self.status == 0 and not self.is_length)

    @property
    def is_length(self) -> bool:
        """Whether the prompt is longer than the model can read."""
        if self.status not in _MAY_BE_LENGTH:
            return False
        return self.code == "context_length_exceeded" or bool(_LENGTH.search(self.text))

    @property
    def room(self) -> int | None:
        """Tokens that are left for the output, if the prompt alone fits and the message says so."""
        context, prompt = _CONTEXT.search(self.text), _PROMPT.search(self.text)
        if not self.is_length or context is None or prompt is None:
            return None
        left = int(context[1]) - int(prompt[1])
        return left if left >= _SHORTEST_OUTPUT else None

    def parameter(self, body: Mapping[str, Any]) -> str | None:
        """The parameter of a request that the endpoint refuses and that can be left out."""
        if self.status not in _MAY_BE_PARAMETER or self.is_length:
            return None
        by_name = [name for name in body if self.param.split(".")[0] == name]
        text = self.text.lower()
        by_word = [n for n in OPTIONAL if n in body and any(w in text for w in _WORDS[n])]
        limits = [n for n in OUTPUT_LIMITS if n in body and n in text]
        droppable = {*OPTIONAL, *OUTPUT_LIMITS}
        return next((n for n in (*by_name, *by_word, *limits) if n in droppable), None)


class PassingError(ModelError):
    """An attempt that failed for a while; ``charged`` says whether it may have cost something."""

    def __init__(self, message: str, *, charged: bool, wait: float | None = None) -> None:
        super().__init__(message)
        self.charged = charged
        self.wait = wait


class FaultError(ModelError):
    """The endpoint refused a request."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.text)
        self.fault = fault


def fault(status: int, body: Any, wait: float | None = None) -> Fault:
    """The refusal that a body states in one of the usual shapes."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return Fault(status, shown(error), wait=wait)
    message = error.get("message") or error.get("detail") or error.get("msg") or error
    code = error.get("code") or error.get("type")
    param = error.get("param")
    return Fault(
        status,
        shown(message),
        code if isinstance(code, str) else "",
        param if isinstance(param, str) else "",
        wait,
    )


def shown(value: Any) -> str:
    """A value from outside as one short line."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds of ``Retry-After``, which has a number or a date; None without one."""
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        until = _date(value)
    if until is None:
        return None
    # Both dates are the server's, if it sends both: its clock may differ from ours.
    return max(0.0, (until - (_date(headers.get("date", "")) or now)).total_seconds())


def _date(value: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(value)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
