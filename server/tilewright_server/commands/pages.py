"""The commands that open a page: a kernel on several chips, the page of a rule."""

from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls import uris

from tilewright.errors import InputError
from tilewright.home import home
from tilewright.knowledge.explain import explain
from tilewright.knowledge.files import KnowledgeError
from tilewright_server.background_compile import start_inspecting
from tilewright_server.certificate_pages import Rule, certificate_page, relative
from tilewright_server.certificates import SUFFIX
from tilewright_server.commands.arguments import (
    CertificateArguments,
    ExplainArguments,
    KernelArguments,
    read_arguments,
)
from tilewright_server.commands.jobs import NO_CERTIFICATE, refuse, runnable
from tilewright_server.comparison import comparison
from tilewright_server.jobs.manager import Job
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot


async def compare_command(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """Show a kernel's chips side by side; those it was not compiled for are compiled first."""
    wanted = read_arguments(KernelArguments, arguments)
    snapshot = runnable(server, wanted.uri)
    if not isinstance(snapshot, Snapshot):
        return snapshot
    targets = tuple(dict.fromkeys((await server.pick_target(snapshot), *server.settings.targets)))
    analysis = await server.analyze(snapshot)
    known = server.facts.compiled(analysis, snapshot, wanted.kernel)
    if known is not None and len(known.targets) > 1:
        return {"job": None, "uri": await _show_comparison(server, snapshot, wanted.kernel)}
    job = start_inspecting(server, snapshot, targets, quiet=False)
    server.background("compare", _show_when_done, server, snapshot, job, wanted.kernel)
    return {"job": job.id, "uri": None}


async def _show_when_done(
    server: TilewrightServer, snapshot: Snapshot, job: Job, kernel: str
) -> None:
    if job.task is not None:
        await job.task
    await _show_comparison(server, snapshot, kernel)


async def _show_comparison(server: TilewrightServer, snapshot: Snapshot, kernel: str) -> str | None:
    """Write the page and open it; its address, None where nothing is known."""
    analysis = await server.analyze(snapshot)
    known = server.facts.compiled(analysis, snapshot, kernel)
    if known is None:
        return None  # The end of the job has said why.
    profiles = server.facts.profiled(analysis, snapshot, kernel)
    return await _open(server, f"compare-{kernel}", comparison(kernel, known, profiles))


async def explain_command(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """Open the page of a rule or a pattern; the answer has its text too."""
    wanted = read_arguments(ExplainArguments, arguments)
    try:
        text = await server.in_pool(explain, wanted.issue)
    except KnowledgeError as error:
        return refuse(server, str(error))
    return {"uri": await _open(server, wanted.issue, text), "text": text}


async def show_certificate(server: TilewrightServer, *arguments: Any) -> dict[str, Any]:
    """Open a kernel's certificate as a page; a file that cannot be used as it is."""
    wanted = read_arguments(CertificateArguments, arguments)
    snapshot = server.snapshot(wanted.uri)
    if snapshot is None:
        return refuse(server, "the document is not open")
    found = await server.certificates.certificates_of(snapshot, await server.analyze(snapshot))
    proof = found.choose(wanted.kernel, wanted.certificate)
    if proof is not None and proof.place is not None:
        try:
            folder = _folder()
        except InputError as error:
            return refuse(server, f"the page cannot be kept: {error}")
        page = certificate_page(proof, _rule_of(server, folder), folder)
        name = f"certificate-{proof.place.name.removesuffix(SUFFIX)}-{proof.kernel.name}"
        file = proof.place.as_uri()
        return {"uri": await _open(server, name, page), "file": file}
    broken = next((f.path for f in found.faults if f.path is not None), None)
    if broken is None:
        return refuse(server, NO_CERTIFICATE)
    await _show(server, Path(broken))
    return {"uri": Path(broken).as_uri(), "file": Path(broken).as_uri()}


def _folder() -> Path:
    """Where pages lie. Raises InputError: Tilewright's home cannot be made."""
    return home() / "pages"


def _rule_of(server: TilewrightServer, folder: Path) -> Rule:
    """The rule that a rewrite fixes, with its page; None for other proposers."""
    from tilewright.rewrites import all_rewrites

    rules = {f"rewrite:{one.name}": one.issue for one in all_rewrites()}

    def rule_page(proposer: str) -> tuple[str, str | None] | None:
        rule = rules.get(proposer)
        if rule is None:
            return None
        page = server.settings.page_of(rule)
        path = uris.to_fs_path(page) if page is not None and page.startswith("file:") else None
        return rule, page if path is None else relative(Path(path), folder)

    return rule_page


async def _open(server: TilewrightServer, name: str, text: str) -> str | None:
    """A page in Tilewright's home, opened where the client can; else its path is said."""
    try:
        path = _folder() / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except (InputError, OSError) as error:
        server.warn(f"Tilewright: the page cannot be kept: {error}")
        return None
    await _show(server, path)
    return path.as_uri()


async def _show(server: TilewrightServer, path: Path) -> None:
    if server.client.show_document:
        uri = path.as_uri()
        await server.window_show_document_async(types.ShowDocumentParams(uri, take_focus=True))
    else:
        message = types.ShowMessageParams(types.MessageType.Info, f"Tilewright: see {path}")
        server.window_show_message(message)
