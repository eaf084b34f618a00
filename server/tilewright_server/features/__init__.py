"""Every LSP method the server answers, and the table that registers them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lsprotocol import types

from tilewright_server.backend import Engine
from tilewright_server.capabilities import (
    CODE_ACTION_OPTIONS,
    COMPLETION_OPTIONS,
    SIGNATURE_OPTIONS,
)
from tilewright_server.commands import COMMANDS
from tilewright_server.features.documents import (
    did_change,
    did_close,
    did_open,
    did_save,
    notebook_did_change,
    notebook_did_close,
    notebook_did_open,
)
from tilewright_server.features.lifecycle import (
    STATUS,
    fits,
    initialize,
    initialized,
    shutdown,
    status,
)
from tilewright_server.features.navigation_table import NAVIGATION
from tilewright_server.features.workspace import (
    did_change_configuration,
    did_change_watched_files,
    did_change_workspace_folders,
)
from tilewright_server.jobs.engine_host import HOST_COMMAND
from tilewright_server.jobs.process import ENGINE_COMMAND
from tilewright_server.publisher import OPTIONS as DIAGNOSTIC_OPTIONS
from tilewright_server.publisher import diagnostic, no_diagnostics
from tilewright_server.requests import guard_async, guard_sync, lazy, nothing
from tilewright_server.server import TilewrightServer
from tilewright_server.waiting_edits import FITS

Handler = Callable[..., Any]

# Notifications that only change state; they run inside the read loop and take microseconds.
SYNC: tuple[tuple[str, Handler, Any], ...] = (
    (types.INITIALIZE, initialize, None),
    (types.TEXT_DOCUMENT_DID_OPEN, did_open, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, did_change, None),
    (types.TEXT_DOCUMENT_DID_CLOSE, did_close, None),
    (types.TEXT_DOCUMENT_DID_SAVE, did_save, None),
    (types.NOTEBOOK_DOCUMENT_DID_OPEN, notebook_did_open, None),
    (types.NOTEBOOK_DOCUMENT_DID_CHANGE, notebook_did_change, None),
    (types.NOTEBOOK_DOCUMENT_DID_CLOSE, notebook_did_close, None),
)


def _as_asked(asked: Any) -> Any:
    return asked


ASSEMBLY = "tilewright/assembly"
KERNELS = "tilewright/kernels"
KERNEL_TIMES = "tilewright/kernelTimes"
_ACTIONS = lazy("features.code_action", "code_action")
_RESOLVE = lazy("features.code_action_resolve", "code_action_resolve")
_COMPLETION = lazy("features.completion", "completion")
_COMPLETION_RESOLVE = lazy("features.completion", "completion_resolve")
_SIGNATURE = lazy("features.completion", "signature_help")

# Everything that may take longer, with what it answers if it fails.
ASYNC: tuple[tuple[str, Handler, Any, Handler], ...] = (
    (types.INITIALIZED, initialized, None, nothing),
    (types.WORKSPACE_DID_CHANGE_CONFIGURATION, did_change_configuration, None, nothing),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, did_change_watched_files, None, nothing),
    (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, did_change_workspace_folders, None, nothing),
    (types.TEXT_DOCUMENT_DIAGNOSTIC, diagnostic, DIAGNOSTIC_OPTIONS, no_diagnostics),
    (types.TEXT_DOCUMENT_HOVER, lazy("features.hover", "hover"), None, nothing),
    (types.TEXT_DOCUMENT_INLAY_HINT, lazy("features.inlay_hint", "inlay_hint"), None, nothing),
    (types.TEXT_DOCUMENT_CODE_ACTION, _ACTIONS, CODE_ACTION_OPTIONS, nothing),
    (types.CODE_ACTION_RESOLVE, _RESOLVE, None, _as_asked),
    (types.TEXT_DOCUMENT_CODE_LENS, lazy("features.code_lens", "code_lens"), None, nothing),
    *NAVIGATION,
    (types.TEXT_DOCUMENT_COMPLETION, _COMPLETION, COMPLETION_OPTIONS, nothing),
    (types.COMPLETION_ITEM_RESOLVE, _COMPLETION_RESOLVE, None, _as_asked),
    (types.TEXT_DOCUMENT_SIGNATURE_HELP, _SIGNATURE, SIGNATURE_OPTIONS, nothing),
    (types.SHUTDOWN, shutdown, None, nothing),
    (STATUS, status, None, nothing),
    (FITS, fits, None, nothing),
    (ASSEMBLY, lazy("features.assembly", "assembly"), None, nothing),
    (KERNELS, lazy("features.kernels", "kernels"), None, nothing),
    (KERNEL_TIMES, lazy("features.kernels", "kernel_times"), None, nothing),
)


def register_features(server: TilewrightServer) -> None:
    """Register every feature and command, each inside the request boundary."""
    for method, handler, options in SYNC:
        guarded = guard_sync(method, partial(handler, server), server.timings)
        server.feature(method, options)(guarded)
    for method, handler, options, empty in ASYNC:
        bound = guard_async(method, partial(handler, server), server.timings, empty)
        server.feature(method, options)(bound)
    for name, command in COMMANDS:
        bound = guard_async(name, partial(command, server), server.timings)
        server.command(name)(bound)


def create_server(
    engine: Engine | None = None,
    engine_command: Sequence[str] = ENGINE_COMMAND,
    host_command: Sequence[str] = HOST_COMMAND,
) -> TilewrightServer:
    """A server with every feature registered.

    Args:
        engine: the engine's functions; tests replace some.
        engine_command: how the engine's command line is started, without its arguments.
        host_command: how the process is started that forks the engine's commands.
    """
    server = TilewrightServer(engine or Engine(), engine_command, host_command)
    register_features(server)
    return server
