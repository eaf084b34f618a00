"""Optimizations outlive edits and restarts, show how far they are, and are cancelled at once."""

import json
from pathlib import Path
from typing import Any

from conversation import KERNEL, Conversation, apply_edits, capabilities, until
from fake_engine import certified
from lsprotocol import types

from tilewright.certificates.files import content_hash

OLD, NEW = "acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc)"


def _asking() -> types.ClientCapabilities:
    shows = types.ShowMessageRequestClientCapabilities()
    window = types.WindowClientCapabilities(work_done_progress=True, show_message=shows)
    return capabilities(window=window)


def _answers(talk: Conversation, answers: dict[str, str]) -> list[str]:
    """Answer messages by the button whose words the message has; the messages so far."""
    asked: list[str] = []

    @talk.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
    def answer(params: types.ShowMessageRequestParams) -> Any:
        asked.append(params.message)
        found = next((button for words, button in answers.items() if words in params.message), None)
        return types.MessageActionItem(found) if found else None

    return asked


async def _waiting(talk: Conversation, tmp_path: Path) -> Path:
    """A run that goes on until the file is made."""
    gate = tmp_path / "gate"
    talk.open(f"wait {gate}")
    await talk.optimize()
    await until(lambda: any(one.candidate.verdict == "kept" for one in talk.candidates))
    return gate


def _applied(talk: Conversation) -> str:
    (params,) = talk.edits
    (change,) = params.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.version == talk.version
    return apply_edits(talk.text, list(change.edits))


async def test_an_edit_elsewhere_keeps_the_result(talk: Conversation, tmp_path: Path) -> None:
    await talk.begin()
    gate = await _waiting(talk, tmp_path)
    talk.replace(f"# above\n{talk.text}\n\ndef mine():\n    return 1\n")
    await until(lambda: talk.heads[-1].moved == "elsewhere")
    gate.touch()
    job = await talk.end_of_job()
    assert job.state == "done"
    assert _applied(talk) == talk.text.replace(OLD, NEW)
    (annotation,) = (talk.edits[0].edit.change_annotations or {}).values()
    assert "put into the text as it is now" in str(annotation.description).lower()
    assert (talk.folder / "kernel.tilewright.json").exists()
    talk.replace(talk.text.replace(OLD, NEW))
    lenses = await talk.lenses()
    assert any("correct" in lens for lens in lenses), "the certificate is current"


async def test_an_edit_of_the_kernel_is_said_at_once_and_can_stop_the_run(
    talk: Conversation, tmp_path: Path
) -> None:
    await talk.begin(_asking())
    asked = _answers(talk, {"was edited while": "Stop"})
    await _waiting(talk, tmp_path)
    talk.replace(talk.text.replace("Grüße", "Hello").replace("BLOCK: tl.constexpr):", "BLOCK):"))
    job = await talk.end_of_job()
    assert "dot_kernel was edited while it is optimized" in asked[0]
    assert job.message.startswith("stopped; its edit does not fit the text any more: dot_kernel")
    assert talk.edits == []


async def test_a_result_that_fits_no_more_is_shown_and_kept(
    talk: Conversation, tmp_path: Path
) -> None:
    await talk.begin(_asking(), diffView=True)
    _answers(talk, {"was edited while": "Go On", "does not fit": "Show Diff"})
    gate = await _waiting(talk, tmp_path)
    sent = talk.text
    talk.replace(sent.replace("acc += tl.dot(a, b)", "acc += tl.dot(b, a)"))
    await until(lambda: talk.heads[-1].moved == "kernel")
    gate.touch()
    job = await talk.end_of_job()
    assert "dot_kernel changed since the run began" in job.message
    (diff,) = talk.diffs
    assert (diff.before, diff.after) == (sent, sent.replace(OLD, NEW))
    assert list((tmp_path / "home" / "editor").glob("*.json")), "nobody has decided about it yet"


async def test_an_edit_while_the_offer_is_shown_makes_it_anew(
    talk: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    gate = await _waiting(talk, tmp_path)

    async def decide() -> bool:
        if len(talk.edits) == 1:
            talk.replace(f"# typed while it was shown\n{talk.text}")
        return len(talk.edits) == 2

    talk.decide = decide
    gate.touch()
    job = await talk.end_of_job()
    assert job.message.startswith("applied: ")
    del talk.edits[0]
    assert _applied(talk) == talk.text.replace(OLD, NEW)


async def test_a_reload_finds_its_run_and_resumes_it(
    talk: Conversation, again: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    gate = await _waiting(talk, tmp_path)
    run = talk.heads[-1].run
    await talk.client.shutdown_session()
    await again.begin()
    again.open(text=f"# typed before the reload\n{talk.text}")
    await until(lambda: again.heads)
    assert again.heads[0].run == run
    gate.touch()
    job = await again.end_of_job()
    assert (job.job, job.state) == (run, "done")
    assert _applied(again) == again.text.replace(OLD, NEW)
    assert (tmp_path / "gate.begun").read_text().split() == ["begun", "begun"]
    await until(lambda: not list((tmp_path / "home" / "editor").glob("*.json")))


async def test_a_result_nobody_decided_about_is_offered_after_a_restart(
    talk: Conversation, again: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    gate = await _waiting(talk, tmp_path)

    identifier = types.TextDocumentIdentifier(talk.uri)
    talk.client.text_document_did_close(types.DidCloseTextDocumentParams(identifier))
    gate.touch()
    job = await talk.end_of_job()
    assert job.message.startswith("its edit waits until the file is open again: correct")
    await talk.client.shutdown_session()
    await again.begin()
    again.open(text=talk.text)
    job = await again.end_of_job()
    assert job.message.startswith("applied: correct on interpreter")
    assert _applied(again) == again.text.replace(OLD, NEW)
    assert (tmp_path / "gate.begun").read_text().split() == ["begun"], "the engine was not asked"


async def test_progress_from_the_first_second_with_candidate_count_and_time(
    talk: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    gate = await _waiting(talk, tmp_path)
    (reports,) = talk.client.progress_reports.values()
    await until(lambda: "tried, 1 kept" in str(reports[-1].message))
    said = reports[-1].message
    assert said.startswith("stage fusion; 1 tried, 1 kept; ")
    await until(lambda: "left (estimate)" in str(reports[-1].message))
    await until(lambda: talk.heads[-1].kept == 1)
    head = talk.heads[-1]
    assert (head.state, head.stage, head.judged, head.kept) == ("running", "fusion", 1, 1)
    assert head.record == "r1"
    (run,) = await talk.execute("tilewright.runs")
    original, candidate = run["candidates"]
    assert (original["verdict"], candidate["verdict"]) == ("original", "kept")
    assert candidate["parent"] == original["id"]
    (figures,) = candidate["figures"]
    assert (figures["registers"], figures["spill_bytes"]) == ([48, 48], [0, 0])
    wanted = {"run": run["head"]["run"], "candidate": candidate["id"]}
    found = await talk.execute("tilewright.runText", wanted)
    assert found["text"] == talk.text.replace(OLD, NEW)
    gate.touch()
    await talk.end_of_job()
    assert talk.heads[-1].state == "done"


async def test_what_was_kept_is_offered_where_the_engine_has_to_be_ended(
    talk: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    await _waiting(talk, tmp_path)
    await talk.execute("tilewright.cancelJob", {"job": talk.candidates[0].run})
    job = await talk.end_of_job()
    assert job.state == "done"
    assert job.message.startswith("stopped; applied: correct")
    assert _applied(talk) == KERNEL.format(engine=f"wait {tmp_path / 'gate'}").replace(OLD, NEW)


async def test_the_engine_process_stays_and_comes_back(talk: Conversation) -> None:
    await talk.begin(profileOnSave=False)
    talk.open("improve")
    pids = []
    for count in (1, 2):
        await talk.execute("tilewright.profile", {"uri": talk.uri})
        await talk.end_of_job(count)
        pids.append((await talk.execute("tilewright.debugInfo"))["engine"]["pid"])
    assert pids[0] == pids[1]
    assert talk.finished[0].pid != talk.finished[1].pid
    talk.replace(talk.text.replace("improve", f"crashhost {pids[0]}"))
    await talk.optimize()
    job = await talk.end_of_job(3)
    assert job.state == "failed"
    await until(lambda: any("started again" in one.message for one in talk.client.messages))
    await talk.execute("tilewright.profile", {"uri": talk.uri})
    assert (await talk.end_of_job(4)).state == "done"
    assert (await talk.execute("tilewright.debugInfo"))["engine"]["pid"] not in (None, pids[0])


async def test_what_was_cancelled_while_it_waited_is_not_taken_up_again(
    talk: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    gate = await _waiting(talk, tmp_path)
    talk.open("improve", name="other.py")
    second = await talk.optimize()
    kept = tmp_path / "home" / "editor" / f"{second['job']}.json"
    await until(kept.exists)
    await talk.execute("tilewright.cancelJob", second)
    job = await talk.end_of_job()
    assert (job.job, job.state) == (second["job"], "cancelled")
    assert not kept.exists()
    gate.touch()
    await talk.end_of_job(2)


async def test_a_kept_result_is_not_applied_once_what_it_imports_has_changed(
    talk: Conversation, again: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    gate = tmp_path / "gate"
    helper = await talk.optimize_importing(gate)
    identifier = types.TextDocumentIdentifier(talk.uri)
    talk.client.text_document_did_close(types.DidCloseTextDocumentParams(identifier))
    gate.touch()
    await talk.end_of_job()
    await talk.client.shutdown_session()
    helper.write_text("SIZE = 32\n")
    await again.begin()
    again.open(text=talk.text)
    job = await again.end_of_job()
    assert "does not fit the text any more: helper.py changed since the run began" in job.message
    assert again.edits == []


async def test_a_result_that_is_shown_is_looked_at_again_before_it_is_applied(
    talk: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    gate = tmp_path / "gate"
    helper = await talk.optimize_importing(gate)
    reasons: list[Any] = []

    async def apply_after_a_change() -> bool:
        reasons.append(await talk.fits())
        helper.write_text("SIZE = 32\n")
        reasons.append(await talk.fits())
        return False

    talk.decide = apply_after_a_change
    gate.touch()
    job = await talk.end_of_job()
    changed = "helper.py changed since the run began, which its verdict depends on"
    assert reasons == [None, changed]
    assert f"does not fit the text any more: {changed}" in job.message
    assert len(talk.edits) == 1
    assert await talk.fits() is None, "nothing is shown any more"


async def test_a_resumed_run_is_compared_with_what_was_there_when_it_began(
    talk: Conversation, again: Conversation, tmp_path: Path
) -> None:
    """There was no spec and no imported file: what came since is a change too."""
    await talk.begin()
    gate = await _waiting(talk, tmp_path)
    await talk.client.shutdown_session()
    (talk.folder / "kernel.yaml").write_text(
        "entry: dot\ninputs:\n  a: {shape: [N, N], dtype: float32}\n"
        "ci:\n  - params: [a]\n    dims: {N: 32}\n"
    )
    await again.begin()
    again.open(text=talk.text)
    gate.touch()
    job = await again.end_of_job()
    assert "does not fit the text any more: kernel.yaml changed since the run began" in job.message
    assert again.edits == []


async def test_a_certificate_that_says_more_of_the_same_text_is_left(talk: Conversation) -> None:
    await talk.begin()
    talk.open("improve")
    better = {**certified(talk.text.replace(OLD, NEW), "kernel.py"), "level": "faster"}
    better["hash"] = content_hash(better)
    place = talk.folder / "kernel.tilewright.json"
    place.write_text(json.dumps(better))
    await talk.optimize()
    job = await talk.end_of_job()
    assert "kernel.tilewright.json has more evidence and was not replaced" in job.message
    assert json.loads(place.read_text())["level"] == "faster"
