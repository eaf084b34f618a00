"""One editor session with one server: open a file, edit it, wait for the diagnostics."""

import time
from pathlib import Path
from typing import Any, Self

from rpc import Client, Message

from lsp.processes import Usage, time_on_cores, usage_of
from lsp.servers import Server
from lsp.texts import Change

_PUSH = {
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True},
    },
    "workspace": {"workspaceFolders": True, "configuration": False},
}
_PULL = {
    "textDocument": {
        "synchronization": {"didSave": True},
        "diagnostic": {"dynamicRegistration": False, "relatedDocumentSupport": False},
    },
    "workspace": {"workspaceFolders": True, "configuration": False},
}


class Session:
    """A server with at most one open document."""

    def __init__(self, server: Server, folder: Path, *, pulls: bool, patience_s: float) -> None:
        self._folder, self._server, self._pulls = folder, server, pulls
        self._version = 0
        self._previous: str | None = None
        self._uri = ""
        self._spawned = time.perf_counter()
        log = (folder / f"{server.name}.log").open("ab")
        self._client = Client(server.command, patience_s, stderr=log)
        log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.__exit__()

    def initialize(self) -> float:
        """Seconds from the start of the process to the answer."""
        uri = self._folder.as_uri()
        params = {
            "processId": None,
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": self._folder.name}],
            "capabilities": _PULL if self._pulls else _PUSH,
            "initializationOptions": self._server.options,
        }
        self._client.request("initialize", params)
        took = time.perf_counter() - self._spawned
        self._client.notify("initialized", {})
        return took

    def open(self, name: str, text: str) -> float:
        """Open a file; seconds from the start of the process to its first diagnostics."""
        path = self._folder / name
        path.write_text(text, encoding="utf-8")
        self._uri, self._version, self._previous = path.as_uri(), 1, None
        document = {"uri": self._uri, "languageId": "python", "version": 1, "text": text}
        self._client.notify("textDocument/didOpen", {"textDocument": document})
        self._diagnostics()
        return time.perf_counter() - self._spawned

    def open_other(self, name: str, text: str) -> str:
        """Open a file that is not edited; its address."""
        path = self._folder / name
        path.write_text(text, encoding="utf-8")
        uri = path.as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self._client.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def replace_other(self, uri: str, version: int, text: str) -> None:
        """Send a whole text of a file that is not edited."""
        document = {"uri": uri, "version": version}
        params = {"textDocument": document, "contentChanges": [{"text": text}]}
        self._client.notify("textDocument/didChange", params)

    def command(self, name: str, arguments: list[Any]) -> Any:
        """The answer of one of the server's commands."""
        params = {"command": name, "arguments": arguments}
        return self._client.request("workspace/executeCommand", params)

    def ask(self, method: str, params: Message) -> Any:
        """The answer to any request."""
        return self._client.request(method, params)

    def replace(self, text: str) -> None:
        """Send a whole text and wait for nothing."""
        self._version += 1
        document = {"uri": self._uri, "version": self._version}
        params = {"textDocument": document, "contentChanges": [{"text": text}]}
        self._client.notify("textDocument/didChange", params)

    def close(self) -> None:
        self._client.notify("textDocument/didClose", {"textDocument": {"uri": self._uri}})
        self._client.drain()

    def change(self, change: Change) -> None:
        """Send an edit and wait for nothing."""
        self._version += 1
        document = {"uri": self._uri, "version": self._version}
        params = {"textDocument": document, "contentChanges": [change.to_lsp()]}
        self._client.notify("textDocument/didChange", params)

    def edit(self, change: Change) -> float:
        """Seconds from an edit to its diagnostics."""
        self._client.drain()
        began = time.perf_counter()
        self.change(change)
        self._diagnostics()
        return time.perf_counter() - began

    def settle(self, seconds: float) -> None:
        """Let the server finish what it does after it has answered."""
        time.sleep(seconds)
        self._client.drain()

    def usage(self) -> Usage:
        """Of the server and the processes that it started."""
        return usage_of(self._client.pid)

    def time_on_cores(self) -> tuple[float, float]:
        """Seconds that the server alone has computed, and has waited for a core."""
        return time_on_cores(self._client.pid)

    def _diagnostics(self) -> None:
        if self._pulls:
            params: dict[str, Any] = {"textDocument": {"uri": self._uri}}
            if self._previous is not None:
                params["previousResultId"] = self._previous
            answer = self._client.request("textDocument/diagnostic", params)
            self._previous = answer.get("resultId")
        else:
            self._client.await_notification("textDocument/publishDiagnostics", self._is_present)

    def _is_present(self, params: Message) -> bool:
        """Of the version that was sent last; servers that name no version are believed."""
        of_version = params.get("version") in (None, self._version)
        return params["uri"] == self._uri and of_version
