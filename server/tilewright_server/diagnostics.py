"""Issues and facts as LSP diagnostics. Two sources: what the text says, and what compilers said."""

from lsprotocol import types

from tilewright.analysis.model import Issue, Related
from tilewright.analysis.suppression import Notice, visible_issues
from tilewright.knowledge.stages import Stage
from tilewright.source.model import Kernel
from tilewright.source.text import Range
from tilewright_server import wording
from tilewright_server.analysis_cache import Analysis
from tilewright_server.capabilities import ClientFeatures
from tilewright_server.compiled_cards import issue_evidence
from tilewright_server.compiled_facts import CompiledFacts
from tilewright_server.fact_store import KernelFactStore
from tilewright_server.profile_facts import KernelFacts, LineMessage
from tilewright_server.settings import Settings
from tilewright_server.snapshot import Snapshot

SOURCE = "tilewright"
COMPILED_SOURCE = "tilewright-compiled"

_JIT_MARKS = ("triton.jit", "@jit", "nki.jit")


def severity_of(issue: Issue) -> types.DiagnosticSeverity:
    """Error only for what computes or launches wrongly; the cost of the rest decides its place."""
    if issue.stage is Stage.CORRECTNESS and issue.severity >= 4:
        return types.DiagnosticSeverity.Error
    if issue.severity >= 3:
        return types.DiagnosticSeverity.Warning
    if issue.severity == 2:
        return types.DiagnosticSeverity.Information
    return types.DiagnosticSeverity.Hint


def all_diagnostics(
    snapshot: Snapshot,
    analysis: Analysis,
    facts: KernelFactStore,
    settings: Settings,
    client: ClientFeatures,
) -> list[types.Diagnostic]:
    """Everything to underline in a document, both tiers."""
    found = [
        issue_diagnostic(snapshot, issue, settings, client)
        for issue in analysis.issues
        if snapshot.holds(issue.range.line)
    ]
    found += [
        notice_diagnostic(snapshot, notice)
        for notice in analysis.notices
        if snapshot.holds(notice.range.line)
    ]
    found += skipped_kernels(snapshot, analysis)
    for each in facts.all_compiled(analysis, snapshot):
        for issue in shown_issues(analysis, each):
            found.append(compiled_diagnostic(snapshot, issue, each, settings, client))
    # Only files are profiled.
    for kernel in analysis.module.kernels if snapshot.cell is None else ():
        told = facts.compiled_for(analysis, snapshot, kernel.name)
        for known in facts.profiled(analysis, snapshot, kernel.name):
            compiles = known.target not in told
            found += profile_diagnostics(snapshot, kernel, known, compiles=compiles)
    return found


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
    if facts.origin == "inferred" and severity_of(issue) is not types.DiagnosticSeverity.Hint:
        made.severity = types.DiagnosticSeverity.Information
    return made


def shown_issues(analysis: Analysis, facts: CompiledFacts) -> tuple[Issue, ...]:
    """A kernel's compiled issues in the text as it is now, without the ignored ones."""
    issues = facts.issues_in(analysis.module)
    return visible_issues(analysis.module, issues, analysis.silenced)


def every_issue(facts: KernelFactStore, snapshot: Snapshot, analysis: Analysis) -> list[Issue]:
    """What the text shows, and then what its compiled code shows."""
    known = facts.all_compiled(analysis, snapshot)
    return [*analysis.issues, *(issue for each in known for issue in shown_issues(analysis, each))]


def issue_diagnostic(
    snapshot: Snapshot, issue: Issue, settings: Settings, client: ClientFeatures
) -> types.Diagnostic:
    """One issue, with its id as code and as data for a quick fix."""
    page = settings.page_of(issue.id)
    return types.Diagnostic(
        range=snapshot.to_lsp(issue.range),
        message=issue.message,
        severity=severity_of(issue),
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
    """Kernels that do not parse; other syntax errors are for Python's server."""
    parsed = {kernel.name_range.line for kernel in analysis.module.kernels}
    lines = {_definition_above(snapshot, p.range.line) for p in analysis.module.problems}
    return [
        types.Diagnostic(
            range=snapshot.to_lsp(Range(line, 0, line, len(snapshot.table.line(line - 1)))),
            message="This kernel does not parse; Tilewright leaves it out until it does.",
            severity=types.DiagnosticSeverity.Information,
            code="kernel_does_not_parse",
            source=SOURCE,
        )
        for line in sorted(line for line in lines if line is not None)
        if snapshot.holds(line) and line not in parsed and _is_jitted(snapshot, line)
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
    snapshot: Snapshot, kernel: Kernel, facts: KernelFacts, *, compiles: bool = True
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
    snapshot: Snapshot, kernel: Kernel, facts: KernelFacts
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
