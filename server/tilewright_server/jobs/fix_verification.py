"""A quick fix that was applied is verified as an optimization's edit is: no second way without
evidence.

Clients do not say that they applied an action. A document whose text has become what an action was
to make of it has it applied, also where it was previewed first or made on save.
"""

import contextlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsprotocol import types

from tilewright.lru import LruDict
from tilewright_server import wording
from tilewright_server.context import ServerContext
from tilewright_server.edits import Evidence, match_line_ends, workspace_edit
from tilewright_server.jobs.engine_job import run_engine
from tilewright_server.jobs.manager import Job, JobKind, JobState
from tilewright_server.jobs.offer import certify, choose
from tilewright_server.snapshot import Snapshot

_REMEMBERED = 64
_KEEP, _UNDO = "Write Certificate", "Undo Fix"


@dataclass(frozen=True)
class Offered:
    """An edit that was handed out: what it is called, and the texts before and after it."""

    title: str
    before: str
    after: str


class AppliedFixes:
    """Edits of actions that were handed out, until the document's text is what they make of it."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._offered: LruDict[tuple[str, str], Offered | None] = LruDict(_REMEMBERED)
        self._said: set[tuple[str, str]] = set()
        self._uris: set[str] = set()

    def offer(self, snapshot: Snapshot, new: str, title: str) -> None:
        """Remember an edit that a client may apply."""
        if snapshot.path is None or snapshot.cell is not None:
            return
        after = match_line_ends(snapshot.text, new)
        self._uris.add(snapshot.uri)
        self._offered.put((snapshot.uri, after), Offered(title, snapshot.text, after))

    def changed(self, uri: str) -> None:
        """Verify the edit whose result the document's text now is."""
        settings = self._server.settings
        if uri not in self._uris or not settings.verify_fixes or not settings.trusted:
            return
        snapshot = self._server.snapshot(uri)
        offered = self._offered.get((uri, snapshot.text)) if snapshot is not None else None
        if snapshot is not None and offered is not None:
            self._offered.put((uri, snapshot.text), None)  # an undo and a redo verify nothing anew
            self._server.background("verifyFix", self._verify, snapshot, offered)

    async def _verify(self, snapshot: Snapshot, offered: Offered) -> None:
        server = self._server
        project = await server.project(snapshot)
        if project.problem is None and not project.captured:
            why = "there is neither a spec next to the file nor a captured launch of its kernels"
            if (snapshot.uri, why) not in self._said:
                self._said.add((snapshot.uri, why))
                server.inform(f"Tilewright: {offered.title}: not verified, because {why}")
            return
        for job in server.jobs.active(JobKind.VERIFY, snapshot.uri):
            if job.original is not None:
                server.jobs.cancel(job.id, 0.2)  # of a text that another fix has changed since
        target = await server.pick_target(snapshot)
        job = Job(JobKind.VERIFY, snapshot.uri, target, quiet=True, text_hash=snapshot.hash)
        server.jobs.start(job, lambda job: verify_fix(server, job, snapshot, offered))


async def verify_fix(server: ServerContext, job: Job, snapshot: Snapshot, offered: Offered) -> None:
    """Run the engine on the texts before and after a fix, and say what it found."""
    job.original = await server.in_pool(_write, offered.before)
    try:
        outcome = await run_engine(server, job, snapshot, "Verifying the quick fix")
    finally:
        await server.in_pool(_remove, job.original)
    job.result = outcome.result
    if job.state is JobState.STOPPING:
        job.state, job.message = JobState.CANCELLED, "stopped"
        return
    if outcome.result is None:
        job.state, job.message = JobState.FAILED, str(outcome.error)
        server.warn(f"Tilewright: {offered.title}: not verified: {outcome.error}")
        return
    job.state = JobState.DONE
    job.message = f"{offered.title}: {fix_verdict(outcome.result)}"
    server.facts.verify(snapshot.hash, fix_verdict(outcome.result))
    server.refresh(snapshot.uri)
    server.background("sayFixVerdict", _say, server, job, snapshot, offered, outcome.result)


def fix_verdict(result: Mapping[str, Any]) -> str:
    """What a verification found, never more: ``correct on interpreter; speed not measured``."""
    failed, error = result.get("failed"), result.get("error")
    if error:
        return f"not verified: {error['message']}"
    if failed and not result.get("accepted"):
        return f"NOT VERIFIED, {failed['step']}: {failed['message']}"
    return wording.evidence(result)


async def _say(
    server: ServerContext,
    job: Job,
    snapshot: Snapshot,
    offered: Offered,
    result: Mapping[str, Any],
) -> None:
    """Tell the person; a fix that fails can be taken back, one that holds be certified."""
    message = f"Tilewright: {job.message}"
    good, known = bool(result.get("accepted")), result.get("error") is None
    action = _KEEP if good and result.get("certificate_file") else _UNDO
    if not server.client.message_request or not known:
        kind = types.MessageType.Info if good else types.MessageType.Warning
        server.inform(message, kind)
        return
    answer = await choose(server, message, (action,))
    now = server.snapshot(snapshot.uri)
    if answer == _KEEP and (now is None or now.text != snapshot.text):
        server.warn("Tilewright: the text changed since, so no certificate of it was written")
    elif answer == _KEEP:
        server.inform(f"Tilewright: {await certify(server, snapshot, snapshot.text, result)}")
    elif answer == _UNDO and now is not None and now.text == offered.after:
        evidence = Evidence("Tilewright: undo the fix", offered.title, ask=False)
        edit = workspace_edit(now, offered.before, evidence, server.client)
        await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit))
    elif answer == _UNDO:
        server.warn("Tilewright: the text changed since; undo the fix by hand")


def _write(text: str) -> str:
    with tempfile.NamedTemporaryFile("wb", suffix=".py", delete=False) as file:
        file.write(text.encode(errors="replace"))
    return file.name


def _remove(place: str) -> None:
    with contextlib.suppress(OSError):
        Path(place).unlink()
