"""The language models that an optimization may use: which, where, with which key, by whose consent.

The keys are taken out of the server's environment when it starts, so that of all its children only
an optimization with models receives one.
"""

import json
import logging
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.models.model import Role
from tilewright.models.prices import is_local
from tilewright.models.settings import LOCAL, NONE, OPENAI
from tilewright.models.settings import ModelSettings as ProjectSettings
from tilewright.models.variables import BASE_URL as ENDPOINT
from tilewright.models.variables import KEY, STORED_KEYS
from tilewright_server.settings import Asking, ModelSettings

logger = logging.getLogger(__name__)

CONSENT = "tilewright/modelConsent"
LOCAL_SERVER = "http://localhost"
"""Stands for the server on this machine that the engine looks for."""


class Choice(StrEnum):
    """The answers to the question; the values are the buttons."""

    USE = "Use models"
    REWRITES = "Rewrites only"
    CANCEL = "Cancel"


@dataclass(frozen=True)
class ModelUse:
    """What an optimization may send where, and what it may spend.

    Attributes:
        endpoint: of the models for which the project names no other.
        places: each model with its endpoint, those of the project's ``[tool.tilewright.models]``
            included.
        limits: in words.
    """

    settings: ModelSettings
    endpoint: str
    places: tuple[tuple[str, str], ...]
    limits: str

    @property
    def asks(self) -> bool:
        """Whether the user is asked before the first call."""
        always = self.settings.ask is Asking.ALWAYS
        return always or not all(is_local(endpoint) for _, endpoint in self.places)

    def options(self) -> Iterator[str]:
        """The options of the engine's command line."""
        one = self.settings
        yield f"--model={','.join(one.names)}"
        limits = {
            "max-dollars": one.max_dollars,
            "max-calls": one.max_calls,
            "max-minutes": one.max_minutes,
            "tries": one.tries,
        }
        yield from (f"--{name}={value}" for name, value in limits.items() if value is not None)


class ModelKeys:
    """Keys by endpoint, in memory alone."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        """Take the keys out of ``environment``: children that inherit it must not have them.

        The key of the environment belongs to the endpoint of the environment.
        """
        own = plain_endpoint(environment.get(ENDPOINT) or OPENAI)
        self._environment = {own: environment.pop(KEY, "")}
        self._editor = _stored(environment.pop(STORED_KEYS, ""))

    def environment(self, endpoint: str) -> dict[str, str]:
        """The variables of a child that calls ``endpoint``; each key is for its own alone."""
        key = self._editor.get(endpoint) or self._environment.get(endpoint)
        return {ENDPOINT: endpoint, **({KEY: key} if key else {})}

    def origin(self, endpoint: str) -> str:
        """Where the key for an endpoint comes from; empty if neither place has one."""
        if self._editor.get(endpoint):
            return "editor"
        return "environment" if self._environment.get(endpoint) else ""


def _stored(text: str) -> dict[str, str]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        found = None
    if isinstance(found, dict) and all(isinstance(key, str) for key in found.values()):
        return {plain_endpoint(place): key for place, key in found.items()}
    logger.warning("%s is not a JSON object of keys by endpoint; it is ignored", STORED_KEYS)
    return {}


@dataclass
class Consents:
    """What the user allowed since the server started, for each workspace."""

    _given: set[tuple[str, ModelUse]] = field(default_factory=set)

    def has(self, workspace: str, use: ModelUse) -> bool:
        return (workspace, use) in self._given

    def give(self, workspace: str, use: ModelUse) -> None:
        self._given.add((workspace, use))


def configured(
    settings: ModelSettings, project: ProjectSettings, environment: Mapping[str, str]
) -> ModelUse | None:
    """The models that a run would ask, and where; None where the settings name no model."""
    if settings.names in ((), (NONE,)):
        return None
    endpoint = plain_endpoint(settings.base_url or environment.get(ENDPOINT) or OPENAI)
    places = tuple(
        (name, _place(name, project, endpoint)) for name in _named_models(settings, project)
    )
    return ModelUse(settings, endpoint, places, limits_words(settings, project))


def _named_models(settings: ModelSettings, project: ProjectSettings) -> Iterator[str]:
    """The models of all roles: a project may name others for some of them."""
    roles = [project.roles.get(role.value) for role in Role]
    named = [role.models if role and role.models else settings.names for role in roles]
    yield from dict.fromkeys(name for names in named for name in names)


def _place(name: str, project: ProjectSettings, endpoint: str) -> str:
    if name == LOCAL:
        return LOCAL_SERVER
    named = project.named.get(name)
    return plain_endpoint(named.base_url) if named and named.base_url else endpoint


def limits_words(settings: ModelSettings, project: ProjectSettings) -> str:
    """``$5, 40 calls``: of the settings, else of the project."""
    own = project.limits
    dollars = settings.max_dollars or own.dollars
    minutes = settings.max_minutes or own.minutes
    calls = settings.max_calls or own.calls
    parts = [
        f"${dollars:g}" if dollars else "",
        f"{calls} calls" if calls else "",
        f"{own.tokens} tokens" if own.tokens else "",
        f"{minutes:g} minutes" if minutes else "",
    ]
    return ", ".join(part for part in parts if part) or "none is set"


def plain_endpoint(url: str) -> str:
    """An endpoint in the one form by which keys and consents are compared."""
    return url.strip().rstrip("/")


def question(name: str, use: ModelUse) -> tuple[str, str]:
    """The question to the user and what it means, for a file of this name."""
    names = ", ".join(model for model, _ in use.places)
    endpoints = dict.fromkeys(endpoint for _, endpoint in use.places)
    several = "; ".join(f"{model} at {endpoint}" for model, endpoint in use.places)
    where = f"Endpoint: {use.places[0][1]}" if len(endpoints) == 1 else f"Endpoints: {several}"
    asked = f"Optimize {name} with {names}?"
    detail = (
        f"{where}\n"
        f"Limits for each optimization: {use.limits}\n"
        f"Sent: the text of {name}, its spec, and compile, profile and verification reports."
    )
    return asked, detail
