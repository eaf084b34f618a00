"""An optimization's edit, offered for the present text.

Where the document changed since the run began, the edit is made in the present text as long as
nothing that its verdict is about changed (``rebase.py``). Else it is shown next to the text that it
was verified of, and kept until a person has decided.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException

from tilewright.evaluation.surroundings import changed_around, surroundings, wide_roots_of
from tilewright.home import home
from tilewright.source import parse_module
from tilewright.source.text import digest
from tilewright_server import wording
from tilewright_server.context import ServerContext
from tilewright_server.edits import Evidence, workspace_edit
from tilewright_server.rebase import Fitted, Unfit, fit, named, unified
from tilewright_server.snapshot import Snapshot
from tilewright_server.waiting_edits import Look

SHOW_DIFF = "tilewright/showDiff"
_APPLY, _DISCARD, _SHOW = "Apply", "Discard", "Show Diff"
_MOST_OFFERS = 20
_PAUSE_S = 1.0
_REBASED = (
    "put into the text as it is now: what changed since the run began is nothing that the verdict "
    "is about"
)


@dataclass(frozen=True)
class Decided:
    """What became of an offer; ``keep``: the user has not decided about it yet."""

    said: str
    keep: bool = False


async def offer(
    server: ServerContext,
    sent: Snapshot,
    result: Mapping[str, Any],
    around: Mapping[str, str] | None = None,
) -> Decided:
    """Apply the edit with the person's consent; an edit of the text meanwhile makes it anew.

    Args:
        around: what the verdict depends on outside the file, as the run began; None: not known.
    """
    evidence = wording.evidence(result)

    async def look() -> str | None:
        return await server.in_pool(_moved_on, sent, around)

    if not server.client.apply_edit:
        return Decided(f"this editor cannot apply edits from a server; found: {evidence}")
    for _ in range(_MOST_OFFERS):
        now = server.snapshot(sent.uri)
        if now is None:
            return Decided(f"its edit waits until the file is open again: {evidence}", keep=True)
        fitted = await server.in_pool(_fitted, sent, now.text, result, around)
        if isinstance(fitted, Unfit):
            return await _show_unfit(server, sent, result, fitted)
        if server.snapshot(sent.uri) is not now:
            continue
        decided = await _ask(server, now, fitted, result, look)
        if decided is not None:
            return decided
        await _pause(server, sent.uri)
    return Decided(f"the text changed repeatedly while the edit was shown: {evidence}", keep=True)


def _fitted(
    sent: Snapshot, now: str, result: Mapping[str, Any], around: Mapping[str, str] | None
) -> Fitted | Unfit:
    moved_on = _moved_on(sent, around)
    if moved_on is not None:
        return Unfit(moved_on)
    path = sent.path or sent.uri
    return fit(sent.text, now, str(result["final"]), path, _roots(sent, result))


def _moved_on(sent: Snapshot, around: Mapping[str, str] | None) -> str | None:
    """What changed outside the file of what the verdict depends on, where that is known."""
    if around is None:
        return None
    changed = changed_around(around, surroundings(sent.text, sent.path or sent.uri))
    said = f"{named(changed)} changed since the run began, which its verdict depends on"
    return said if changed else None


def _roots(sent: Snapshot, result: Mapping[str, Any]) -> tuple[str, ...]:
    """What the certificate is about; without one, every kernel and what launches it."""
    certificate = result.get("certificate_file")
    subject = certificate.get("subject") if isinstance(certificate, Mapping) else None
    roots = subject.get("roots") if isinstance(subject, Mapping) else None
    return (
        tuple(map(str, roots)) if roots else wide_roots_of(parse_module(sent.text, sent.path or ""))
    )


async def _ask(
    server: ServerContext, now: Snapshot, fitted: Fitted, result: Mapping[str, Any], look: Look
) -> Decided | None:
    """Show the edit; None where the text, or what ``look`` sees, changed before it was applied."""
    evidence = wording.evidence(result)
    label = f"Tilewright for {result.get('target')}: {evidence}"
    if not server.client.change_annotations and not await _consents(server, label):
        return Decided(f"not applied: {evidence}")
    if server.snapshot(now.uri) is not now or await look() is not None:
        return None
    said = wording.description(result)
    described = f"{said.removesuffix('.')}. {wording.sentence(_REBASED)}" if fitted.moved else said
    edit = workspace_edit(now, fitted.text, Evidence(label, described, ask=True), server.client)
    answer = await server.waiting_edits.show(server, now.uri, edit, label, look)
    if answer.applied:
        server.facts.verify(digest(fitted.text), evidence)
        kept = await certify(server, now, fitted.text, result)
        moved = f"; {_REBASED}" if fitted.moved else ""
        return Decided(f"applied: {evidence}{moved}" + (f"; {kept}" if kept else ""))
    present = server.snapshot(now.uri)
    if answer.outdated or present is None or present.text != now.text:
        return None
    reason = f" ({answer.reason})" if answer.reason else ""
    return Decided(f"not applied{reason}: {evidence}")


async def _pause(server: ServerContext, uri: str) -> None:
    """Wait until the typing pauses: an edit that is shown anew at each key helps nobody."""
    before = None
    while (now := server.snapshot(uri)) is not before:
        before = now
        await asyncio.sleep(_PAUSE_S)


async def _show_unfit(
    server: ServerContext, sent: Snapshot, result: Mapping[str, Any], unfit: Unfit
) -> Decided:
    """Say why the edit does not fit, and show it next to the text that it was verified of."""
    evidence = wording.evidence(result)
    said = f"its edit does not fit the text any more: {unfit.reason}; found: {evidence}"
    if not server.client.message_request:
        return Decided(said, keep=True)
    message = f"Tilewright for {result.get('target')}: {said}"
    answer = await choose(server, message, (_SHOW, _DISCARD))
    if answer == _SHOW:
        await show_diff(server, sent, "Verified edit (of the text as it was)", str(result["final"]))
    return Decided(said, keep=answer != _DISCARD)


async def choose(server: ServerContext, message: str, actions: tuple[str, ...]) -> str | None:
    """A person's answer by a button; None where they gave none."""
    try:
        answer = await server.window_show_message_request_async(
            types.ShowMessageRequestParams(
                type=types.MessageType.Info,
                message=message,
                actions=[types.MessageActionItem(title) for title in actions],
            )
        )
    except JsonRpcException:
        return None
    return answer.title if answer is not None else None


async def show_diff(server: ServerContext, sent: Snapshot, title: str, after: str) -> None:
    """Show two texts in the client's diff view, or, where it has none of ours, as a file."""
    if server.settings.diff_view:
        server.protocol.notify(
            SHOW_DIFF, {"uri": sent.uri, "title": title, "before": sent.text, "after": after}
        )
        return
    place = home() / "editor" / f"{Path(sent.path or 'text').stem}.diff"
    diff = unified(sent.text, after, Path(sent.path or "text").name)
    await server.in_pool(_write_text, place, diff)
    if server.client.show_document:
        uri = str(uris.from_fs_path(str(place)))
        await server.window_show_document_async(types.ShowDocumentParams(uri, take_focus=True))
    else:
        server.warn(f"Tilewright: see {place}")


def _write_text(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8", errors="replace")


async def _consents(server: ServerContext, label: str) -> bool:
    """Ask by message where the editor has no preview of annotated edits."""
    if not server.client.message_request:
        return True
    return await choose(server, label, (_APPLY, _DISCARD)) == _APPLY


async def certify(
    server: ServerContext, snapshot: Snapshot, text: str, result: Mapping[str, Any]
) -> str | None:
    """Write the certificate that came with a result, of a document whose text is ``text``; a word
    on it, None where there is none."""
    data = result.get("certificate_file")
    if data is None or snapshot.path is None:
        return None
    said = await server.in_pool(_write, Path(snapshot.path), text, data)
    server.certificates.forget()
    server.refresh(snapshot.uri)
    return said


def _write(source: Path, text: str, data: Any) -> str:
    """One that is there, still holds and reaches further is left, as the command line does."""
    from tilewright.certificates.files import (
        CertificateError,
        default_place,
        parse_certificate,
        write_certificate,
    )
    from tilewright.certificates.staleness import better_at

    place = default_place(source)
    try:
        certificate = parse_certificate(data, str(place))
        better = better_at(place, parse_module(text, str(source)), certificate)
        if better is not None:
            return f"{place.name} has more evidence and was not replaced ({better.summary})"
        write_certificate(place, certificate)
    except CertificateError as error:
        return f"no certificate: {error}"
    return f"certificate: {place.name}"
