"""``textDocument/didSave``: profile the file's kernels in the background; the last save wins."""

from typing import TYPE_CHECKING

from lsprotocol import types

from tilewright_server.jobs.manager import Job, JobKind
from tilewright_server.jobs.profile import profile, replace_running

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


def did_save(server: "TilewrightServer", params: types.DidSaveTextDocumentParams) -> None:
    """Only where code of this workspace may run and the person wants it."""
    if server.settings.trusted and server.settings.profile_on_save:
        server.background("profileOnSave", _profile_if_new, server, params.text_document.uri)


async def _profile_if_new(server: "TilewrightServer", uri: str) -> None:
    """Start a profile unless every kernel's facts for this target are known already."""
    read = await server.read(uri)
    if read is None:
        return
    snapshot, analysis = read
    target = server.settings.default_target
    unknown = [
        kernel.name
        for kernel in analysis.module.entry_kernels()
        if not any(facts.target == target for facts in server.facts.of(analysis, kernel.name))
    ]
    replace_running(server, uri)
    if unknown and snapshot.path is not None:
        job = Job(JobKind.PROFILE, uri, target)
        server.jobs.start(job, lambda job: profile(server, job, snapshot, quiet=True))
        server.refresh(uri)
