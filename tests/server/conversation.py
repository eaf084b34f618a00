"""A test client on top of pytest-lsp's, with the answers and the waiting the tests share."""

import ast
import asyncio
import itertools
import sys
import time
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, make_test_lsp_client

FAKE_SERVER = [sys.executable, str(Path(__file__).with_name("fake_server.py"))]

KERNEL = '''\
# engine: {engine}
import triton
import triton.language as tl


@triton.jit
def dot_kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    """Grüße 🎉"""
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + offs[:, None] * K + offs[None, :] + k)
        b = tl.load(b_ptr + offs[:, None] * BLOCK + offs[None, :] + k)
        "🎉"; acc += tl.dot(a, b)
    tl.store(c_ptr + offs[:, None] * BLOCK + offs[None, :], acc)


def dot(a, b, c):
    dot_kernel[(1,)](a, b, c, 64, BLOCK=32)
    return c
'''
DOT_LINE = 13
NAME_LINE = 6
LAUNCH_LINE = 18


def capabilities(**changes: Any) -> types.ClientCapabilities:
    """What a present-day editor says of itself; keywords replace whole sections."""
    resolve = types.ClientCodeActionResolveOptions(properties=["edit"])
    text = types.TextDocumentClientCapabilities(
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True),
        code_action=types.CodeActionClientCapabilities(
            resolve_support=resolve, data_support=True, disabled_support=True
        ),
    )
    workspace = types.WorkspaceClientCapabilities(
        apply_edit=True,
        configuration=True,
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True,
            change_annotation_support=types.ChangeAnnotationsSupportOptions(),
        ),
        code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
        diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
    )
    sections = {
        "text_document": text,
        "workspace": workspace,
        "window": types.WindowClientCapabilities(work_done_progress=True),
        "general": types.GeneralClientCapabilities(
            position_encodings=[types.PositionEncodingKind.Utf16]
        ),
    }
    return types.ClientCapabilities(**{**sections, **changes})


def pulling() -> types.ClientCapabilities:
    """An editor that pulls diagnostics."""
    made = capabilities()
    assert made.text_document is not None
    made.text_document.diagnostic = types.DiagnosticClientCapabilities()
    return made


class Conversation:
    """One client, one server process, one document at a time."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.edits: list[types.ApplyWorkspaceEditParams] = []
        self.finished: list[Any] = []
        self.heads: list[Any] = []
        self.candidates: list[Any] = []
        self.diffs: list[Any] = []
        self.registered: dict[str, Any] = {}
        self.lens_refreshes = 0
        self.accept = True
        self.decide: Callable[[], Awaitable[bool]] | None = None
        self._versions = itertools.count(1)
        self.version = 0
        self.uri = ""
        self.text = ""

    async def begin(
        self, wanted: types.ClientCapabilities | None = None, **options: Any
    ) -> types.InitializeResult:
        """Nothing is compiled in the background unless the options say when."""
        options.setdefault("compiled", {"run": "off"})
        return await self.client.initialize_session(
            types.InitializeParams(
                capabilities=wanted or capabilities(),
                root_uri=uris.from_fs_path(str(self.folder)),
                initialization_options=options or None,
            )
        )

    async def settled(self) -> None:
        """Wait until the server has its settings."""
        end = time.monotonic() + HANGS_S
        while not await self._has_settings():
            assert time.monotonic() < end, "the server never got its settings"
            await asyncio.sleep(0.01)

    async def _has_settings(self) -> bool:
        info = await self.execute("tilewright.debugInfo")
        return any(timing["method"] == types.INITIALIZED for timing in info["timings"])

    def open(
        self, engine: str = "improve", text: str | None = None, name: str = "kernel.py"
    ) -> str:
        self.text = KERNEL.format(engine=engine) if text is None else text
        path = self.folder / name
        path.write_bytes(self.text.encode())
        self.uri = str(uris.from_fs_path(str(path)))
        self.version = next(self._versions)
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(
                types.TextDocumentItem(self.uri, "python", self.version, self.text)
            )
        )
        return self.uri

    def replace(self, text: str) -> None:
        """Change the whole document."""
        self.text, self.version = text, next(self._versions)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.version, self.uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def save(self) -> None:
        identifier = types.TextDocumentIdentifier(self.uri)
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(identifier))

    async def hover(self, line: int, character: int) -> str | None:
        found = await self.client.text_document_hover_async(
            types.HoverParams(
                types.TextDocumentIdentifier(self.uri), types.Position(line, character)
            )
        )
        if found is None:
            return None
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def actions(
        self,
        line: int,
        character: int = 16,
        only: list[Any] | None = None,
        trigger: types.CodeActionTriggerKind | None = None,
    ) -> list[types.CodeAction]:
        place = types.Range(types.Position(line, character), types.Position(line, character))
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(self.uri),
                place,
                types.CodeActionContext(diagnostics=[], only=only, trigger_kind=trigger),
            )
        )
        return [_as_action(each) for each in found or ()]

    async def lenses(self) -> list[str]:
        found = await self.client.text_document_code_lens_async(
            types.CodeLensParams(types.TextDocumentIdentifier(self.uri))
        )
        return [lens.command.title for lens in found or () if lens.command]

    async def fits(self) -> str | None:
        """Why the edit that was shown last may not be applied, as a client asks before it is."""
        asked = {"uri": self.uri, "label": self.edits[-1].label}
        answer = await self.client.protocol.send_request_async("tilewright/fits", asked)
        reason: str | None = answer.reason
        return reason

    async def execute(self, command: str, *arguments: Any) -> Any:
        return await self.client.workspace_execute_command_async(
            types.ExecuteCommandParams(command, list(arguments))
        )

    async def optimize(self, target: str | None = "cuda:90") -> Any:
        subject = {"uri": self.uri, "version": self.version, "target": target}
        return await self.execute("tilewright.optimize", {**subject, "kernel": "dot_kernel"})

    async def optimize_importing(self, gate: Path) -> Path:
        """Optimize a text that imports a file next to it, until a step is kept; that file."""
        helper = self.folder / "helper.py"
        helper.write_text("SIZE = 64\n")
        text = KERNEL.format(engine=f"wait {gate}").replace(", 64,", ", SIZE,")
        self.open(text=f"from helper import SIZE\n{text}")
        await self.optimize()
        await until(lambda: any(one.candidate.verdict == "kept" for one in self.candidates))
        return helper

    async def jobs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self.execute("tilewright.listJobs")
        return found

    async def end_of_job(self, count: int = 1) -> Any:
        await until(lambda: len(self.finished) >= count)
        return self.finished[count - 1]

    def ends(self) -> int:
        """How many progress ends came."""
        reports = self.client.progress_reports.values()
        return sum(isinstance(r, types.WorkDoneProgressEnd) for each in reports for r in each)


def _as_action(found: types.CodeAction | types.Command) -> types.CodeAction:
    """lsprotocol takes an action that has a title and a command for a bare command."""
    if isinstance(found, types.CodeAction):
        return found
    inner = ast.literal_eval(found.command)
    return types.CodeAction(
        title=found.title,
        kind="refactor.rewrite.tilewright",
        command=types.Command(inner["title"], inner["command"], arguments=inner["arguments"]),
    )


HANGS_S = 600.0
"""Nothing that goes on takes that long, also on a busy machine."""


async def until(holds: Callable[[], Any]) -> None:
    """Wait until something holds, or fail."""
    end = time.monotonic() + HANGS_S
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.01)


@cache
def _converter() -> Any:
    """One for all clients: it generates code for each type of message that it meets."""
    converter = default_converter()
    # lsprotocol cannot read this union, which only clients are sent.
    converter.register_structure_hook(types.NotebookDocumentSyncOptions, lambda value, _: value)
    return converter


def make_client() -> LanguageClient:
    """pytest-lsp's client, with an editor's answers to what this server asks."""
    client = make_test_lsp_client()
    client.protocol._converter = _converter()

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    async def apply_edit(
        params: types.ApplyWorkspaceEditParams,
    ) -> types.ApplyWorkspaceEditResult:
        talk: Conversation = client.talk  # type: ignore[attr-defined]
        talk.edits.append(params)
        if talk.decide is not None:
            return types.ApplyWorkspaceEditResult(applied=await talk.decide())
        return types.ApplyWorkspaceEditResult(applied=talk.accept)

    @client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
    def refresh(params: None) -> None:
        client.talk.lens_refreshes += 1  # type: ignore[attr-defined]

    @client.feature("tilewright/jobFinished")
    def finished(params: Any) -> None:
        client.talk.finished.append(params)  # type: ignore[attr-defined]

    @client.feature("tilewright/run")
    def run(params: Any) -> None:
        client.talk.heads.append(params)  # type: ignore[attr-defined]

    @client.feature("tilewright/runCandidate")
    def candidate(params: Any) -> None:
        client.talk.candidates.append(params)  # type: ignore[attr-defined]

    @client.feature("tilewright/showDiff")
    def diff(params: Any) -> None:
        client.talk.diffs.append(params)  # type: ignore[attr-defined]

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams) -> None:
        talk: Conversation = client.talk  # type: ignore[attr-defined]
        talk.registered.update({r.method: r.register_options for r in params.registrations})

    return client


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def apply_edits(text: str, edits: list[Any]) -> str:
    """Apply UTF-16 line edits as an editor would, bottom up."""
    lines = text.replace("\r\n", "\n").split("\n")
    starts = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))
    for edit in sorted(edits, key=lambda e: -e.range.start.line):
        assert edit.range.start.character == 0
        start = starts[edit.range.start.line]
        end = starts[edit.range.end.line] + edit.range.end.character
        text = text[:start] + edit.new_text + text[end:]
    return text
