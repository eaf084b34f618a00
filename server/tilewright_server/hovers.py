"""Hover texts: one for an issue, one for a kernel. Markdown, or ``plain`` made from it."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.analysis.model import Issue
from tilewright.source.model import Config, Kernel
from tilewright_server import wording
from tilewright_server.cards import Card
from tilewright_server.compiled_cards import compiled_card, short_compiled
from tilewright_server.kernel_facts import CompiledFacts, ProfileFacts, Verified

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
    blocked: Sequence[str] = (),
) -> Card:
    """What is so here and what can be done; then why it costs, when it does not, and the gain.

    Without the message for editors that put the diagnostic's own above the card.

    Args:
        fixes: quick fixes to ask for.
        blocked: those that cannot be made yet, each with what they need.
    """
    actions = [
        *(f"**Quick fix** {fix}" for fix in fixes),
        *(f"**Quick fix not ready** {one}" for one in blocked),
    ]
    if kind is None:
        title = f"**{issue.id}** (severity {issue.severity})"
        return Card("\n\n".join([title, issue.message, *actions]))
    stage = str(issue.stage).replace("_", " ")
    rule = f"[`{issue.id}`]({page})" if page else f"`{issue.id}`"
    brief = [
        *([issue.message] if with_message else []),
        *actions,
        f"{kind.title} · {rule} · {stage} · severity {issue.severity} of 5",
    ]
    source = f" (source: {kind.gain_source})" if kind.gain_source else ""
    details = [
        f"**Why** {kind.why.strip()}",
        *([f"**Unless** {kind.unless.strip()}"] if kind.unless else []),
        f"**Fix** {kind.fix.strip()}",
        f"**Expected gain** {kind.gain.strip()}{source}",
        *([f"**References** {', '.join(kind.references)}"] if kind.references else []),
    ]
    return Card("\n\n".join(brief), "\n\n".join(details))


def kernel_card(
    kernel: Kernel,
    facts: tuple[ProfileFacts, ...],
    failure: str | None,
    verified: Verified | None,
    compiled: CompiledFacts | None = None,
) -> Card:
    """What compilers and devices last said in a line each; parameters and all figures below."""
    brief = [f"**{kernel.name}** · {kernel.language} kernel{_tuned(kernel)}"]
    lines = [short_compiled(compiled, target) for target in compiled.targets] if compiled else []
    lines += map(_facts_phrase, facts)
    if not facts:
        not_yet = "Not compiled, checked or timed yet." if compiled is None else "Not run here yet."
        lines.append(f"Last profile failed: {failure}" if failure else not_yet)
    brief.append("\n".join(f"- {line}" for line in lines))
    if verified is not None:
        brief.append(f"This text was verified {wording.age(verified.taken)}: {verified.evidence}")
    return Card("\n\n".join(brief), _kernel_details(kernel, facts, compiled))


def _tuned(kernel: Kernel) -> str:
    configs = kernel.autotune.configs if kernel.autotune else None
    return f", {len(configs)} configurations" if configs else ""


def _kernel_details(
    kernel: Kernel, facts: tuple[ProfileFacts, ...], compiled: CompiledFacts | None
) -> str:
    parameters = ", ".join(
        f"{p.name}: constexpr" if p.is_constexpr else p.name for p in kernel.parameters
    )
    parts = [f"```python\n({parameters})\n```"]
    if kernel.autotune is not None:
        parts.append(_autotune(kernel))
    if compiled is not None:
        parts.append(compiled_card(compiled))
    parts += filter(None, map(_facts_details, facts))
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


def _facts_phrase(facts: ProfileFacts) -> str:
    said = wording.facts_phrase(facts, limits=True)
    return f"**{facts.target}**, {wording.age(facts.taken)}: {said}"


def _facts_details(facts: ProfileFacts) -> str:
    """What the phrase does not say."""
    said = _facts_phrase(facts)
    lines = [f"- {message.text}" for message in facts.messages]
    lines += [f"- {finding}" for finding in facts.findings]
    notes = [*([facts.correct_why] if facts.correct_why else []), *facts.notes]
    lines += [f"- {note}" for note in dict.fromkeys(notes) if note not in said]
    return "\n".join(lines)


def whole(cards: Sequence[Card]) -> str:
    """A hover's text: what is read first of each card, then the details of all."""
    briefs = "\n\n---\n\n".join(card.brief for card in cards if card.brief)
    details = "\n\n".join(card.details for card in cards if card.details)
    return "\n\n---\n\n".join(part for part in (briefs, details) if part)


def plain(markdown: str) -> str:
    """The same text without the marks, for clients that show plain text."""
    return re.sub(r"\*\*|`{3}(python)?\n?|`", "", markdown)
