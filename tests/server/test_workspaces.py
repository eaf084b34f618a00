"""Documents without a file, several roots with their own settings, and files others change."""

import asyncio
from typing import Any

import pytest
from conversation import DOT_LINE, KERNEL, Conversation, capabilities, until
from lsprotocol import types
from pygls import uris

UNTITLED = "untitled:Untitled-1"


async def test_an_untitled_buffer_has_all_that_needs_no_file(talk: Conversation) -> None:
    await talk.begin()
    talk.uri, talk.text = UNTITLED, KERNEL.format(engine="improve")
    talk.client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(UNTITLED, "python", 1, talk.text))
    )
    await until(lambda: talk.client.diagnostics.get(UNTITLED))
    assert "second accumulator" in (await talk.hover(DOT_LINE, 20) or "")
    (fix, *_) = await talk.actions(DOT_LINE, 20, only=["quickfix"])
    resolved = await talk.client.code_action_resolve_async(fix)
    assert resolved.edit is not None
    assert resolved.edit.document_changes
    assert any(title.startswith("Optimize") for title in await talk.lenses())
    document = types.TextDocumentIdentifier(UNTITLED)
    symbols = await talk.client.text_document_document_symbol_async(
        types.DocumentSymbolParams(document)
    )
    assert symbols
    where = types.Position(6, talk.text.split("\n")[6].index("BLOCK"))
    edit = await talk.client.text_document_rename_async(types.RenameParams(document, where, "TILE"))
    assert edit is not None
    assert edit.document_changes
    refused = await talk.optimize()
    assert "save the file first" in refused["reason"]


def folder(talk: Conversation, name: str, target: str) -> types.WorkspaceFolder:
    """A folder of the client with a target of its own."""
    (talk.folder / name).mkdir(exist_ok=True)
    uri = str(uris.from_fs_path(str(talk.folder / name)))
    talk.client.set_configuration({"tilewright": {"target": target}}, scope_uri=uri)
    return types.WorkspaceFolder(uri, name)


async def test_each_root_has_its_own_settings(talk: Conversation) -> None:
    folders = [folder(talk, "one", "xpu:pvc"), folder(talk, "two", "hip:gfx942")]
    await talk.client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities(),
            workspace_folders=folders,
            initialization_options={"compiled": {"run": "off"}, "profileOnSave": False},
        )
    )

    async def target(name: str) -> Any:
        return (await talk.execute("tilewright.target", {"uri": talk.open(name=name)}))["target"]

    await talk.settled()
    assert await target("one/kernel.py") == "xpu:pvc"
    assert await target("two/kernel.py") == "hip:gfx942"
    assert await target("outside.py") == "cuda:90"
    folder(talk, "two", "xpu:bmg-g31")
    talk.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
    for _ in range(500):
        if (found := await target("two/kernel.py")) == "xpu:bmg-g31":
            break
        await asyncio.sleep(0.01)
    assert found == "xpu:bmg-g31"
    assert await target("one/kernel.py") == "xpu:pvc"


async def test_files_are_watched_where_the_client_does_not(talk: Conversation) -> None:
    pytest.importorskip("watchdog", reason="the package watchdog is not installed")
    await talk.begin()
    await talk.settled()
    uri = talk.open()
    await until(lambda: talk.client.diagnostics.get(uri))
    (talk.folder / "pyproject.toml").write_text('[tool.tilewright]\nignore = ["dot_accumulator"]\n')
    await until(lambda: not talk.client.diagnostics[uri])
