"""``textDocument/codeLens``: above each launched kernel, what is known and what can be done."""

from textwrap import shorten
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from tilewright.source.model import Kernel
from tilewright.source.text import Range
from tilewright_server import wording
from tilewright_server.analysis import Analysis
from tilewright_server.commands.names import OPTIMIZE, PROFILE
from tilewright_server.jobs.manager import JobKind
from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

_LONGEST_REASON = 100


async def code_lens(
    server: "TilewrightServer", params: types.CodeLensParams
) -> list[types.CodeLens] | None:
    """Two lenses a kernel: facts (a click profiles again) and, if code may run, "Optimize…"."""
    read = await server.read(params.text_document.uri)
    if read is None:
        return None
    snapshot, analysis = read
    if snapshot.cell is not None:
        return None  # The engine works on files.
    lenses = []
    for kernel in analysis.module.entry_kernels():
        place = Range(kernel.range.line, 0, kernel.range.line, 0)
        for command in _commands(server, snapshot, analysis, kernel):
            lenses.append(types.CodeLens(range=snapshot.to_lsp(place), command=command))
    return lenses


def _commands(
    server: "TilewrightServer", snapshot: Snapshot, analysis: Analysis, kernel: Kernel
) -> list[types.Command]:
    subject: dict[str, Any] = {"uri": snapshot.uri, "kernel": kernel.name}
    optimize = types.Command(
        title="Optimize…",
        command=OPTIMIZE,
        arguments=[{**subject, "version": snapshot.version, "target": None}],
    )
    facts = server.facts.of(analysis, snapshot, kernel.name)
    titles = [wording.short_facts(known) for known in facts] or [_unknown(server, snapshot, kernel)]
    profile = [types.Command(title=title, command=PROFILE, arguments=[subject]) for title in titles]
    return [*profile, optimize] if server.settings.trusted else profile


def _unknown(server: "TilewrightServer", snapshot: Snapshot, kernel: Kernel) -> str:
    if not server.settings.trusted:
        return "not profiled: this workspace is not trusted"
    active = server.jobs.active(JobKind.PROFILE, snapshot.uri)
    if active:
        return "waiting for another job…" if active[-1].run is None else "profiling…"
    failure = server.facts.failure(snapshot.uri, snapshot.hash)
    if failure is None:
        return "Profile"
    return f"profile failed: {shorten(failure, _LONGEST_REASON, placeholder='…')}"
