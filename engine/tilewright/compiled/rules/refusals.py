"""Launches that a compiler refuses, or that a chip would not start."""

from collections.abc import Iterator

from tilewright.compiled.model import Seen, Subject
from tilewright.compiled.places import known_line, line_range, name_of
from tilewright.knowledge.model import ADVICE, HINT
from tilewright.source.text import Range
from tilewright.targets.model import CompileMessage, CompileReport

_ASSUMED = (
    "what was assumed of its arguments may be what is refused: "
    "`tilewright capture` records a real launch"
)


def does_not_compile(subject: Subject) -> Iterator[Seen]:
    """The compiler's first message, where it says it."""
    report = subject.report
    if report.ok or _over_limit(report):
        return
    message = report.messages[0] if report.messages else CompileMessage("no reason was given")
    elsewhere = sorted({str(r.target) for r in subject.reports if r.ok} - {str(report.target)})
    assumed = subject.inferred and not elsewhere
    lead = "does not compile for {targets}{which}: "
    if elsewhere:
        lead = f"compiles for {', '.join(elsewhere)}, not for {{targets}}{{which}}: "
    yield Seen(
        _where(subject, message),
        " ".join(message.text.split()).rstrip("."),
        _ASSUMED if assumed else "",
        lead=lead,
        severity=HINT if assumed else ADVICE if _others_run(subject) else None,
    )


def shared_memory_over_limit(subject: Subject) -> Iterator[Seen]:
    """A program that takes more shared memory than the chip gives one."""
    report = subject.report
    if not _over_limit(report):
        return
    assert report.shared_bytes is not None
    assert report.shared_limit is not None
    yield Seen(
        name_of(subject.kernel),
        f"a program needs {report.shared_bytes} bytes of shared memory where "
        f"{report.shared_limit} are allowed, so that the launch fails",
        _smaller(subject),
        amount=report.shared_bytes,
        severity=ADVICE if _others_run(subject) else None,
    )


def _over_limit(report: CompileReport) -> bool:
    needs, allows = report.shared_bytes, report.shared_limit
    return not report.ok and needs is not None and allows is not None and needs > allows


def _smaller(subject: Subject) -> str:
    stages = subject.launch.options.get("num_stages")
    if isinstance(stages, int) and stages > 1:
        return f"use fewer than num_stages={stages}, or smaller tiles"
    return "use smaller tiles, or fewer num_stages"


def _others_run(subject: Subject) -> bool:
    """Whether another configuration for the same chip is left for an autotuner to choose."""
    return any(r.ok and r.target == subject.report.target for r in subject.reports)


def _where(subject: Subject, message: CompileMessage) -> Range:
    if not known_line(subject.module, message.line):
        return name_of(subject.kernel)
    assert message.line is not None
    where = line_range(subject.module, message.line)
    if message.column is None or not where.column <= message.column < where.end_column:
        return where
    return Range(where.line, message.column, where.line, where.end_column)
