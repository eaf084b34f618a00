"""Optimize and profile: progress, cancel, edits that fit, and every way an engine can fail."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from conversation import (
    DOT_LINE,
    KERNEL,
    NAME_LINE,
    Conversation,
    alive,
    apply_edits,
    capabilities,
    until,
)
from lsprotocol import types
from pygls.exceptions import JsonRpcException


def _only_edit(talk: Conversation) -> types.TextDocumentEdit:
    (params,) = talk.edits
    (change,) = params.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    return change


async def test_optimize_offers_one_versioned_labelled_edit(talk: Conversation) -> None:
    await talk.begin(python="/opt/some/python")
    talk.open("improve")
    answer = await talk.optimize()
    job = await talk.end_of_job()
    assert job.job == answer["job"]
    assert job.state == "done"
    change = _only_edit(talk)
    assert change.text_document.version == talk.version
    new = apply_edits(talk.text, list(change.edits))
    assert new == talk.text.replace("acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc)")
    label = "correct on interpreter; compiled for cuda:90; speed not measured"
    assert talk.edits[0].label == f"Tilewright for cuda:90: {label}"
    (annotation,) = (talk.edits[0].edit.change_annotations or {}).values()
    assert annotation.needs_confirmation is True
    assert annotation.description == "accumulate in place"
    await until(lambda: talk.client.messages)
    assert label in talk.client.messages[-1].message
    talk.replace(new)
    assert f"This text was verified just now: {label}" in (await talk.hover(NAME_LINE, 6) or "")
    talk.replace(new + "# mine\n")
    assert "This text was verified" not in (await talk.hover(NAME_LINE, 6) or "")


async def test_progress_begins_once_reports_seldom_ends_once(talk: Conversation) -> None:
    await talk.begin()
    talk.open("improve")
    start = time.monotonic()
    await talk.optimize()
    await talk.end_of_job()
    seconds = time.monotonic() - start
    (reports,) = talk.client.progress_reports.values()
    kinds = [report.kind for report in reports]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert kinds.count("begin") == kinds.count("end") == 1
    assert reports[0].cancellable is True
    assert reports[0].title == "Optimizing for NVIDIA (cuda:90)"
    assert kinds.count("report") <= 4 * seconds + 1, "50 events became too many reports"
    assert kinds.count("report") >= 1


async def test_nothing_better_is_said_and_changes_nothing(talk: Conversation) -> None:
    await talk.begin()
    talk.open("nothing")
    await talk.optimize()
    job = await talk.end_of_job()
    assert (job.state, talk.edits) == ("done", [])
    assert "1 candidate tried, none was kept" in job.message
    assert "no GPU here" in job.message


async def test_cancel_by_progress_stops_softly(talk: Conversation) -> None:
    await talk.begin()
    talk.open("slow")
    await talk.optimize()
    reports = talk.client.progress_reports
    await until(lambda: reports and "step" in str([*next(iter(reports.values()), ())][-1:]))
    (token,) = reports
    talk.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    job = await talk.end_of_job()
    assert job.state == "done", "the engine gave its best so far"
    assert job.message.startswith("stopped; no edit: 1 candidate tried")
    assert talk.ends() == 1
    assert not alive(job.pid)


async def test_hover_is_answered_while_a_job_runs(talk: Conversation) -> None:
    await talk.begin()
    talk.open("slow")
    await talk.hover(DOT_LINE, 20)
    await talk.optimize()
    await until(lambda: talk.client.progress_reports)
    for _ in range(20):
        assert await talk.hover(DOT_LINE, 20)
    status = await talk.client.protocol.send_request_async("tilewright/status", {})
    assert [job.kind for job in status.jobs] == ["optimize"]
    assert (await talk.execute("tilewright.cancelJob", {"job": status.jobs[0].job})) == {
        "cancelled": True
    }
    await talk.end_of_job()


async def test_engine_that_ignores_a_stop_is_killed_with_its_children(
    talk: Conversation, tmp_path: Path
) -> None:
    await talk.begin()
    pids = tmp_path / "pids"
    talk.open(f"deaf {pids}")
    answer = await talk.optimize()
    await until(lambda: pids.exists() and pids.read_text())
    start = time.monotonic()
    await talk.execute("tilewright.cancelJob", answer)
    job = await talk.end_of_job()
    assert 2.5 < time.monotonic() - start < 60
    assert job.state == "cancelled"
    assert talk.ends() == 1
    engine, child = map(int, pids.read_text().split())
    await until(lambda: not alive(engine) and not alive(child))


async def test_typing_and_undoing_is_no_change(talk: Conversation) -> None:
    await talk.begin()
    talk.open("improve")
    text = talk.text
    await talk.optimize()
    talk.replace(text + "x")
    talk.replace(text)
    await talk.end_of_job()
    assert _only_edit(talk).text_document.version == talk.version


async def test_edit_the_person_declines_is_reported_as_such(talk: Conversation) -> None:
    await talk.begin()
    talk.accept = False
    talk.open("improve")
    await talk.optimize()
    job = await talk.end_of_job()
    assert job.message.startswith("not applied")


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("crash", "the compiler fell over"),
        ("killed", "signal 9"),
        ("garbage", "without a result"),
        ("error", "k.yaml:7: unknown field `shap`"),
    ],
)
async def test_engine_that_fails_is_a_message_not_an_end(
    talk: Conversation, engine: str, said: str
) -> None:
    await talk.begin()
    talk.open(engine)
    await talk.optimize()
    job = await talk.end_of_job()
    assert job.state == "failed"
    assert said in job.message
    assert talk.ends() == 1
    assert talk.edits == []
    assert await talk.hover(DOT_LINE, 20), "the server went on"


async def test_second_optimization_of_a_file_is_refused(talk: Conversation) -> None:
    await talk.begin()
    talk.open("slow")
    first = await talk.optimize()
    second = await talk.optimize()
    assert second["job"] is None
    assert "already" in second["reason"]
    await talk.execute("tilewright.cancelJob", first)


async def test_stale_or_wrong_arguments_are_refused(talk: Conversation) -> None:
    await talk.begin()
    talk.open("improve")
    talk.version -= 1
    assert "changed" in (await talk.optimize())["reason"]
    talk.version += 1
    with pytest.raises(JsonRpcException, match="backend:arch"):
        await talk.optimize(target="H100")
    with pytest.raises(JsonRpcException, match="job"):
        await talk.execute("tilewright.cancelJob", {})
    assert await talk.execute("tilewright.cancelJob", {"job": "none"}) == {"cancelled": False}


async def test_target_is_asked_for_where_the_lens_leaves_it_open(talk: Conversation) -> None:
    asked: list[types.ShowMessageRequestParams] = []

    @talk.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
    def answer(params: types.ShowMessageRequestParams) -> Any:
        asked.append(params)
        return (params.actions or [])[1]

    window = types.WindowClientCapabilities(
        work_done_progress=True, show_message=types.ShowMessageRequestClientCapabilities()
    )
    await talk.begin(capabilities(window=window))
    talk.open("improve")
    await talk.optimize(target=None)
    job = await talk.end_of_job()
    assert job.target == "cuda:90"
    assert len(asked) == 1


async def test_editor_without_preview_is_asked_by_message(talk: Conversation) -> None:
    asked: list[str] = []

    @talk.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
    def answer(params: types.ShowMessageRequestParams) -> Any:
        asked.append(params.message)
        return types.MessageActionItem("Discard")

    wanted = capabilities(
        window=types.WindowClientCapabilities(
            show_message=types.ShowMessageRequestClientCapabilities()
        ),
        workspace=types.WorkspaceClientCapabilities(apply_edit=True),
    )
    await talk.begin(wanted)
    talk.open("improve")
    await talk.optimize()
    job = await talk.end_of_job()
    assert "correct on interpreter" in asked[0]
    assert (job.message[:11], talk.edits) == ("not applied", [])
    assert not talk.client.progress_reports, "a client without progress gets none"


async def test_save_profiles_and_shows_what_came_out(talk: Conversation) -> None:
    await talk.begin()
    uri = talk.open("improve spill")
    assert await talk.lenses() == ["Profile", "Optimize…", "Compare"]
    talk.save()
    await talk.end_of_job()
    facts = "cuda:90: 48 registers, 64 B spilled, correct, not timed"
    assert await talk.lenses() == [facts, "Optimize…", "Compare"]
    await until(lambda: talk.lens_refreshes >= 1)
    await until(lambda: len(talk.client.diagnostics.get(uri, ())) == 2)
    spilled = next(d for d in talk.client.diagnostics[uri] if d.source == "tilewright-compiled")
    assert (spilled.code, spilled.range.start.line) == ("register_spills", NAME_LINE)
    card = await talk.hover(NAME_LINE, 6) or ""
    said = "48 registers, 64 B spilled, 24 KiB shared · correct on interpreter · time not measured"
    assert f"**cuda:90**, just now: {said}" in card

    talk.replace(talk.text.replace("K, BLOCK):", "K, 2 * BLOCK):"))
    assert await talk.lenses() == ["Profile", "Optimize…", "Compare"], "no number for other code"
    await until(lambda: len(talk.client.diagnostics[uri]) == 1)


async def test_a_profile_says_what_bounds_and_counters_are_read_where_a_person_asks(
    talk: Conversation,
) -> None:
    await talk.begin()
    talk.open("improve timed")
    talk.save()
    await talk.end_of_job()
    assert (await talk.lenses())[0].endswith("no spills, correct, 90 µs on GPU")
    card = await talk.hover(NAME_LINE, 6) or ""
    assert "90 µs (89 to 92) on GPU, big[0], memory-bound" in card
    assert "- memory-bound: 3.1 TB/s of 4.8 TB/s (65 %, at least) (`multi_pass_row`)" in card
    await talk.execute("tilewright.profile", {"uri": talk.uri})
    await talk.end_of_job(2)
    assert "(65 %, by counters)" in (await talk.hover(NAME_LINE, 6) or "")


async def test_compile_error_stands_on_its_line_also_after_it_moved(talk: Conversation) -> None:
    await talk.begin()
    uri = talk.open("improve refuse")
    talk.save()
    await talk.end_of_job()

    def error_line() -> int | None:
        found = talk.client.diagnostics.get(uri, ())
        return next((d.range.start.line for d in found if d.code == "compile_error"), None)

    await until(lambda: error_line() is not None)
    before = error_line()
    assert before is not None
    talk.replace("# a comment above\n" + talk.text)
    await until(lambda: error_line() == before + 1)


async def test_facts_do_not_outlive_a_change_of_the_launch(talk: Conversation) -> None:
    await talk.begin()
    talk.open("improve")
    talk.save()
    await talk.end_of_job()
    assert (await talk.lenses())[0].startswith("cuda:90")
    talk.replace(talk.text.replace("64, BLOCK=32", "64, BLOCK=64"))
    assert await talk.lenses() == ["Profile", "Optimize…", "Compare"]


async def test_saving_again_without_a_change_runs_nothing(talk: Conversation) -> None:
    await talk.begin()
    talk.open("improve")
    talk.save()
    await talk.end_of_job()
    talk.save()
    await asyncio.sleep(0.2)
    assert len(await talk.jobs()) == 1


async def test_facts_do_not_outlive_a_change_of_the_spec(talk: Conversation) -> None:
    await talk.begin()
    talk.open("improve")
    spec = talk.folder / "kernel.yaml"
    spec.write_text("name: one\n")
    talk.save()
    await talk.end_of_job()
    assert (await talk.lenses())[0].startswith("cuda:90")
    spec.write_text("name: another\n")
    assert await talk.lenses() == ["Profile", "Optimize…", "Compare"]


async def test_windows_line_ends_survive(talk: Conversation) -> None:
    """Whether or not the engine reads them as plain newlines."""
    await talk.begin(profileOnSave=False)
    talk.open(text=KERNEL.format(engine="improve").replace("\n", "\r\n"))
    await talk.execute("tilewright.profile", {"uri": talk.uri})
    await talk.end_of_job()
    assert (await talk.lenses())[0].startswith("cuda:90: 48 registers")
    await talk.optimize()
    await talk.end_of_job(2)
    (edit,) = _only_edit(talk).edits
    assert isinstance(edit, types.AnnotatedTextEdit)
    assert edit.new_text == '        "🎉"; acc = tl.dot(a, b, acc)\r\n'
    assert edit.range.end == types.Position(DOT_LINE + 1, 0)


async def test_queued_job_can_be_cancelled(talk: Conversation) -> None:
    await talk.begin()
    talk.open("slow")
    first = await talk.optimize()
    await until(lambda: talk.client.progress_reports)
    second = await talk.execute("tilewright.profile", {"uri": talk.uri})
    await until(lambda: len(talk.client.progress_reports) == 2)
    assert "waiting for another job…" in (await talk.lenses())[0]
    await talk.execute("tilewright.cancelJob", second)
    job = await talk.end_of_job()
    assert (job.job, job.state) == (second["job"], "cancelled")
    assert talk.ends() == 1
    await talk.execute("tilewright.cancelJob", first)
    await talk.end_of_job(2)
    assert talk.ends() == 2


@pytest.mark.parametrize("by", ["progress", "command"])
async def test_cancelling_what_waits_is_said(talk: Conversation, by: str) -> None:
    await talk.begin()
    talk.open("slow")
    first = await talk.optimize()
    await until(lambda: talk.client.progress_reports)
    talk.open("improve", name="other.py")
    second = await talk.optimize()
    reports = talk.client.progress_reports
    await until(lambda: len(reports) == 2 and len(list(reports.values())[1]) >= 3)
    token, said = list(reports.items())[1]
    where = "number 1 in the queue; running: optimize kernel.py"
    await until(lambda: said[-1].message == f"waiting for another job: {where}")
    assert [job["position"] for job in await talk.jobs()] == [None, 1]
    if by == "progress":
        talk.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    else:
        await talk.execute("tilewright.cancelJob", second)
    job = await talk.end_of_job()
    assert (job.job, job.state) == (second["job"], "cancelled")
    assert said[-1].kind == "end"
    await until(lambda: talk.client.messages)
    message = talk.client.messages[-1].message
    assert message.endswith("(cuda:90): cancelled before it began; nothing was changed")
    await talk.execute("tilewright.cancelJob", first)
    await talk.end_of_job(2)


async def test_job_that_is_cancelled_at_once_is_announced(talk: Conversation) -> None:
    await talk.begin()
    talk.open("slow")
    answer = await talk.optimize(target=None)
    await talk.execute("tilewright.cancelJob", answer)
    job = await talk.end_of_job()
    assert (job.state, talk.edits) == ("cancelled", [])


async def test_request_of_a_person_goes_before_a_profile_on_save(talk: Conversation) -> None:
    await talk.begin(target="cuda:90")
    talk.open("improve linger")
    lingering = talk.uri
    talk.save()
    await until(lambda: talk.client.progress_reports)
    talk.open("improve", name="other.py")
    start = time.monotonic()
    answer = await talk.optimize()
    job = await talk.end_of_job()
    assert (job.job, job.state) == (answer["job"], "done")
    assert time.monotonic() - start < 100, "the profile would have taken 300 s"
    again = {"state": "waiting"}
    while again["state"] != "running":  # it has its turn again
        await asyncio.sleep(0.02)
        (again,) = [job for job in await talk.jobs() if job["kind"] == "profile"]
        assert again["uri"] == lingering
    await talk.execute("tilewright.cancelJob", {"job": again["job"]})
    await talk.end_of_job(2)
    assert talk.ends() == len(talk.client.progress_reports) == 2


async def test_profile_that_waited_is_dropped_if_the_file_changed(talk: Conversation) -> None:
    await talk.begin(target="cuda:90")
    talk.open("improve linger")
    talk.save()
    await until(lambda: talk.client.progress_reports)
    talk.accept = False
    await talk.optimize()
    talk.replace(talk.text + "# mine\n")
    await talk.end_of_job(2)
    states = {job["kind"]: job["state"] for job in await talk.jobs()}
    assert states == {"optimize": "done", "profile": "cancelled"}
    assert talk.ends() == 2
    assert (await talk.lenses())[0] == "Profile"


async def test_newer_save_replaces_a_running_profile(talk: Conversation) -> None:
    await talk.begin()
    talk.open("improve linger")
    talk.save()
    await until(lambda: talk.client.progress_reports)
    talk.replace(talk.text.replace("improve linger", "improve").replace("64, BLOCK", "32, BLOCK"))
    talk.save()
    await talk.end_of_job(2)
    assert [job["state"] for job in await talk.jobs()] == ["cancelled", "done"]
    assert (await talk.lenses())[0].startswith("cuda:90")
    assert talk.ends() == 2


async def test_untrusted_workspace_runs_nothing(talk: Conversation) -> None:
    await talk.begin(trusted=False)
    talk.open("improve")
    talk.save()
    assert "not trusted" in (await talk.optimize())["reason"]
    offered = await talk.actions(NAME_LINE, 4, only=["refactor"])
    assert [action.title for action in offered] == ["Add a spec"], "it writes text alone"
    assert await talk.actions(DOT_LINE, only=["quickfix"]), "source alone is read"
    assert await talk.lenses() == ["not profiled: this workspace is not trusted"]
    assert await talk.jobs() == []


async def test_on_save_can_be_turned_off(talk: Conversation) -> None:
    await talk.begin(profileOnSave=False)
    talk.open("improve")
    talk.save()
    await asyncio.sleep(0.1)
    assert await talk.jobs() == []
