"""A part of a run's steps is offered with its own evidence, in the text that stands there now."""

import json
from pathlib import Path
from typing import Any

from conversation import KERNEL, Conversation, apply_edits, until
from lsprotocol import types

from tilewright.evaluation.surroundings import surroundings
from tilewright.problems.loading import find_problem

SPEC = """\
entry: dot
reference: {file: plain.py, entry: dot}
inputs:
  a: {shape: [N, N], dtype: float32}
  b: {shape: [N, N], dtype: float32}
  c: {shape: [N, N], dtype: float32}
ci:
  - params: [a, b, c]
    dims: {N: 32}
"""
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


async def test_steps_are_looked_at_again_before_they_are_applied(
    talk: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    wanted = await _one_kept(talk, tmp_path)

    async def apply_after_a_change() -> bool:
        (talk.folder / "kernel.yaml").write_text(SPEC)
        (talk.folder / "plain.py").write_text("def dot(a, b, c):\n    return a @ b\n")
        return await talk.fits() is None

    talk.decide = apply_after_a_change
    answer = await _apply(talk, wanted)
    assert "not applied: kernel.yaml changed since" in answer["reason"]


async def test_only_what_was_kept_is_applied(talk: Conversation, tmp_path: Path) -> None:
    await talk.begin()
    wanted = await _one_kept(talk, tmp_path)
    (run,) = await talk.execute("tilewright.runs")
    original = {**wanted, "candidate": run["candidates"][0]["id"]}
    assert "was not kept" in (await _apply(talk, original))["reason"]
    assert "not known any more" in (await _apply(talk, {**wanted, "run": "gone"}))["reason"]
    assert talk.edits == []


async def test_an_older_run_is_opened_and_its_steps_are_offered(
    talk: Conversation,
) -> None:
    await talk.begin()
    talk.open("nothing")
    assert [run["run"] for run in await talk.execute("tilewright.recordedRuns")] == ["a1b2"]
    answer = await talk.execute("tilewright.openRun", {"record": "a1b2"})
    (run,) = await talk.execute("tilewright.runs")
    assert run["head"]["run"] == answer["run"] == "record-a1b2"
    assert (run["head"]["uri"], run["head"]["state"]) == (talk.uri, "done")
    assert (run["head"]["elapsed_s"], run["head"]["kept"]) == (38.3, 1)
    assert run["head"]["message"] == "on record since 2026-11-20 10:14"
    original, kept = run["candidates"]
    assert (original["verdict"], kept["verdict"], kept["parent"]) == ("original", "kept", "o")
    assert original["figures"][0]["registers"] == [64, 64]
    again = await talk.execute("tilewright.openRun", {"record": "a1b2"})
    assert again == answer
    wanted = {"run": answer["run"], "candidate": "c1"}
    found = await talk.execute("tilewright.runText", wanted)
    assert found["text"] == talk.text.replace(OLD, NEW)
    assert await _apply(talk, wanted) == {"applied": True}
    (annotation,) = (talk.edits[-1].edit.change_annotations or {}).values()
    said = str(annotation.description)
    assert "not known whether the imported files are as they were, nor on which spec" in said


async def test_steps_of_an_older_run_are_compared_with_the_files_it_imported(
    talk: Conversation,
) -> None:
    await talk.begin()
    helper = talk.folder / "helper.py"
    helper.write_text("SIZE = 64\n")
    text = "from helper import SIZE\n" + KERNEL.format(engine="nothing").replace(", 64,", ", SIZE,")
    talk.open(text=text)
    around = surroundings(text, str(talk.folder / "kernel.py"))
    assert list(around) == [str(helper)]
    (talk.folder / "recorded_around").write_text(json.dumps(around))
    answer = await talk.execute("tilewright.openRun", {"record": "a1b2"})
    wanted = {"run": answer["run"], "candidate": "c1"}
    assert await _apply(talk, wanted) == {"applied": True}
    (annotation,) = (talk.edits[-1].edit.change_annotations or {}).values()
    assert "not known" not in str(annotation.description)
    helper.write_text("SIZE = 32\n")
    assert "helper.py changed since" in (await _apply(talk, wanted))["reason"]
    assert len(talk.edits) == 1


async def test_steps_of_an_older_run_are_compared_with_its_spec(talk: Conversation) -> None:
    await talk.begin()
    talk.open("nothing")
    spec = talk.folder / "kernel.yaml"
    spec.write_text(SPEC)
    (talk.folder / "plain.py").write_text("def dot(a, b, c):\n    return a @ b\n")
    problem = find_problem(talk.folder / "kernel.py")
    assert problem is not None
    (talk.folder / "recorded_problem").write_text(problem.content_hash)
    answer = await talk.execute("tilewright.openRun", {"record": "a1b2"})
    wanted = {"run": answer["run"], "candidate": "c1"}
    spec.write_text(SPEC.replace("N: 32", "N: 64"))
    assert "kernel.yaml changed since" in (await _apply(talk, wanted))["reason"]
    spec.unlink()
    assert "the spec changed since" in (await _apply(talk, wanted))["reason"]
    assert talk.edits == []
    spec.write_text(SPEC)
    assert await _apply(talk, wanted) == {"applied": True}
    (annotation,) = (talk.edits[-1].edit.change_annotations or {}).values()
    assert "spec" not in str(annotation.description)


async def test_a_run_that_is_not_on_record_is_refused(talk: Conversation) -> None:
    await talk.begin()
    talk.open("nothing")
    answer = await talk.execute("tilewright.openRun", {"record": "8ed9"})
    assert "run 8ed9 is not on record" in answer["reason"]
    assert await talk.execute("tilewright.runs") == []


async def test_steps_are_not_applied_once_what_they_import_changed(
    talk: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    helper = await talk.optimize_importing(tmp_path / "gate")
    (run,) = await talk.execute("tilewright.runs")
    helper.write_text("SIZE = 32\n")
    wanted = {"run": run["head"]["run"], "candidate": run["candidates"][1]["id"]}
    answer = await _apply(talk, wanted)
    assert "helper.py changed since, which their verdict depends on" in answer["reason"]
    assert talk.edits == []
