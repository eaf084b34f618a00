"""``tilewright.applyCandidate``: a part of a run's steps, put into the present text."""

from typing import Any

from tilewright.evaluation.model import text_hash
from tilewright.evaluation.surroundings import (
    changed_around,
    problem_changed,
    surroundings,
    wide_roots_of,
)
from tilewright.source import parse_module
from tilewright_server.commands.arguments import Arguments, read_arguments
from tilewright_server.commands.jobs import refuse
from tilewright_server.edits import Evidence, workspace_edit
from tilewright_server.jobs.run_record import RunRecord
from tilewright_server.rebase import Fitted, Unfit, fit, named
from tilewright_server.run_view import CandidateView, Verdict
from tilewright_server.server import TilewrightServer

_NO_CERTIFICATE = "a part of the steps has no certificate; Verify makes one"

_NOT_COMPARED = "Of an older run it is not known whether the imported files are as they were"
_NO_SPEC = "nor on which spec it ran"


class CandidateArguments(Arguments):
    """``candidate`` is its id in the run's tree."""

    run: str
    candidate: str


async def apply_candidate(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """Offer a candidate that was kept, with its own evidence; whether it was applied."""
    wanted = read_arguments(CandidateArguments, arguments)
    record = server.runs.get(wanted.run)
    text = record.text(wanted.candidate) if record is not None else None
    if record is None or text is None:
        return refuse(server, "this run is not known any more; run it again")
    found = {one.id: one for one in record.view.candidates}[wanted.candidate]
    if not _is_verified(record, found):
        return refuse(server, f"candidate {found.number} was not kept, so it is not applied")
    snapshot = server.snapshot(record.head.uri)
    if snapshot is None:
        return refuse(server, "the document is not open")
    fitted = await server.in_pool(_fitted, record, snapshot.text, text, snapshot.path or "")
    if isinstance(fitted, Unfit):
        return refuse(server, f"the steps do not fit the text any more: {fitted.reason}")
    if server.snapshot(record.head.uri) is not snapshot:
        return refuse(server, "the text changed before the command was done; run it again")
    evidence = _evidence(record, found)
    consent = Evidence(
        f"Tilewright for {record.head.target}: {evidence}", _description(record, found), ask=True
    )
    edit = workspace_edit(snapshot, fitted.text, consent, server.client)

    async def look() -> str | None:
        return await server.in_pool(_moved_on, record, snapshot.path or "")

    answer = await server.waiting_edits.show(server, snapshot.uri, edit, consent.label, look)
    if answer.outdated:
        return refuse(server, f"the steps were not applied: {answer.outdated}")
    if answer.applied:
        server.facts.verify(text_hash(fitted.text), evidence)
    return {"applied": answer.applied}


def _moved_on(record: RunRecord, path: str) -> str | None:
    """What changed outside the file of what the verdict depends on, where that is known."""
    if record.around is not None:
        changed = changed_around(record.around, surroundings(record.sent, path))
        if changed:
            return f"{named(changed)} changed since, which their verdict depends on"
    if record.problem is not None and (spec := problem_changed(record.problem, path)):
        return f"{spec} changed since, which their verdict depends on"
    return None


def _fitted(record: RunRecord, now: str, text: str, path: str) -> Fitted | Unfit:
    moved_on = _moved_on(record, path)
    if moved_on is not None:
        return Unfit(moved_on)
    return fit(record.sent, now, text, path, wide_roots_of(parse_module(record.sent, path)))


def _path(record: RunRecord, found: CandidateView) -> list[CandidateView]:
    """The steps from the original to a candidate, without the original."""
    known = {one.id: one for one in record.view.candidates}
    steps: list[CandidateView] = []
    at: CandidateView | None = found
    while at is not None and at.verdict is not Verdict.ORIGINAL and at not in steps:
        steps.insert(0, at)
        at = known.get(at.parent or "")
    return steps


def _is_verified(record: RunRecord, found: CandidateView) -> bool:
    steps = _path(record, found)
    return bool(steps) and all(step.verdict is Verdict.KEPT for step in steps)


def _evidence(record: RunRecord, found: CandidateView) -> str:
    """How far its own trial verified it; the run's end measured another text."""
    where = f" on {record.head.device}" if record.head.device else ""
    return f"{found.level or 'not judged'}{where} (as candidate {found.number}: {found.reason})"


def _description(record: RunRecord, found: CandidateView) -> str:
    steps = "; ".join(step.rationale or step.proposer for step in _path(record, found))
    said = f"{steps}. {_NO_CERTIFICATE[0].upper()}{_NO_CERTIFICATE[1:]}"
    if record.around is not None:
        return said
    return f"{said}. {_NOT_COMPARED}" + ("" if record.problem is not None else f", {_NO_SPEC}")
