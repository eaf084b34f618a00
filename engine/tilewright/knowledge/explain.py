"""The page of an issue type, as Markdown."""

from tilewright.knowledge.base import issue_type
from tilewright.knowledge.model import UNMEASURED, AppliesTo, IssueType

SEVERITIES = {1: "advice", 2: "minor", 3: "moderate", 4: "serious", 5: "wrong result or failure"}
_NUMERICS = {
    "exact": "The fix keeps every bit of the result.",
    "reassociating": "The fix may add the same terms in another order.",
    "precision_reducing": "The fix may keep fewer bits of the result.",
    "corrects": "The fix changes a result that is wrong today.",
}
_BACKENDS = {"cuda": "NVIDIA", "hip": "AMD", "xpu": "Intel XPU", "neuron": "AWS Neuron"}
_LANGUAGES = {"triton": "Triton", "nki": "NKI"}


def explain(issue_id: str) -> str:
    """What the issue is, why it matters and how to fix it; KnowledgeError for an unknown id."""
    return _page(issue_type(issue_id))


def _page(issue: IssueType) -> str:
    parts = [
        f"# {issue.title}",
        f"`{issue.id}` · stage {issue.stage} · severity {issue.severity} of 5 "
        f"({SEVERITIES[issue.severity]})",
        issue.summary.strip(),
        f"## Why\n\n{issue.why.strip()}",
        f"## Fix\n\n{issue.fix.strip()}\n\n{_NUMERICS[issue.numerics]}",
    ]
    if issue.unless is not None:
        parts.append(f"## Unless\n\n{issue.unless.strip()}")
    if issue.example is not None:
        parts.append(
            "## Example\n\nBefore:\n\n"
            f"```python\n{issue.example.before.rstrip()}\n```\n\nAfter:\n\n"
            f"```python\n{issue.example.after.rstrip()}\n```"
        )
    parts += [f"## Gain\n\n{_gain(issue)}", f"## Applies to\n\n{_applies(issue.applies_to)}"]
    parts.append(f"## Found by\n\n{_found_by(issue)}")
    if issue.references:
        lines = "\n".join(f"- {reference}" for reference in issue.references)
        parts.append(f"## References\n\n{lines}")
    return "\n\n".join(parts) + "\n"


def _gain(issue: IssueType) -> str:
    if issue.gain == UNMEASURED:
        return "Not measured. `tilewright optimize` measures it on your kernel and device."
    return f"{issue.gain} ({issue.gain_source})"


def _applies(where: AppliesTo) -> str:
    languages = ", ".join(_LANGUAGES[name] for name in where.languages)
    backends = ", ".join(_BACKENDS[name] for name in where.backends)
    versions = "any version" if where.triton == "any" else f"Triton {where.triton}"
    archs = "" if "*" in where.archs else f" ({', '.join(where.archs)})"
    return f"{languages}, {versions}, on {backends}{archs}."


def _found_by(issue: IssueType) -> str:
    if issue.detector:
        return "`tilewright check` and the editor, from the source alone."
    return "Nothing yet: the source alone does not decide it. Proposers are told of it."
