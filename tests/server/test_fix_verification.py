"""A quick fix that was applied is verified in the background, and what was found is said."""

import asyncio
from typing import Any

import pytest
from conversation import DOT_LINE, NAME_LINE, Conversation, apply_edits, capabilities, until
from lsprotocol import types

SPEC = """\
name: dot
entry: dot
inputs:
  a: {shape: [N, N], dtype: inherit}
  b: {shape: [N, N], dtype: inherit}
  c: {shape: [N, N], dtype: inherit}
default_variant: ci
ci:
  - {params: [a, b, c], dtype: float32, dims: {N: 32}}
"""


async def _fix(talk: Conversation) -> None:
    """Apply the first quick fix of the dot."""
    action, *_ = await talk.actions(DOT_LINE, only=[types.CodeActionKind.QuickFix])
    resolved = await talk.client.code_action_resolve_async(action)
    assert resolved.edit is not None
    (change,) = resolved.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    talk.replace(apply_edits(talk.text, list(change.edits)))


async def test_an_applied_fix_is_verified_and_said(talk: Conversation) -> None:
    (talk.folder / "kernel.yaml").write_text(SPEC)
    await talk.begin(profileOnSave=False)
    talk.open("improve")
    before = talk.text
    await _fix(talk)
    job = await talk.end_of_job()
    found = "correct on interpreter; compiled for cuda:90; speed not measured"
    assert (job.kind, job.state) == ("verify", "done")
    assert job.message == f"Accumulate inside tl.dot: {found}"
    await until(lambda: any(found in one.message for one in talk.client.messages))
    assert found in (await talk.hover(NAME_LINE, 6) or "")
    fixed = talk.text
    talk.replace(before)
    talk.replace(fixed)
    await asyncio.sleep(0.2)
    assert len(await talk.jobs()) == 1, "an undo and a redo verify nothing anew"


async def test_a_fix_that_fails_can_be_taken_back(talk: Conversation) -> None:
    asked: list[str] = []

    @talk.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
    def answer(params: types.ShowMessageRequestParams) -> Any:
        asked.append(params.message)
        return types.MessageActionItem("Undo Fix")

    shows = types.ShowMessageRequestClientCapabilities()
    (talk.folder / "kernel.yaml").write_text(SPEC)
    await talk.begin(
        capabilities(window=types.WindowClientCapabilities(show_message=shows)),
        profileOnSave=False,
    )
    talk.open("improve doubt")
    before = talk.text
    await _fix(talk)
    await until(lambda: talk.edits)
    assert "NOT VERIFIED, correctness: 3 of 9 values differ" in asked[0]
    (change,) = talk.edits[0].edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert apply_edits(talk.text, list(change.edits)) == before


async def test_no_certificate_is_written_of_a_text_that_changed_since(talk: Conversation) -> None:
    asked: list[str] = []

    @talk.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
    def answer(params: types.ShowMessageRequestParams) -> Any:
        asked.extend(action.title for action in params.actions or ())
        talk.replace(f"{talk.text}\nLATER = 1\n")
        return types.MessageActionItem("Write Certificate")

    shows = types.ShowMessageRequestClientCapabilities()
    (talk.folder / "kernel.yaml").write_text(SPEC)
    await talk.begin(
        capabilities(window=types.WindowClientCapabilities(show_message=shows)),
        profileOnSave=False,
    )
    talk.open("improve")
    await _fix(talk)
    await until(lambda: any("text changed since" in one.message for one in talk.client.messages))
    assert asked == ["Write Certificate"]
    assert not list(talk.folder.glob("*.tilewright.json"))


@pytest.mark.parametrize("given", ["no spec", "turned off", "not trusted"])
async def test_what_is_not_verified_runs_nothing(talk: Conversation, given: str) -> None:
    if given != "no spec":
        (talk.folder / "kernel.yaml").write_text(SPEC)
    options = {"turned off": {"verifyFixes": False}, "not trusted": {"trusted": False}}
    await talk.begin(profileOnSave=False, **options.get(given, {}))
    talk.open("improve")
    await _fix(talk)
    if given == "no spec":
        await until(lambda: talk.client.messages)
        said = talk.client.messages[-1].message
        assert "Accumulate inside tl.dot: not verified, because there is neither a spec" in said
    await asyncio.sleep(0.2)
    assert await talk.jobs() == []
