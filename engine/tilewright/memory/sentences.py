"""Entries in words, without their code, for prompts, reports and the terminal."""

from tilewright.memory.model import Experience, Outcome, Recalled


def entry_words(recalled: Recalled) -> str:
    """An entry as one paragraph."""
    entry = recalled.entry
    parts = [f"{headline(entry)}.", entry.mechanism.strip()]
    parts += [f"It applies when {one.statement}." for one in entry.when]
    parts += [f"Avoid it when {one.statement.rstrip('.')}." for one in entry.avoid]
    return " ".join(filter(None, parts))


def headline(entry: Experience) -> str:
    """What was changed and what it brought, with its interval: one line."""
    measured = entry.measured
    if entry.outcome is Outcome.HELPED:
        effect = f"{measured.ratio:.2f}x faster [{measured.low:.2f}, {measured.high:.2f}]"
    else:
        effect = (
            f"{1 / measured.ratio:.2f}x slower [{1 / measured.high:.2f}, {1 / measured.low:.2f}]"
        )
    return f"{entry.title}: {effect} on {measured.device}"
