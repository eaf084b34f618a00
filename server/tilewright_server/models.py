"""The language models that an optimization may use: which, where, with which key, by whose consent.

The keys are taken out of the server's environment when it starts, so that of all its children only
an optimization with models receives one.
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException

from tilewright.models.model import Role
from tilewright.models.prices import is_local
from tilewright.models.settings import LOCAL, NONE, OPENAI
from tilewright.models.settings import ModelSettings as ProjectSettings
from tilewright.models.variables import BASE_URL as ENDPOINT
from tilewright.models.variables import KEY, STORED_KEYS
from tilewright_server.settings import Asking, ModelSettings
from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

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
    places = tuple((name, _place(name, project, endpoint)) for name in _asked(settings, project))
    return ModelUse(settings, endpoint, places, limits_words(settings, project))


def _asked(settings: ModelSettings, project: ProjectSettings) -> Iterator[str]:
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


async def model_use(server: "TilewrightServer", snapshot: Snapshot | None) -> ModelUse | None:
    """The models that an optimization of a document would ask, by the settings of this moment."""
    settings = server.settings.models
    if not settings.names:
        return None
    project = ProjectSettings()
    if snapshot is not None and snapshot.path is not None:
        project = await server.in_pool(_project_settings, Path(snapshot.path))
    return configured(settings, project, os.environ)


def _project_settings(path: Path) -> ProjectSettings:
    """A project's settings of models, as they are on disk; the engine refuses a faulty file."""
    from tilewright.checking import ConfigurationError, configuration_for

    try:
        return configuration_for(path).models
    except ConfigurationError:
        return ProjectSettings()


async def choose(server: "TilewrightServer", snapshot: Snapshot) -> tuple[Choice, ModelUse | None]:
    """What an optimization of a document may use; asks before the first call that may cost money.

    A consent holds for the workspace, until the settings change or the server ends.
    """
    use = await model_use(server, snapshot)
    if use is None:
        return Choice.REWRITES, None
    workspace = workspace_of(server, snapshot)
    if not use.asks or server.consents.has(workspace, use):
        return Choice.USE, use
    choice = await _ask(server, snapshot, use)
    if choice is Choice.USE:
        server.consents.give(workspace, use)
        return choice, use
    return choice, None


def workspace_of(server: "TilewrightServer", snapshot: Snapshot) -> str:
    """The innermost workspace folder that holds a document, else the document's folder."""
    folders = [folder.uri for folder in server.workspace.folders.values()]
    around = [uri for uri in folders if snapshot.uri.startswith(f"{uri.rstrip('/')}/")]
    return max(around, key=len, default=str(uris.from_fs_path(str(_folder(snapshot)))))


def _folder(snapshot: Snapshot) -> Path:
    return Path(snapshot.path or ".").parent


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


async def _ask(server: "TilewrightServer", snapshot: Snapshot, use: ModelUse) -> Choice:
    """The user's choice; no answer is no consent."""
    asked, detail = question(Path(snapshot.path or "").name, use)
    try:
        if server.settings.model_dialog:
            title = await _by_dialog(server, asked, detail)
        elif server.client.message_request:
            title = await _by_message(server, asked, detail)
        else:
            server.warn(
                "Tilewright: no model was asked, as this editor cannot show the question whether "
                "one may be; `tilewright optimize --model` in a terminal uses models"
            )
            return Choice.REWRITES
    except JsonRpcException as error:
        server.warn(f"Tilewright: no model was asked: the question was not answered ({error})")
        return Choice.REWRITES
    return Choice(title) if title in list(Choice) else Choice.CANCEL


async def _by_dialog(server: "TilewrightServer", asked: str, detail: str) -> str | None:
    params = {"message": asked, "detail": detail, "actions": [str(choice) for choice in Choice]}
    answer = await server.protocol.send_request_async(CONSENT, params)
    return getattr(answer, "action", None)


async def _by_message(server: "TilewrightServer", asked: str, detail: str) -> str | None:
    answer = await server.window_show_message_request_async(
        types.ShowMessageRequestParams(
            type=types.MessageType.Warning,
            message=f"{asked}\n{detail}",
            actions=[types.MessageActionItem(choice) for choice in Choice],
        )
    )
    return answer.title if answer is not None else None
