"""``textDocument/codeLens``: above each launched kernel, what is known and what can be done.

Titles are so short that those of a kernel fit a line of 100 columns.
"""

from collections.abc import Iterator
from pathlib import PurePath
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from tilewright.source.model import Kernel, Language, Module
from tilewright.source.text import Range
from tilewright_server.analysis_cache import Analysis
from tilewright_server.background_compile import compilable
from tilewright_server.commands.names import (
    COMPARE,
    COMPILE,
    OPTIMIZE,
    PROFILE,
    SHOW_ASSEMBLY,
    SHOW_CERTIFICATE,
    VERIFY,
)
from tilewright_server.compiled_cards import registers_of
from tilewright_server.jobs.manager import JobKind
from tilewright_server.kernel_facts import CompiledFacts, ProfileFacts
from tilewright_server.last_good import HeldKernel
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright.certificates.files import CertificateError
    from tilewright.certificates.staleness import State
    from tilewright.checking.certified import KernelProof

_LONGEST = 56
STALE = " (stale)"
UNPARSED = "does not parse"


async def code_lens(
    server: TilewrightServer, params: types.CodeLensParams
) -> list[types.CodeLens] | None:
    """What compilers made of each kernel, its last profile and, if code may run, "Optimize…"."""
    read = await server.read(params.text_document.uri)
    if read is None:
        return None
    snapshot, analysis = read
    if snapshot.cell is not None:
        return list(cell_lenses(snapshot, analysis))
    lenses = []
    certified = await server.certificates.certificates_of(snapshot, analysis)
    launched = {kernel.name for kernel in _entries(analysis.module)}
    for held in server.held_kernels(snapshot, analysis):
        first = held.moved.now(held.kernel.range.line) or held.line
        place = Range(first, 0, first, 0)
        for command in _held_commands(server, snapshot, held):
            lenses.append(types.CodeLens(range=snapshot.to_lsp(place), command=command))
    for kernel in analysis.module.kernels:
        place = Range(kernel.range.line, 0, kernel.range.line, 0)
        commands = compiled_commands(server, snapshot, analysis, kernel)
        commands += certificate_commands(server, snapshot, certified.proofs.get(kernel.name))
        if kernel.language is Language.NKI:
            commands += await _estimate_commands(server, snapshot, analysis, kernel)
        if kernel.name in launched:
            commands += _commands(server, snapshot, analysis, kernel)
        if certified.faults and kernel is analysis.module.kernels[0]:
            commands += [_fault_command(snapshot, fault) for fault in certified.faults]
        for command in commands:
            lenses.append(types.CodeLens(range=snapshot.to_lsp(place), command=command))
    return lenses


def _held_commands(
    server: TilewrightServer, snapshot: Snapshot, held: HeldKernel
) -> list[types.Command]:
    """Of a kernel that does not parse: figures from before, or a row that holds the place."""
    commands = compiled_commands(server, snapshot, held.analysis, held.kernel)
    for command in commands:
        command.title += STALE
    had_row = held.kernel.name in {kernel.name for kernel in _entries(held.analysis.module)}
    if not commands and had_row:
        return [types.Command(title=UNPARSED, command="")]
    return commands


def cell_lenses(snapshot: Snapshot, analysis: Analysis) -> Iterator[types.CodeLens]:
    """Of a notebook's cell: what its text says. A click says why nothing is run, and the way on."""
    for kernel in analysis.module.kernels:
        if snapshot.holds(kernel.range.line):
            count = sum(issue.kernel == kernel.name for issue in analysis.issues)
            issues = "1 issue" if count == 1 else f"{count or 'no'} issues"
            launched = "launched" if analysis.module.launches_of(kernel.name) else "not launched"
            title = f"{issues}, {launched} in this notebook; not compiled"
            subject = {"uri": snapshot.uri, "kernel": kernel.name}
            command = types.Command(title=title, command=PROFILE, arguments=[subject])
            place = Range(kernel.range.line, 0, kernel.range.line, 0)
            yield types.CodeLens(range=snapshot.to_lsp(place), command=command)


def _entries(module: Module) -> Iterator[Kernel]:
    """Kernels that the host starts: what a launch names, and in NKI what no other kernel calls."""
    yield from module.entry_kernels()
    for kernel in module.kernels:
        if kernel.language is Language.NKI and not module.callers_of(kernel):
            yield kernel


def _commands(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, kernel: Kernel
) -> list[types.Command]:
    subject: dict[str, Any] = {"uri": snapshot.uri, "kernel": kernel.name}
    optimize = types.Command(
        title="Optimize…",
        command=OPTIMIZE,
        arguments=[{**subject, "version": snapshot.version, "target": None}],
    )
    facts = server.facts.profiled(analysis, snapshot, kernel.name)
    told = server.facts.compiled_for(analysis, snapshot, kernel.name)
    titles = [_profile_title(known, compiled=known.target in told) for known in facts]
    if not titles and kernel.language is not Language.NKI:
        titles = [_unknown(server, snapshot, kernel)]
    profile = [types.Command(title=title, command=PROFILE, arguments=[subject]) for title in titles]
    if not server.settings.trusted:
        return profile
    compare = types.Command(title="Compare", command=COMPARE, arguments=[subject])
    return [*profile, optimize, *([compare] if kernel.name in compilable(analysis) else [])]


async def _estimate_commands(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, kernel: Kernel
) -> list[types.Command]:
    """A lens for each NeuronCore: the estimate of an NKI kernel; a click verifies and profiles."""
    from tilewright_server.nki_estimates import kernel_estimates, lens_titles

    problem = (await server.project(snapshot)).problem
    found = await server.in_pool(kernel_estimates, analysis.module, kernel, problem)
    return [
        types.Command(
            title=title,
            command=PROFILE,
            arguments=[{"uri": snapshot.uri, "kernel": kernel.name, "target": chip}],
        )
        for title, chip in lens_titles(found)
    ]


def compiled_commands(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, kernel: Kernel
) -> list[types.Command]:
    """What the first target's compiler said; a click shows its assembly, Compare the others."""
    known = server.facts.compiled(analysis, snapshot, kernel.name)
    if known is not None:
        profiles = server.facts.profiled(analysis, snapshot, kernel.name)
        timed = any(one.time is not None for one in profiles)
        return [_of_target(server, snapshot, known, known.targets[0], bool(profiles), timed)]
    running = server.jobs.active(JobKind.COMPILE, snapshot.uri)
    failure = server.facts.failure(JobKind.COMPILE, snapshot)
    if kernel.name not in compilable(analysis) or not (running or failure):
        return []
    title = f"compiling for {', '.join(running[-1].targets)}…" if running else "not compiled"
    if failure and not running:
        title = f"not compiled: {_short(failure)}"
    return [types.Command(title=title, command=COMPILE, arguments=[{"uri": snapshot.uri}])]


def certificate_commands(
    server: TilewrightServer, snapshot: Snapshot, proof: "KernelProof | None"
) -> list[types.Command]:
    """How far a kernel was verified, or that it changed since; and to verify it again."""
    if proof is None or proof.state is None or proof.place is None:
        return []
    subject = {"uri": snapshot.uri, "kernel": proof.kernel.name, "certificate": proof.place.name}
    title = _certificate_title(proof.state, proof.kernel.name)
    show = types.Command(title=title, command=SHOW_CERTIFICATE, arguments=[subject])
    if not server.settings.trusted:
        return [show]
    busy = server.jobs.active(JobKind.VERIFY, snapshot.uri)
    again = "verifying…" if busy else "Verify again"
    return [show, types.Command(title=again, command=VERIFY, arguments=[subject])]


def _fault_command(snapshot: Snapshot, fault: "CertificateError") -> types.Command:
    """A certificate file that cannot be used; a click opens it."""
    name = PurePath(fault.path or "").name
    title = _short(f"{name} {fault.message}")
    subject = {"uri": snapshot.uri, "certificate": name}
    return types.Command(title=title, command=SHOW_CERTIFICATE, arguments=[subject])


def _of_target(
    server: TilewrightServer,
    snapshot: Snapshot,
    known: CompiledFacts,
    target: str,
    profiled: bool,
    timed: bool,
) -> types.Command:
    title = _compiled_title(known, target, profiled=profiled, timed=timed)
    if server.settings.assembly_view and known.of_target(target):
        place = {"uri": snapshot.uri, "kernel": known.kernel, "target": target}
        return types.Command(title=title, command=SHOW_ASSEMBLY, arguments=[place])
    return types.Command(title=title, command=COMPILE, arguments=[{"uri": snapshot.uri}])


def _unknown(server: TilewrightServer, snapshot: Snapshot, kernel: Kernel) -> str:
    if not server.settings.trusted:
        return "not profiled: this workspace is not trusted"
    active = server.jobs.active(JobKind.PROFILE, snapshot.uri)
    if active:
        return "waiting for another job…" if active[-1].run is None else "profiling…"
    failure = server.facts.failure(JobKind.PROFILE, snapshot)
    if failure is None:
        return "Profile"
    return f"profile failed: {_short(failure)}"


def _compiled_title(
    facts: CompiledFacts, target: str, *, profiled: bool = False, timed: bool = False
) -> str:
    """Registers and spills of one target, and the estimated time where none was measured.

    Args:
        profiled: whether a lens on the profile follows; then only spills that exist are said.
    """
    reports = facts.of_target(target)
    if not reports:
        why = next(iter(facts.notes), "it is not known why")
        return _short(f"{target}: not compiled: {why}")
    good = [report for report in reports if report.ok]
    if not good:
        return f"{target}: does not compile"
    registers = registers_of(good)
    parts = [registers] if registers else []
    spilled = [report.spill_bytes for report in good if report.spill_bytes is not None]
    worst = max(spilled, default=0)
    if spilled and (worst or not profiled):
        parts.append(f"{worst} B spilled" if worst else "no spills")
    best = facts.estimate_of(good[0])
    if best is not None and not timed:
        parts.append(f"est. {best.us:.3g} µs, {best.roofline_percent:.0f} % of roof")
    if len(good) < len(reports):
        parts.append(f"{len(reports) - len(good)} do not compile")
    assumed = " (assumed launch)" if facts.origin == "inferred" else ""
    return f"{target}: {', '.join(parts) or 'compiles'}{assumed}"


def _profile_title(facts: ProfileFacts, *, compiled: bool) -> str:
    """The verdict, and the measured time with its share of the roofline; the chip unless compiled.

    Args:
        compiled: whether another lens says what the compiler did.
    """
    parts = []
    if not compiled and facts.compiled is not None:
        registers = f"{facts.registers} registers, " if facts.registers is not None else ""
        spills = f"{facts.spill_bytes} B spilled" if facts.spill_bytes else "no spills"
        known = f"{registers}{spills}" if facts.spill_bytes is not None else "compiles"
        parts.append(known if facts.compiled else "does not compile")
    where = f" on {facts.device}" if facts.device else ""
    if facts.correct is None:
        parts.append("not checked")
    else:
        parts.append("correct" if facts.correct else f"WRONG RESULT{where}")
    if facts.time is None:
        parts.append("not timed")
    else:
        parts.append(f"{facts.time.median_us:.4g} µs on {facts.time.device}")
        if facts.roof_percent is not None:
            parts.append(f"{facts.roof_percent:.0f} % of roof")
    said = ", ".join(parts)
    return said if compiled else f"{facts.target}: {said}"


def _certificate_title(state: "State", kernel: str) -> str:
    """``verified: faster 1.94x``, or what changed since; the hover has the rest."""
    from tilewright.checking.certified import short_summary

    if state.is_current:
        summary = short_summary(state.certificate)
        for end in (" [", " on ", " in the ", ","):
            summary = summary.partition(end)[0]
        return f"verified: {summary}"
    return _short(f"certificate stale: {state.of_kernel(kernel)[0].text}")


def _short(text: str) -> str:
    """A text cut to what a lens has room for."""
    return shorten(text, _LONGEST, placeholder="…")
