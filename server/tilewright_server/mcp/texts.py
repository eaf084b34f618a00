"""Answers as text for a model to read: the verdict, the evidence, what was not verified."""

from collections.abc import Iterable, Iterator

from tilewright_server.mcp.answers import (
    Answer,
    CheckAnswer,
    CompileAnswer,
    Compiled,
    EvidenceAnswer,
    ExplainAnswer,
    OptimizeAnswer,
    ProfileAnswer,
    ProfiledKernel,
    VerifyAnswer,
)
from tilewright_server.mcp.shaping import lines

LONGEST = 40_000


def as_text(answer: Answer) -> str:
    """An answer in words; what is cut off is stated."""
    text = "\n".join([answer.verdict, *_body(answer), *lines("Notes:", answer.notes)])
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n(cut here; the structured content is complete)"


def _body(answer: Answer) -> Iterable[str]:
    match answer:
        case CheckAnswer():
            return _check(answer)
        case ExplainAnswer():
            return _explain(answer)
        case CompileAnswer():
            return _compile(answer)
        case VerifyAnswer():
            return _verify(answer)
        case ProfileAnswer():
            return _profile(answer)
        case OptimizeAnswer():
            return _optimize(answer)
        case EvidenceAnswer():
            return _evidence(answer)
        case _:
            raise TypeError(f"no text for {type(answer).__name__}")


def _check(answer: CheckAnswer) -> Iterator[str]:
    for issue in answer.issues:
        yield (
            f"- {issue.path}:{issue.line}: {issue.id} [{issue.stage}, severity {issue.severity}]: "
            f"{issue.message}"
        )
    if answer.left_out:
        yield f"- and {answer.left_out} more of the same or lower severity"
    yield from lines("Not checked:", answer.unreadable)


def _explain(answer: ExplainAnswer) -> Iterator[str]:
    if answer.page is not None:
        yield answer.page
    for issue in answer.issues:
        yield f"- {issue.id} [{issue.stage}, severity {issue.severity}]: {issue.title}"


def _compile(answer: CompileAnswer) -> Iterator[str]:
    for kernel in answer.kernels:
        yield f"{kernel.kernel} (line {kernel.line}, launches: {kernel.launches or 'unknown'})"
        yield from (f"- {_compiled(one)}" for one in kernel.targets)
        yield from (f"- {text}" for text in (*kernel.issues, *kernel.notes))


def _compiled(one: Compiled) -> str:
    if not one.compiles:
        return f"{one.target}: does not compile ({one.toolchain}): {'; '.join(one.messages)}"
    figures = (
        (one.registers, "registers"),
        (one.spill_bytes, "B spilled"),
        (one.shared_bytes, "B shared"),
    )
    known = [f"{value} {unit}" for value, unit in figures if value is not None]
    if one.estimated_us is not None:
        known.append(f"{one.estimated_us:g} us by estimate, not measured, bound by {one.bound}")
    return f"{one.target}: {', '.join(known) or 'compiles'} ({one.toolchain})"


def _verify(answer: VerifyAnswer) -> Iterator[str]:
    where = f" for {answer.target}" if answer.target else ""
    yield f"Level {answer.level}, required {answer.required}, on {answer.device}{where}."
    for step in answer.steps:
        yield f"- {step.step}: {step.status}" + (f": {step.message}" if step.message else "")
    for one in answer.comparisons:
        yield (
            f"- {one.case}, comparisons with {one.oracle}: {one.count}; "
            + (f"{one.wrong:.0f} elements differ, " if one.wrong else "")
            + f"largest error {_number(one.max_abs_error)} "
            f"(rtol {_number(one.rtol)}, atol {_number(one.atol)})"
        )
    yield from lines("Not verified:", answer.not_verified)
    yield f"Evidence: {answer.evidence}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"


def _profile(answer: ProfileAnswer) -> Iterator[str]:
    for kernel in answer.kernels:
        yield f"{kernel.kernel} (line {kernel.line}): {_correct(kernel)}"
        if kernel.time is not None:
            t = kernel.time
            yield (
                f"- {t.median_us:.1f} us [{t.low_us:.1f}, {t.high_us:.1f}] on {t.device}, {t.case}"
            )
        yield from (f"- {text}" for text in (*kernel.findings, *kernel.notes))
    yield from lines("The whole call:", answer.call)


def _correct(kernel: ProfiledKernel) -> str:
    if kernel.correct:
        return "correct"
    word = "not judged" if kernel.correct is None else "wrong result"
    return f"{word}: {kernel.why}"


def _optimize(answer: OptimizeAnswer) -> Iterator[str]:
    for trial in answer.trials:
        kept = "kept" if trial.kept else "not kept"
        yield f"- {trial.number} {kept}: {trial.rationale} ({trial.level}: {trial.reason})"
    yield from lines("Not verified:", answer.not_verified)
    yield from lines("Issues that remain:", answer.remaining)
    if answer.diff:
        yield f"```diff\n{answer.diff}\n```"
    if not answer.diff_complete:
        yield "The diff is cut and cannot be applied; run `tilewright optimize FILE --diff`."
    if answer.evidence:
        yield f"Evidence: {answer.evidence}"


def _evidence(answer: EvidenceAnswer) -> Iterator[str]:
    for one in answer.kernels:
        summary = f": {one.summary}" if one.summary else ""
        changed = f" ({'; '.join(one.changes)})" if one.changes else ""
        yield f"- {one.path}:{one.line}: {one.kernel}: {one.status}{summary}{changed}"
    if answer.certificate is not None:
        yield from _certificate(answer.certificate)


def _certificate(certificate: dict[str, object]) -> Iterator[str]:
    for name, value in certificate.items():
        if isinstance(value, list):
            yield from lines(f"{name}:", (_flat(item) for item in value))
        elif value not in (None, "", {}):
            yield f"{name}: {_flat(value)}"


def _flat(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{n} {_flat(i)}" for n, i in value.items() if i not in (None, "", [], {}))
    if isinstance(value, list):
        return " ".join(_flat(item) for item in value)
    return str(value)
