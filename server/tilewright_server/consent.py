"""Which models an optimization of a document may use; the user is asked before the first call."""

import os
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException

from tilewright.models.settings import ModelSettings as ProjectSettings
from tilewright_server.context import ServerContext
from tilewright_server.models import CONSENT, Choice, ModelUse, configured, question
from tilewright_server.snapshot import Snapshot


async def model_use(server: ServerContext, snapshot: Snapshot | None) -> ModelUse | None:
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


async def choose(server: ServerContext, snapshot: Snapshot) -> tuple[Choice, ModelUse | None]:
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


def workspace_of(server: ServerContext, snapshot: Snapshot) -> str:
    """The innermost workspace folder that holds a document, else the document's folder."""
    folders = [folder.uri for folder in server.workspace.folders.values()]
    around = [uri for uri in folders if snapshot.uri.startswith(f"{uri.rstrip('/')}/")]
    return max(around, key=len, default=str(uris.from_fs_path(str(_folder(snapshot)))))


def _folder(snapshot: Snapshot) -> Path:
    return Path(snapshot.path or ".").parent


async def _ask(server: ServerContext, snapshot: Snapshot, use: ModelUse) -> Choice:
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


async def _by_dialog(server: ServerContext, asked: str, detail: str) -> str | None:
    params = {"message": asked, "detail": detail, "actions": [str(choice) for choice in Choice]}
    answer = await server.protocol.send_request_async(CONSENT, params)
    return getattr(answer, "action", None)


async def _by_message(server: ServerContext, asked: str, detail: str) -> str | None:
    answer = await server.window_show_message_request_async(
        types.ShowMessageRequestParams(
            type=types.MessageType.Warning,
            message=f"{asked}\n{detail}",
            actions=[types.MessageActionItem(choice) for choice in Choice],
        )
    )
    return answer.title if answer is not None else None
