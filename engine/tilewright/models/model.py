"""A request to a language model, its reply, the limits of a run and what can go wrong."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tilewright.errors import TilewrightError


class Role(StrEnum):
    """What a model is asked to do."""

    ANALYZER = "analyzer"
    PLANNER = "planner"
    OPTIMIZER = "optimizer"
    EXTRACTOR = "extractor"
    SUMMARIZER = "summarizer"
    REVIEWER = "reviewer"


@dataclass(frozen=True)
class Message:
    """One message of a conversation; ``role`` is "system", "user" or "assistant"."""

    role: str
    text: str


@dataclass(frozen=True)
class ModelChoice:
    """A model at an endpoint and how it is asked.

    Attributes:
        temperature, effort: None leaves the value to the endpoint.
        max_output_tokens: the most that a reply may be long; a reply that reaches it is cut.
        weight: the share of calls that it gets, relative to the other models of its role.
    """

    name: str
    base_url: str
    temperature: float | None = None
    effort: str | None = None
    max_output_tokens: int = 8192
    weight: float = 1.0


@dataclass(frozen=True)
class CallRequest:
    """One call: who is asked, and what.

    Attributes:
        sample: distinguishes calls that are otherwise equal, as best-of-k makes them.
        schema: the JSON Schema that the reply shall follow, if the endpoint can enforce one.
    """

    role: Role
    choice: ModelChoice
    messages: tuple[Message, ...]
    sample: int = 0
    schema: Mapping[str, Any] | None = None

    def key(self) -> str:
        """The SHA-256 of everything that decides about the reply, except for the endpoint."""
        said = {
            "model": self.choice.name,
            "temperature": self.choice.temperature,
            "effort": self.choice.effort,
            "max_output_tokens": self.choice.max_output_tokens,
            "messages": [[message.role, message.text] for message in self.messages],
            "sample": self.sample,
            "schema": self.schema,
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Reply:
    """What a model answered, and what the call cost.

    Attributes:
        finish: the endpoint's reason for the end: "stop", "length" (cut) or its own word.
        model: the name that the endpoint gives for the model that answered.
        tokens_in: tokens of the prompt; ``tokens_cached`` of them came from the endpoint's cache.
        dollars: None if there is no price for the model.
        from_cache: the reply was on disk; nothing was sent and nothing was paid.
        estimated: the endpoint reported no usage, so that the tokens are an estimate.
    """

    text: str
    finish: str
    model: str
    tokens_in: int
    tokens_cached: int
    tokens_out: int
    dollars: float | None
    seconds: float
    from_cache: bool = False
    estimated: bool = False


@dataclass(frozen=True)
class Limits:
    """What a run may spend; None is no limit. The search counts the evaluations."""

    evaluations: int | None = None
    calls: int | None = None
    tokens: int | None = None
    dollars: float | None = None
    minutes: float | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True)
class Spent:
    """What a run has spent on models.

    Attributes:
        calls: requests that were sent, retries included.
        calls_cached: replies that came from disk.
        dollars: None if a model that answered has no price.
        seconds: the sum of the calls' durations.
    """

    calls: int = 0
    calls_cached: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0


class ModelError(TilewrightError):
    """A call that gave no reply. The message never contains the key."""


class ContextLengthError(ModelError):
    """The prompt is longer than the model can read."""


class BudgetSpentError(ModelError):
    """A call would exceed a limit; ``limit`` is the name of a field of ``Limits``."""

    def __init__(self, message: str, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


class ModelUnavailableError(ModelError):
    """The endpoint does not answer, refuses the key, or has no such model."""


class KeyRefusedError(ModelUnavailableError):
    """The endpoint refuses the key, or demands one where none was sent."""


class ReplyError(ModelError):
    """The endpoint answered with something of no use: empty, refused or too large."""
