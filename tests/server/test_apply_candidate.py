"""A part of a run's steps is offered with its own evidence, in the text that stands there now."""

from pathlib import Path
from typing import Any

from conversation import Conversation, apply_edits, until
from lsprotocol import types

OLD, NEW = "acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc)"


async def _one_kept(talk: Conversation, tmp_path: Path) -> dict[str, Any]:
    """A run that goes on, and the candidate that it has kept."""
    talk.open(f"wait {tmp_path / 'gate'}")
    await talk.optimize()
    await until(lambda: any(one.candidate.verdict == "kept" for one in talk.candidates))
    (run,) = await talk.execute("tilewright.runs")
    return {"run": run["head"]["run"], "candidate": run["candidates"][1]["id"]}


async def _apply(talk: Conversation, wanted: dict[str, Any]) -> Any:
    return await talk.execute("tilewright.applyCandidate", wanted)


async def test_kept_steps_go_into_the_text_as_it_is_now(talk: Conversation, tmp_path: Path) -> None:
    await talk.begin()
    wanted = await _one_kept(talk, tmp_path)
    talk.replace(f"# above\n{talk.text}")
    assert await _apply(talk, wanted) == {"applied": True}
    edit = talk.edits[-1].edit
    (change,) = edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert apply_edits(talk.text, list(change.edits)) == talk.text.replace(OLD, NEW)
    (annotation,) = (edit.change_annotations or {}).values()
    assert annotation.needs_confirmation
    assert "correct (as candidate 1: correct)" in annotation.label
    assert "has no certificate" in str(annotation.description)
    assert not list(talk.folder.glob("*.tilewright.json")), "its evidence is of one trial alone"


async def test_steps_are_refused_where_they_do_not_fit(talk: Conversation, tmp_path: Path) -> None:
    await talk.begin()
    wanted = await _one_kept(talk, tmp_path)
    talk.replace(talk.text.replace(OLD, f"{OLD} * 2"))
    answer = await _apply(talk, wanted)
    assert "changed since the run began" in answer["reason"]
    assert talk.edits == []


async def test_only_what_was_kept_is_applied(talk: Conversation, tmp_path: Path) -> None:
    await talk.begin()
    wanted = await _one_kept(talk, tmp_path)
    (run,) = await talk.execute("tilewright.runs")
    original = {**wanted, "candidate": run["candidates"][0]["id"]}
    assert "was not kept" in (await _apply(talk, original))["reason"]
    assert "not known any more" in (await _apply(talk, {**wanted, "run": "gone"}))["reason"]
    assert talk.edits == []
