"""``textDocument/inlayHint``: shapes behind names; bytes and spills behind lines."""

from collections.abc import Iterator
from dataclasses import replace

from lsprotocol import types

from tilewright.analysis.tile_uses import settings_at, tile_uses
from tilewright.figures import counted, kibibytes
from tilewright.source.model import Kernel, Language
from tilewright.source.text import Range
from tilewright_server.analysis_cache import Analysis
from tilewright_server.backend import ONE_AT_A_TIME
from tilewright_server.kernel_facts import CompiledFacts
from tilewright_server.server import TilewrightServer
from tilewright_server.settings import Settings
from tilewright_server.snapshot import Snapshot
from tilewright_server.tile_places import Hint, hints_in

_STALE = " (stale)"


async def inlay_hint(
    server: TilewrightServer, params: types.InlayHintParams
) -> list[types.InlayHint] | None:
    """The hints of the lines that are asked for, of the kinds that the person wants."""
    if not server.settings.inlay_hints:
        return None
    read = await server.read(params.text_document.uri)
    if read is None:
        return None
    snapshot, analysis = read
    asked = snapshot.from_lsp(params.range)
    found = await server.in_pool(_hints, server, snapshot, analysis, asked)
    return [_hint(snapshot, hint) for hint in found if snapshot.holds(hint.line)]


def _hints(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, asked: Range
) -> list[Hint]:
    first, last = asked.line, asked.end_line
    found = list(_of_analysis(server, snapshot, analysis, first, last))
    for held in server.held_kernels(snapshot, analysis):
        inside = held.kernel.range
        then = _of_analysis(server, snapshot, held.analysis, inside.line, inside.end_line)
        for hint in then:
            line = held.moved.now(hint.line)
            if line is not None and first <= line <= last:
                label = hint.label + (_STALE if hint.is_figure else "")
                found.append(replace(hint, line=line, label=label))
    return found


def _of_analysis(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, first: int, last: int
) -> Iterator[Hint]:
    settings = server.settings
    if settings.inlay_shapes:
        yield from hints_in(analysis, first, last)
    for kernel in analysis.module.kernels:
        if kernel.range.line > last or kernel.range.end_line < first:
            continue
        facts = server.facts.compiled(analysis, snapshot, kernel.name)
        labels = dict(_figures(analysis, kernel, facts, settings))
        for line, label in sorted(labels.items()):
            if first <= line <= last:
                column = len(analysis.module.index.lines[line - 1].rstrip())
                yield Hint(line, column, f"  {label}", is_figure=True)


def _figures(
    analysis: Analysis, kernel: Kernel, facts: CompiledFacts | None, settings: Settings
) -> Iterator[tuple[int, str]]:
    """What stands behind lines: bytes of tiles and of an access, and spills."""
    found: dict[int, list[str]] = {}
    if settings.inlay_bytes and kernel.language is Language.TRITON:
        for line, text in _tile_bytes(analysis, kernel):
            found.setdefault(line, []).append(text)
    for line, text in _compiled(analysis, facts, settings) if facts is not None else ():
        found.setdefault(line, []).append(text)
    for line, parts in found.items():
        yield line, ", ".join(dict.fromkeys(parts))


def _tile_bytes(analysis: Analysis, kernel: Kernel) -> Iterator[tuple[int, str]]:
    """Bytes that a load or store moves in one program, where type and extents are known."""
    with ONE_AT_A_TIME:
        uses = tile_uses(analysis.module, kernel, analysis.context)
    settings = settings_at(analysis.module, kernel, analysis.context, kernel.range.end_line)
    if settings is None:
        return
    for use in uses:
        size = use.size(settings.values)
        if size is not None and use.kind != "dot":
            yield use.line, kibibytes(size)


def _compiled(
    analysis: Analysis, facts: CompiledFacts, settings: Settings
) -> Iterator[tuple[int, str]]:
    """Bytes an access of a thread, and spills, of the first launch that was compiled."""
    report = next((one for one in facts.reports if one.ok), None)
    for line in report.lines if report is not None else ():
        now = facts.line_now(analysis.module, line.line)
        if now is None:
            continue
        wide = {a.bits // 8 for a in line.accesses if a.bits and a.space == "global"}
        if settings.inlay_bytes and wide:
            yield now, f"{min(wide)} B an access"
        spills = line.spill_loads + line.spill_stores
        if settings.inlay_spills and spills:
            yield now, counted(spills, "spill")


def _hint(snapshot: Snapshot, hint: Hint) -> types.InlayHint:
    place = Range(hint.line, hint.column, hint.line, hint.column)
    kind = None if hint.is_figure else types.InlayHintKind.Type
    return types.InlayHint(position=snapshot.to_lsp(place).start, label=hint.label, kind=kind)
