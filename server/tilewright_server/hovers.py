"""Hover texts: one for an issue, one for a kernel. Markdown, or ``plain`` made from it."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.analysis.model import Issue
from tilewright.source.model import Config, Kernel
from tilewright_server import wording
from tilewright_server.compiled_cards import compiled_card
from tilewright_server.compiled_facts import CompiledFacts
from tilewright_server.fact_store import Verified
from tilewright_server.profile_facts import KernelFacts

if TYPE_CHECKING:
    from tilewright.knowledge.model import IssueType

_MAX_CONFIGS = 8


def issue_card(
    issue: Issue,
    kind: "IssueType | None",
    *,
    with_message: bool = True,
    page: str | None = None,
    fixes: Sequence[str] = (),
) -> str:
    """Title, what is so here, why it costs, when it does not, what to do and what that gains.

    Without the message for editors that put the diagnostic's own above the card.
    """
    if kind is None:
        return f"**{issue.id}** (severity {issue.severity})\n\n{issue.message}"
    stage = str(issue.stage).replace("_", " ")
    source = f" (source: {kind.gain_source})" if kind.gain_source else ""
    parts = [
        f"**{kind.title}** `{issue.id}` · {stage} · severity {issue.severity} of 5",
        *([issue.message] if with_message else []),
        f"**Why** {kind.why.strip()}",
        *([f"**Unless** {kind.unless.strip()}"] if kind.unless else []),
        f"**Fix** {kind.fix.strip()}",
        *(f"**Quick fix** {fix}" for fix in fixes),
        f"**Expected gain** {kind.gain.strip()}{source}",
        *_links(kind, page),
    ]
    return "\n\n".join(parts)


def _links(kind: "IssueType", page: str | None) -> list[str]:
    found = [f"**References** {', '.join(kind.references)}"] if kind.references else []
    return [*found, f"[More about `{kind.id}`]({page})"] if page else found


def kernel_card(
    kernel: Kernel,
    facts: tuple[KernelFacts, ...],
    failure: str | None,
    verified: Verified | None,
    compiled: CompiledFacts | None = None,
) -> str:
    """Parameters, autotune configurations and what compilers and devices last said."""
    parameters = ", ".join(
        f"{p.name}: constexpr" if p.is_constexpr else p.name for p in kernel.parameters
    )
    parts = [f"**{kernel.name}** · {kernel.language} kernel", f"```python\n({parameters})\n```"]
    if kernel.autotune is not None:
        parts.append(_autotune(kernel))
    if compiled is not None:
        parts.append(compiled_card(compiled))
    parts += [_facts_card(known) for known in facts]
    if not facts:
        not_yet = "Not compiled, checked or timed yet." if compiled is None else "Not run here yet."
        parts.append(f"Last profile failed: {failure}" if failure else not_yet)
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
    lines += [f"- {finding}" for finding in facts.findings]
    notes = [*([facts.correct_why] if facts.correct_why else []), *facts.notes]
    lines += [f"- {note}" for note in dict.fromkeys(notes) if note not in said]
    return "\n".join(lines)


def plain(markdown: str) -> str:
    """The same text without the marks, for clients that show plain text."""
    return re.sub(r"\*\*|`{3}(python)?\n?|`", "", markdown)
