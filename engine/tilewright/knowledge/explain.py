"""The page of an issue type or of a pattern, as Markdown."""

from tilewright.knowledge.base import all_patterns, issue_type, patterns_of
from tilewright.knowledge.model import ADVICE, UNMEASURED, AppliesTo, Example, IssueType
from tilewright.knowledge.patterns import Pattern

SEVERITIES = {1: "hint", 2: "advice", 3: "moderate", 4: "serious", 5: "wrong result or failure"}
_NUMERICS = {
    "exact": "The fix keeps every bit of the result.",
    "reassociating": "The fix may add the same terms in another order.",
    "precision_reducing": "The fix may keep fewer bits of the result.",
    "corrects": "The fix changes a result that is wrong today.",
}
_BACKENDS = {"cuda": "NVIDIA", "hip": "AMD", "xpu": "Intel XPU", "neuron": "AWS Neuron"}
_LANGUAGES = {"triton": "Triton", "nki": "NKI"}


def explain(entry_id: str) -> str:
    """What an issue is, why it matters and how to fix it, or what a pattern does and when.

    KnowledgeError for an unknown id.
    """
    pattern = all_patterns().get(entry_id)
    return _page(issue_type(entry_id)) if pattern is None else _pattern_page(pattern)


def _page(issue: IssueType) -> str:
    parts = [
        f"# {issue.title}",
        f"`{issue.id}` · stage {issue.stage} · severity {issue.severity} of 5 "
        f"({SEVERITIES[issue.severity]}){_limit(issue)}",
        issue.summary.strip(),
        f"## Why\n\n{issue.why.strip()}",
        f"## Fix\n\n{issue.fix.strip()}\n\n{_NUMERICS[issue.numerics]}",
    ]
    if issue.unless is not None:
        parts.append(f"## Unless\n\n{issue.unless.strip()}")
    if issue.example is not None:
        parts.append(f"## Example\n\n{_example(issue.example)}")
    parts += [f"## Gain\n\n{_gain(issue)}", f"## Applies to\n\n{_applies(issue.applies_to)}"]
    parts.append(f"## Found by\n\n{_found_by(issue)}")
    parts += [f"## Pattern: {p.title}\n\n{_summary(p)}" for p in patterns_of(issue.id)]
    return _joined(parts, issue.references)


def _limit(issue: IssueType) -> str:
    where = f"; at most {ADVICE} where no captured launch shows its sizes"
    return where if issue.some_calls else ""


def _pattern_page(pattern: Pattern) -> str:
    parts = [
        f"# {pattern.title}",
        f"`{pattern.id}` · pattern of stage {pattern.stage}",
        f"{pattern.do.strip()}\n\n{_NUMERICS[pattern.numerics]}",
        f"## When\n\n{_preconditions(pattern)}",
    ]
    if pattern.judge is not None:
        parts.append(f"## What needs human judgement\n\n{pattern.judge.strip()}")
    parts += [f"## Example\n\n{_example(pattern.example)}", f"## Gain\n\n{_gain(pattern)}"]
    if pattern.claim is not None:
        parts.append(f"Claimed by others, not measured here: {pattern.claim.strip()}")
    answers = "\n".join(f"- `{issue}`: {issue_type(issue).title}" for issue in pattern.issues)
    parts.append(f"## Answers\n\n{answers}")
    parts.append(f"## Applies to\n\n{_applies(pattern.applies_to)}")
    return _joined(parts, pattern.references)


def _summary(pattern: Pattern) -> str:
    """A pattern on the page of an issue that it answers."""
    return "\n\n".join(
        (
            f"`{pattern.id}` · {_applies(pattern.applies_to)}",
            pattern.do.strip(),
            f"It needs:\n\n{_preconditions(pattern)}",
            _example(pattern.example),
        )
    )


def _preconditions(pattern: Pattern) -> str:
    return "\n".join(f"- {each.statement}" for each in pattern.preconditions)


def _example(example: Example) -> str:
    return (
        f"Before:\n\n```python\n{example.before.rstrip()}\n```\n\n"
        f"After:\n\n```python\n{example.after.rstrip()}\n```"
    )


def _joined(parts: list[str], references: tuple[str, ...]) -> str:
    if references:
        lines = "\n".join(f"- {reference}" for reference in references)
        parts = [*parts, f"## References\n\n{lines}"]
    return "\n\n".join(parts) + "\n"


def _gain(entry: IssueType | Pattern) -> str:
    if entry.gain == UNMEASURED:
        return "Not measured. `tilewright optimize` measures it on your kernel and device."
    return f"{entry.gain} ({entry.gain_source})"


def _applies(where: AppliesTo) -> str:
    languages = ", ".join(_LANGUAGES[name] for name in where.languages)
    backends = ", ".join(_BACKENDS[name] for name in where.backends)
    versions = "any version" if where.triton == "any" else f"Triton {where.triton}"
    archs = "" if "*" in where.archs else f" ({', '.join(where.archs)})"
    return f"{languages}, {versions}, on {backends}{archs}."


def _found_by(issue: IssueType) -> str:
    if issue.tier == "compiled":
        return (
            "`tilewright compile`, `tilewright check --compiled TARGET` and the editor, from what "
            "the compilers of the chosen chips make of the kernel."
        )
    if issue.detector:
        return "`tilewright check` and the editor, from the source alone."
    return "No detector: the source alone does not decide it. Proposers receive it as text."
