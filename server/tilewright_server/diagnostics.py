"""Issues and facts as LSP diagnostics. Two sources: what the text says, and what compilers said."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lsprotocol import types

from tilewright.analysis.model import Issue, IssueLevel, Related
from tilewright.analysis.suppression import Notice
from tilewright.source.model import Kernel, SyntaxProblem
from tilewright.source.text import Range
from tilewright_server import wording
from tilewright_server.analysis_cache import Analysis
from tilewright_server.capabilities import ClientFeatures
from tilewright_server.compiled_cards import issue_evidence
from tilewright_server.document_issues import compiled_issues_now, document_issues
from tilewright_server.issue_groups import grouped
from tilewright_server.kernel_facts import CompiledFacts, KernelFactStore, LineMessage, ProfileFacts
from tilewright_server.last_good import HeldKernel
from tilewright_server.settings import Settings
from tilewright_server.snapshot import Snapshot

SOURCE = "tilewright"
COMPILED_SOURCE = "tilewright-compiled"

STALE = "Stale: from before the syntax error."
_LEFT_OUT = "until it does, what is shown for it is from before the error."
_SEVERITIES = {
    IssueLevel.ERROR: types.DiagnosticSeverity.Error,
    IssueLevel.WARNING: types.DiagnosticSeverity.Warning,
    IssueLevel.ADVICE: types.DiagnosticSeverity.Information,
    IssueLevel.HINT: types.DiagnosticSeverity.Hint,
}
_JIT_MARKS = ("triton.jit", "@jit", "nki.jit")


@dataclass(frozen=True)
class Known:
    """What diagnostics are made from, in addition to the analysis.

    ``held`` are kernels that do not parse, as they were when they last did.
    """

    facts: KernelFactStore
    settings: Settings
    client: ClientFeatures
    held: tuple[HeldKernel, ...] = ()


def all_diagnostics(snapshot: Snapshot, analysis: Analysis, known: Known) -> list[types.Diagnostic]:
    """Everything to underline in a document, both tiers, one for each cause in a kernel."""
    facts = known.facts
    document = document_issues(facts, snapshot, analysis)
    issues = [*document.told, *(issue for each in known.held for issue in held_issues(each))]
    found = [
        issue_diagnostic(snapshot, issue, known.settings, known.client)
        for issue in _shown(issues, known.client)
        if snapshot.holds(issue.range.line)
    ]
    found += [
        notice_diagnostic(snapshot, notice)
        for notice in analysis.notices
        if snapshot.holds(notice.range.line)
    ]
    found += skipped_kernels(snapshot, analysis)
    for each, compiled_issues in document.compiled:
        for issue in _shown(compiled_issues, known.client):
            found.append(compiled_diagnostic(snapshot, issue, each, known.settings, known.client))
    for kept in known.held:
        found += _held_compiled(snapshot, kept, known)
    # Only files are profiled.
    for kernel in analysis.module.kernels if snapshot.cell is None else ():
        compiled = facts.compiled_for(analysis, snapshot, kernel.name)
        for profile in facts.profiled(analysis, snapshot, kernel.name):
            compiles = profile.target not in compiled
            found += profile_diagnostics(snapshot, kernel, profile, compiles=compiles)
    return found


def _shown(issues: Sequence[Issue], client: ClientFeatures) -> Sequence[Issue]:
    """Issues of one cause as one, for clients that can show its other places."""
    return grouped(issues) if client.related_information else issues


def held_issues(held: HeldKernel) -> Iterator[Issue]:
    """The issues of a kernel before it stopped parsing, on lines that are still the same."""
    inside = held.kernel.range
    for issue in held.analysis.issues:
        if issue.kernel == held.kernel.name and inside.line <= issue.range.line <= inside.end_line:
            yield from _moved(held, issue)


def _moved(held: HeldKernel, issue: Issue) -> Iterator[Issue]:
    place = _moved_range(held, issue.range)
    if place is not None:
        places = [(related, _moved_range(held, related.range)) for related in issue.related]
        related = tuple(replace(one, range=where) for one, where in places if where is not None)
        yield replace(issue, range=place, related=related)


def _moved_range(held: HeldKernel, place: Range) -> Range | None:
    first, last = held.moved.now(place.line), held.moved.now(place.end_line)
    if first is None or last is None:
        return None
    return replace(place, line=first, end_line=last)


def _held_compiled(
    snapshot: Snapshot, held: HeldKernel, known: Known
) -> Iterator[types.Diagnostic]:
    """What compilers said of the kernel before it stopped parsing, said to be of then."""
    if snapshot.cell is not None:
        return
    facts = known.facts.compiled(held.analysis, snapshot, held.kernel.name)
    if facts is None:
        return
    before = [i for one in compiled_issues_now(held.analysis, facts) for i in _moved(held, one)]
    for issue in _shown(before, known.client):
        made = compiled_diagnostic(snapshot, issue, facts, known.settings, known.client)
        made.message += f"\n{STALE}"
        yield made


def compiled_diagnostic(
    snapshot: Snapshot,
    issue: Issue,
    facts: CompiledFacts,
    settings: Settings,
    client: ClientFeatures,
) -> types.Diagnostic:
    """One compiled issue with its evidence; no more than a remark where the launch is assumed."""
    made = issue_diagnostic(snapshot, issue, settings, client)
    made.message += f"\n{issue_evidence(facts, issue.data)}"
    if facts.origin == "inferred" and issue.level is not IssueLevel.HINT:
        made.severity = types.DiagnosticSeverity.Information
    return made


def issue_diagnostic(
    snapshot: Snapshot, issue: Issue, settings: Settings, client: ClientFeatures
) -> types.Diagnostic:
    """One issue, with its id as code and as data for a quick fix."""
    page = settings.page_of(issue.id)
    return types.Diagnostic(
        range=snapshot.to_lsp(issue.range),
        message=snapshot.with_own_lines(issue.message, issue.range.line),
        severity=_SEVERITIES[issue.level],
        code=issue.id,
        code_description=types.CodeDescription(href=page) if page else None,
        source=SOURCE,
        tags=_tags(issue),
        related_information=_related(snapshot, issue.related, client),
        data={"issue": issue.id, "kernel": issue.kernel},
    )


def notice_diagnostic(snapshot: Snapshot, notice: Notice) -> types.Diagnostic:
    """Something odd in a comment that is meant for Tilewright."""
    return types.Diagnostic(
        range=snapshot.to_lsp(notice.range),
        message=wording.sentence(notice.message),
        severity=types.DiagnosticSeverity.Information,
        code="directive",
        source=SOURCE,
    )


def _tags(issue: Issue) -> list[types.DiagnosticTag] | None:
    if "deprecated" in issue.id:
        return [types.DiagnosticTag.Deprecated]
    if issue.id.startswith(("unused_", "dead_")):
        return [types.DiagnosticTag.Unnecessary]
    return None


def _related(
    snapshot: Snapshot, related: tuple[Related, ...], client: ClientFeatures
) -> list[types.DiagnosticRelatedInformation] | None:
    if not related or not client.related_information:
        return None
    return [
        types.DiagnosticRelatedInformation(
            location=types.Location(uri=snapshot.uri, range=snapshot.to_lsp(place.range)),
            message=place.message,
        )
        for place in related
        if snapshot.holds(place.range.line)
    ]


def skipped_kernels(snapshot: Snapshot, analysis: Analysis) -> list[types.Diagnostic]:
    """Where a kernel stops parsing; other syntax errors are for Python's server."""
    parsed = {kernel.name_range.line for kernel in analysis.module.kernels}
    places: dict[int, SyntaxProblem] = {}
    for problem in analysis.module.problems:
        line = _definition_above(snapshot, problem.range.line)
        if line is not None:
            places.setdefault(line, problem)
    return [
        types.Diagnostic(
            range=snapshot.to_lsp(problem.range),
            message=f"This kernel does not parse ({problem.message}); {_LEFT_OUT}",
            severity=types.DiagnosticSeverity.Information,
            code="kernel_does_not_parse",
            source=SOURCE,
        )
        for line, problem in sorted(places.items())
        if snapshot.holds(problem.range.line) and line not in parsed and _is_jitted(snapshot, line)
    ]


def _definition_above(snapshot: Snapshot, line: int) -> int | None:
    """The 1-based line of the function definition that a line most likely belongs to."""
    for candidate in range(min(line, snapshot.table.count), 0, -1):
        if snapshot.table.line(candidate - 1).lstrip().startswith("def "):
            return candidate
    return None


def _is_jitted(snapshot: Snapshot, line: int) -> bool:
    """Whether the lines directly above a definition decorate it as a kernel."""
    for candidate in range(line - 1, 0, -1):
        text = snapshot.table.line(candidate - 1)
        if any(mark in text for mark in _JIT_MARKS):
            return True
        if not text.strip():
            return False
    return False


def profile_diagnostics(
    snapshot: Snapshot, kernel: Kernel, facts: ProfileFacts, *, compiles: bool = True
) -> list[types.Diagnostic]:
    """Problems that a profile found in the kernel's current text.

    Args:
        compiles: whether to say what its compiler refused or spilled.
    """
    found = _refused_or_spilled(snapshot, kernel, facts) if compiles else []
    if facts.correct is False:
        name = snapshot.to_lsp(kernel.name_range)
        where = facts.device or "the device"
        seen = facts.correct_why or "it differs from the reference"
        text = f"{facts.target}: the result is wrong on {where}: {seen}"
        found.append(_compiled(name, text, types.DiagnosticSeverity.Error, "wrong_result"))
    return found


def _refused_or_spilled(
    snapshot: Snapshot, kernel: Kernel, facts: ProfileFacts
) -> list[types.Diagnostic]:
    severity = (
        types.DiagnosticSeverity.Error
        if facts.compiled is False
        else types.DiagnosticSeverity.Information
    )
    found = [
        _compiled(
            snapshot.to_lsp(_line_range(snapshot, kernel, message)),
            f"{facts.target}: {message.text}",
            severity,
            "compile_error" if facts.compiled is False else "compile_message",
        )
        for message in facts.messages
    ]
    name = snapshot.to_lsp(kernel.name_range)
    if facts.compiled is False and not facts.messages:
        found.append(
            _compiled(name, f"{facts.target}: does not compile.", severity, "compile_error")
        )
    if facts.spill_bytes:
        text = f"{facts.target}: {facts.spill_bytes} bytes of registers a thread spill to memory."
        found.append(_compiled(name, text, types.DiagnosticSeverity.Warning, "register_spills"))
    return found


def _compiled(
    place: types.Range, text: str, severity: types.DiagnosticSeverity, code: str
) -> types.Diagnostic:
    return types.Diagnostic(
        range=place, message=text, severity=severity, code=code, source=COMPILED_SOURCE
    )


def _line_range(snapshot: Snapshot, kernel: Kernel, message: LineMessage) -> Range:
    if message.line is None:
        return kernel.name_range
    line = min(max(kernel.range.line + message.line, 1), snapshot.table.count)
    text = snapshot.table.line(line - 1)
    start = message.column if message.column is not None else len(text) - len(text.lstrip())
    return Range(line, min(start, len(text)), line, len(text))
