"""What stands beside a file counts: the project's settings, the problem's spec, suppressions."""

import asyncio
from pathlib import Path
from typing import Any

from conversation import DOT_LINE, KERNEL, Conversation, capabilities, pulling, until
from lsprotocol import types
from pygls import uris

BROKEN = '[project]\nname = "p"\n\n[tool.tilewright]\nignore = ["dot_acumulator"]\n'


def _codes(talk: Conversation) -> list[Any]:
    return [d.code for d in talk.client.diagnostics.get(talk.uri, ())]


def _write(talk: Conversation, text: str) -> Path:
    path = talk.folder / "pyproject.toml"
    path.write_text(text)
    return path


def _changed(talk: Conversation, path: Path) -> None:
    event = types.FileEvent(str(uris.from_fs_path(str(path))), types.FileChangeType.Changed)
    talk.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))


async def test_issue_that_the_project_ignores_is_not_published(talk: Conversation) -> None:
    await talk.begin()
    _write(talk, '[tool.tilewright]\nignore = ["dot_accumulator"]\n')
    talk.open()
    await until(lambda: talk.uri in talk.client.diagnostics)
    assert _codes(talk) == []
    assert await talk.actions(DOT_LINE, only=["quickfix"]) == []


async def test_change_of_the_projects_settings_is_in_force_at_once(talk: Conversation) -> None:
    await talk.begin()
    talk.open()
    await until(lambda: _codes(talk) == ["dot_accumulator"])
    path = _write(talk, '[tool.tilewright]\nexclude = ["kernel.py"]\n')
    _changed(talk, path)
    await until(lambda: _codes(talk) == [])


async def test_client_that_pulls_hears_of_a_change_when_it_saves(talk: Conversation) -> None:
    await talk.begin(pulling(), profileOnSave=False)
    talk.open()
    document = types.TextDocumentIdentifier(talk.uri)
    first = await talk.client.text_document_diagnostic_async(
        types.DocumentDiagnosticParams(document)
    )
    assert isinstance(first, types.RelatedFullDocumentDiagnosticReport)
    assert [d.code for d in first.items] == ["dot_accumulator"]
    _write(talk, '[tool.tilewright]\nselect = ["nki_*"]\n')
    talk.save()
    for _ in range(100):
        again = await talk.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(document, previous_result_id=first.result_id)
        )
        if isinstance(again, types.RelatedFullDocumentDiagnosticReport):
            break
        await asyncio.sleep(0.02)
    assert isinstance(again, types.RelatedFullDocumentDiagnosticReport)
    assert not again.items


async def test_broken_settings_are_told_once_and_marked(talk: Conversation) -> None:
    await talk.begin()
    path = _write(talk, BROKEN)
    uri = str(uris.from_fs_path(str(path)))
    talk.open()
    await until(lambda: _codes(talk) == ["dot_accumulator"])
    (found,) = talk.client.diagnostics[uri]
    assert found.range.start.line == 4
    assert "did you mean dot_accumulator?" in found.message
    talk.replace(talk.text + "\n# more\n")
    await talk.hover(0, 0)
    (told,) = talk.client.messages
    assert f"{path}:5: " in told.message
    assert "the defaults are used" in told.message
    _changed(talk, _write(talk, BROKEN.replace("acum", "accum")))
    await until(lambda: _codes(talk) == [])
    assert not talk.client.diagnostics[uri]


async def test_spec_that_cannot_be_used_is_marked_where_it_is_wrong(talk: Conversation) -> None:
    await talk.begin()
    path = talk.folder / "kernel.yaml"
    spec = "entry: launch\ninputs:\n  X: {shape: [N], dtype: float31}\n"
    path.write_text(f"{spec}ci:\n  - {{params: [X], dims: {{N: 8}}}}\n")
    uri = str(uris.from_fs_path(str(path)))
    talk.open()
    await until(lambda: _codes(talk) == ["dot_accumulator"])
    (found,) = talk.client.diagnostics[uri]
    assert (found.range.start.line, found.code) == (2, "spec")
    assert "Unknown dtype 'float31'" in found.message
    assert "its kernels are checked without it" in found.message
    path.unlink()
    _changed(talk, path)
    await until(lambda: not talk.client.diagnostics[uri])


async def test_setting_of_the_editor_goes_before_the_projects_target(talk: Conversation) -> None:
    await talk.begin(profileOnSave=False)
    _write(talk, '[tool.tilewright]\ntarget = "hip:gfx942"\n')
    talk.open()
    await talk.execute("tilewright.profile", {"uri": talk.uri})
    await talk.end_of_job()
    assert (await talk.lenses())[0].startswith("hip:gfx942: ")


async def test_directive_that_names_no_issue_is_said(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=KERNEL.format(engine="nothing  # tilewright: ignore[dot_acumulator]"))
    await until(lambda: "directive" in _codes(talk))
    (found,) = [d for d in talk.client.diagnostics[talk.uri] if d.code == "directive"]
    assert found.severity == types.DiagnosticSeverity.Information
    assert found.message == "No issue is called dot_acumulator; did you mean dot_accumulator?"


async def test_files_are_watched_where_the_client_can(talk: Conversation) -> None:
    wanted = capabilities()
    assert wanted.workspace is not None
    wanted.workspace.did_change_watched_files = types.DidChangeWatchedFilesClientCapabilities(
        dynamic_registration=True
    )
    await talk.begin(wanted)
    await until(lambda: talk.registered)
    (options,) = talk.registered.values()
    assert {w["globPattern"] for w in options["watchers"]} == {
        "**/pyproject.toml",
        "**/*.{yaml,yml}",
        "**/*.tilewright.json",
    }
