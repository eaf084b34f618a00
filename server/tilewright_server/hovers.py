"""Hover texts: one for an issue, one for a kernel. Markdown, or ``plain`` made from it."""

import re
from typing import TYPE_CHECKING

from tilewright.analysis.model import Issue
from tilewright.source.model import Config, Kernel
from tilewright_server import wording
from tilewright_server.facts import KernelFacts, Verified

if TYPE_CHECKING:
    from tilewright.knowledge import IssueType

_MAX_CONFIGS = 8


def issue_card(issue: Issue, kind: "IssueType | None", *, with_message: bool = True) -> str:
    """Title, what is so here, why it costs, what to do, what it gains and who says so.

    Without the message for editors that put the diagnostic's own above the card.
    """
    if kind is None:
        return f"**{issue.id}** (severity {issue.severity})\n\n{issue.message}"
    stage = str(issue.stage).replace("_", " ")
    gain = str(kind.gain or "unmeasured").strip()
    source = f" (source: {kind.gain_source})" if kind.gain_source and gain != "unmeasured" else ""
    parts = [
        f"**{kind.title}** `{issue.id}` · {stage} · severity {issue.severity}",
        *([issue.message] if with_message else []),
        f"**Why** {kind.why}".strip(),
        f"**Fix** {kind.fix}".strip(),
        f"**Expected gain** {gain}{source}",
        *_links(kind),
    ]
    return "\n\n".join(parts)


def _links(kind: "IssueType") -> list[str]:
    references = [str(reference) for reference in kind.references or ()]
    return ["**References** " + ", ".join(references)] if references else []


def kernel_card(
    kernel: Kernel, facts: tuple[KernelFacts, ...], failure: str | None, verified: Verified | None
) -> str:
    """Parameters, autotune configurations and what compilers and devices last said."""
    parameters = ", ".join(
        f"{p.name}: constexpr" if p.is_constexpr else p.name for p in kernel.parameters
    )
    parts = [f"**{kernel.name}** · {kernel.language} kernel", f"```python\n({parameters})\n```"]
    if kernel.autotune is not None:
        parts.append(_autotune(kernel))
    parts += [_facts_card(known) for known in facts]
    if not facts:
        parts.append(
            f"Last profile failed: {failure}" if failure else "Not compiled, checked or timed yet."
        )
    if verified is not None:
        parts.append(f"This text was verified {wording.age(verified.taken)}: {verified.evidence}")
    return "\n\n".join(parts)


def _autotune(kernel: Kernel) -> str:
    configs = kernel.autotune.configs if kernel.autotune else None
    if configs is None:
        return "Autotuned; its configurations are not literal in the source."
    lines = [f"- `{_config(config)}`" for config in configs[:_MAX_CONFIGS]]
    if len(configs) > _MAX_CONFIGS:
        lines.append(f"- and {len(configs) - _MAX_CONFIGS} more")
    return f"Autotuned over {len(configs)} configurations:\n" + "\n".join(lines)


def _config(config: Config) -> str:
    pairs = {**config.values, **config.options}
    return ", ".join(f"{k}={'?' if v is None else v}" for k, v in pairs.items())


def _facts_card(facts: KernelFacts) -> str:
    said = wording.facts_phrase(facts, limits=True)
    lines = [f"**{facts.target}**, {wording.age(facts.taken)}: {said}"]
    lines += [f"- {message.text}" for message in facts.messages]
    lines += [f"- {note}" for note in dict.fromkeys(facts.notes) if note not in said]
    return "\n".join(lines)


def plain(markdown: str) -> str:
    """The same text without the marks, for clients that show plain text."""
    return re.sub(r"\*\*|`{3}(python)?\n?|`", "", markdown)
