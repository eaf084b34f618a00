"""Optimize a document: run the engine, then offer its edit if the document is still the same."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types

from tilewright.evaluation.model import text_hash
from tilewright_server import wording
from tilewright_server.context import ServerContext
from tilewright_server.edits import Evidence, match_line_ends, workspace_edit
from tilewright_server.jobs.engine_job import run_engine
from tilewright_server.jobs.manager import Job, JobState
from tilewright_server.snapshot import Snapshot

_APPLY = "Apply"
_MOVED_ON = "the file changed meanwhile, so nothing was applied; run it again"


async def optimize(server: ServerContext, job: Job, snapshot: Snapshot) -> None:
    """The whole life of an optimization, from the text as sent to a message about its end."""
    label = wording.target_label(job.target or "")
    outcome = await run_engine(server, job, snapshot, f"Optimizing for {label}")
    stopped = job.state is JobState.STOPPING
    job.result = outcome.result
    if outcome.result is None:
        job.state = JobState.CANCELLED if stopped else JobState.FAILED
        said = "stopped; nothing was applied" if stopped else str(outcome.error)
    elif not outcome.result.get("changed"):
        job.state = JobState.DONE
        said = ("stopped; " if stopped else "") + _nothing_better(outcome.result)
    else:
        said = await _offer(server, snapshot, outcome.result)
        job.state = JobState.DONE
    job.message = said + _models(outcome.result)


def _models(result: Mapping[str, Any] | None) -> str:
    """What the models cost and how they failed, where some were asked."""
    asked = (result or {}).get("models")
    said = wording.model_use(asked) if isinstance(asked, Mapping) else ""
    return f"; models: {said}" if said else ""


def _nothing_better(result: Mapping[str, Any]) -> str:
    n_trials = len(result.get("trials") or ())
    candidates = "candidate" if n_trials == 1 else "candidates"
    tried = (
        f"{n_trials} {candidates} tried, none was kept" if n_trials else "no candidate was tried"
    )
    notes = "; ".join(str(note) for note in result.get("notes") or ())
    return f"no edit: {tried}" + (f" ({notes})" if notes else "")


async def _offer(server: ServerContext, sent: Snapshot, result: Mapping[str, Any]) -> str:
    """Apply the edit with the person's consent; says what became of it."""
    evidence = wording.evidence(result)
    label = f"Tilewright for {result.get('target')}: {evidence}"
    if not server.client.apply_edit:
        return f"this editor cannot apply edits from a server; found: {evidence}"
    if _unchanged(server, sent) is None:
        return _MOVED_ON
    if not server.client.change_annotations and not await _consents(server, label):
        return f"not applied: {evidence}"
    now = _unchanged(server, sent)
    if now is None:
        return _MOVED_ON
    consent = Evidence(label, wording.description(result), ask=True)
    edit = workspace_edit(now, str(result["final"]), consent, server.client)
    answer = await server.workspace_apply_edit_async(
        types.ApplyWorkspaceEditParams(edit=edit, label=label)
    )
    if answer.applied:
        applied = match_line_ends(now.text, str(result["final"]))
        server.facts.verify(text_hash(applied), evidence)
        kept = await certify(server, sent, result)
        return f"applied: {evidence}" + (f"; {kept}" if kept else "")
    if _unchanged(server, sent) is None:
        return _MOVED_ON
    return (
        f"not applied{f' ({answer.failure_reason})' if answer.failure_reason else ''}: {evidence}"
    )


def _unchanged(server: ServerContext, sent: Snapshot) -> Snapshot | None:
    """The document's present version if its text is still the one that was optimized."""
    now = server.snapshot(sent.uri)
    return now if now is not None and now.text == sent.text else None


async def _consents(server: ServerContext, label: str) -> bool:
    """Ask by message where the editor has no preview of annotated edits."""
    if not server.client.message_request:
        return True
    answer = await server.window_show_message_request_async(
        types.ShowMessageRequestParams(
            type=types.MessageType.Info,
            message=label,
            actions=[types.MessageActionItem(_APPLY), types.MessageActionItem("Discard")],
        )
    )
    return answer is not None and answer.title == _APPLY


async def certify(
    server: ServerContext, snapshot: Snapshot, result: Mapping[str, Any]
) -> str | None:
    """Write the certificate that came with a result; a word on it, None where there is none."""
    data = result.get("certificate_file")
    if data is None or snapshot.path is None:
        return None
    said = await server.in_pool(_write, Path(snapshot.path), data)
    server.certificates.forget()
    server.refresh(snapshot.uri)
    return said


def _write(source: Path, data: Any) -> str:
    from tilewright.certificates.files import (
        CertificateError,
        default_place,
        parse_certificate,
        write_certificate,
    )

    place = default_place(source)
    try:
        write_certificate(place, parse_certificate(data, str(place)))
    except CertificateError as error:
        return f"no certificate: {error}"
    return f"certificate: {place.name}"
