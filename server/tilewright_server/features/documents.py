"""``textDocument/didOpen``, ``didChange``, ``didClose``, ``didSave``; the text is up to date.

``notebookDocument/*``: a cell may change the meaning of every other.
"""

from lsprotocol import types

from tilewright.source.model import Language
from tilewright_server.jobs.manager import Job, JobKind
from tilewright_server.jobs.profile import profile, replace_running
from tilewright_server.jobs.run_watch import find_runs
from tilewright_server.server import TilewrightServer


def did_open(server: TilewrightServer, params: types.DidOpenTextDocumentParams) -> None:
    """Publish, and compile the opened file."""
    server.publisher.schedule(params.text_document.uri)
    server.compiling.opened(params.text_document.uri)
    server.launches.opened(params.text_document.uri)
    server.background("findRuns", find_runs, server, params.text_document.uri)


def did_change(server: TilewrightServer, params: types.DidChangeTextDocumentParams) -> None:
    """Publish; what is being compiled is taken up again when the typing pauses."""
    server.collection.changed()
    server.publisher.schedule(params.text_document.uri)
    server.compiling.changed(params.text_document.uri)
    server.launches.changed(params.text_document.uri)
    server.run_watch.changed(params.text_document.uri)
    server.applied_fixes.changed(params.text_document.uri)


def did_close(server: TilewrightServer, params: types.DidCloseTextDocumentParams) -> None:
    """Remove the diagnostics and stop background jobs of the document."""
    server.publisher.close(params.text_document.uri)
    replace_running(server, params.text_document.uri)
    server.compiling.closed(params.text_document.uri)
    server.launches.closed(params.text_document.uri)


def did_save(server: TilewrightServer, params: types.DidSaveTextDocumentParams) -> None:
    """Profile only where code of this workspace may run and the person wants it."""
    server.certificates.forget()
    # Not every client watches files, and a spec is also checked against the saved source.
    server.background("readProjects", server.read_projects_again)
    server.compiling.saved(params.text_document.uri)
    server.launches.saved()
    if server.settings.trusted and server.settings_of(params.text_document.uri).profile_on_save:
        server.background("profileOnSave", _profile_if_new, server, params.text_document.uri)


async def _profile_if_new(server: TilewrightServer, uri: str) -> None:
    """Start a profile unless the facts for this target are known or on their way."""
    snapshot = server.snapshot(uri)
    if snapshot is None or not snapshot.is_python or snapshot.path is None:
        return
    parsed = await server.parse(snapshot)
    entries = [kernel.name for kernel in parsed.module.entry_kernels()]
    problem = (await server.project(snapshot)).problem
    if problem is not None:  # NKI kernels are called like functions, by what the spec says.
        kernels = parsed.module.kernels
        entries += [
            k.name for k in kernels if k.language is Language.NKI and k.name == problem.entry.name
        ]
    if not entries:
        return
    target = await server.pick_target(snapshot)
    known = [server.facts.profiled(parsed, snapshot, name) for name in entries]
    running = server.jobs.active(JobKind.PROFILE, uri)
    if any((job.text_hash, job.target) == (snapshot.hash, target) for job in running):
        return
    replace_running(server, uri)
    if not all(any(facts.target == target for facts in each) for each in known):
        job = Job(JobKind.PROFILE, uri, target, quiet=True, text_hash=snapshot.hash)
        server.jobs.start(job, lambda job: profile(server, job, snapshot))
        server.refresh(uri)


def notebook_did_open(
    server: TilewrightServer, params: types.DidOpenNotebookDocumentParams
) -> None:
    """Publish at once."""
    for document in params.cell_text_documents:
        server.publisher.schedule(document.uri)


def notebook_did_change(
    server: TilewrightServer, params: types.DidChangeNotebookDocumentParams
) -> None:
    """Publish every cell: one may change the meaning of all."""
    cells = params.change.cells
    structure = cells.structure if cells is not None else None
    for closed in (structure.did_close if structure is not None else None) or ():
        server.publisher.close(closed.uri)
    server.publisher.schedule_refresh()
    for uri in server.cells_of(params.notebook_document.uri):
        server.publisher.schedule(uri)


def notebook_did_close(
    server: TilewrightServer, params: types.DidCloseNotebookDocumentParams
) -> None:
    """Take the diagnostics away."""
    for document in params.cell_text_documents:
        server.publisher.close(document.uri)
