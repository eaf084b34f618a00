"""Edits that a client shows until a person decides: before one is applied it is looked at again.

A client asks ``tilewright/fits`` with the document and the edit's label, as they were sent to it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from lsprotocol import types
from pydantic import BaseModel, ConfigDict
from pygls.lsp.server import LanguageServer

FITS = "tilewright/fits"
Look = Callable[[], Awaitable[str | None]]
"""Why an edit no longer fits, in a sentence's second half; None where it does."""


class FitsQuestion(BaseModel):
    """Which edit is about to be applied."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    uri: str
    label: str


@dataclass(frozen=True)
class Answer:
    """A person's decision. ``outdated``: why it was not applied although they wanted it."""

    applied: bool
    reason: str | None
    outdated: str | None


@dataclass
class _Waiting:
    look: Look
    outdated: str | None = None


class WaitingEdits:
    """Those that are shown now, by document and label."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, str], _Waiting] = {}

    async def show(
        self, server: LanguageServer, uri: str, edit: types.WorkspaceEdit, label: str, look: Look
    ) -> Answer:
        """Send an edit for a document and wait for the decision."""
        key, waiting = (uri, label), _Waiting(look)
        self._shown[key] = waiting
        params = types.ApplyWorkspaceEditParams(edit=edit, label=label)
        try:
            answer = await server.workspace_apply_edit_async(params)
        finally:
            if self._shown.get(key) is waiting:
                del self._shown[key]
        outdated = None if answer.applied else waiting.outdated
        return Answer(answer.applied, answer.failure_reason, outdated)

    async def fits(self, asked: Any) -> dict[str, str | None]:
        """Why the edit may no longer be applied, under ``reason``; null where it may."""
        question = FitsQuestion.model_validate(asked, from_attributes=True)
        waiting = self._shown.get((question.uri, question.label))
        if waiting is not None:
            waiting.outdated = await waiting.look()
        return {"reason": None if waiting is None else waiting.outdated}
