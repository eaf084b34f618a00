"""Slow-fast pairs: which contests are worth remembering, and what is remembered of them."""

import difflib
import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from tilewright.evaluation.model import Evaluation, Speedup, StepName
from tilewright.knowledge.base import all_patterns, taxonomy
from tilewright.memory.conditions import exception_of
from tilewright.memory.model import (
    Experience,
    Measured,
    Outcome,
    Transition,
    key_of,
)
from tilewright.rewrites import all_rewrites

LONGEST_DIFF = 40
"""Lines of a diff that are kept; the rest is counted."""
LONGEST_LINE = 240
"""Characters of one that are kept: a table in a file can be one line of a megabyte."""
MOST_NAMES = 256
_LONGEST_TITLE = 160
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_FIGURES = ("registers", "spill_bytes", "shared_bytes")
_PUBLIC = ("rewrite:", "pattern:")


@dataclass(frozen=True)
class Thresholds:
    """The least effects that are remembered, and how many.

    Attributes:
        gain: speed-up above which a pair helps; ``loss``: slow-down above which it hurts. Both are
            compared with the bound of the interval that is nearer to 1.
        per_generation: most pairs of one generation; a gain is kept at least.
        per_run: most pairs of a run, the newest ones; None: no limit.
    """

    gain: float = 1.04
    loss: float = 1.15
    per_generation: int = 8
    per_run: int | None = None


def outcome_of(speedup: Speedup | None, limits: Thresholds) -> Outcome | None:
    """What a contest teaches; None for ties, small effects and texts that were not timed."""
    if speedup is None:
        return None
    if speedup.is_faster and speedup.low > limits.gain:
        return Outcome.HELPED
    if speedup.is_slower and speedup.high < 1 / limits.loss:
        return Outcome.HURT
    return None


def curated(
    transitions: Sequence[Transition], limits: Thresholds, created: str = ""
) -> list[Experience]:
    """The pairs of a run, by generation.

    Of each parent and idea only the fastest text counts. Of a generation the largest gains come
    first, at most half of what is kept, and the largest losses fill the rest.
    """
    found: list[Experience] = []
    for _, group in groupby(transitions, key=lambda one: one.source.generation):
        pairs = [
            (outcome, transition)
            for transition in _best_of_each_idea(group)
            if (outcome := outcome_of(transition.evaluation.speedup, limits)) is not None
        ]
        helped = sorted(_chosen(pairs, Outcome.HELPED), key=lambda one: -_ratio(one))
        hurt = sorted(_chosen(pairs, Outcome.HURT), key=_ratio)
        helped = helped[: max(1, limits.per_generation // 2)]
        hurt = hurt[: max(0, limits.per_generation - len(helped))]
        found += [experience(one, Outcome.HELPED, created) for one in helped]
        found += [experience(one, Outcome.HURT, created) for one in hurt]
    return newest(found, limits)


def newest(pairs: Sequence[Experience], limits: Thresholds) -> list[Experience]:
    """What a run keeps of its pairs."""
    return list(pairs if limits.per_run is None else pairs[-limits.per_run :])


def _best_of_each_idea(transitions: Iterable[Transition]) -> list[Transition]:
    best: dict[tuple[str, str], Transition] = {}
    for one in transitions:
        if one.idea is None or one.evaluation.speedup is None:
            continue
        name = (one.source.kernel, one.idea.id)
        if name not in best or _ratio(one) > _ratio(best[name]):
            best[name] = one
    return list(best.values())


def _chosen(pairs: Sequence[tuple[Outcome, Transition]], wanted: Outcome) -> Iterator[Transition]:
    return (transition for outcome, transition in pairs if outcome is wanted)


def _ratio(transition: Transition) -> float:
    speedup = transition.evaluation.speedup
    assert speedup is not None
    return speedup.value


def experience(transition: Transition, outcome: Outcome, created: str = "") -> Experience:
    """What is remembered of a transition with a contest."""
    idea, speedup = transition.idea, transition.evaluation.speedup
    assert idea is not None
    assert speedup is not None
    key, issue = key_of(idea), issue_of(transition)
    kind = taxonomy().get(issue or "")
    lines = diff_of(transition.before, transition.after)
    helped = outcome is Outcome.HELPED
    return Experience(
        outcome=outcome,
        key=key,
        issue=issue,
        stage=idea.stage or (kind.stage if kind else None),
        title=title_of(key, issue) or idea.text[:_LONGEST_TITLE],
        mechanism=kind.why if kind else "",
        signature=transition.signature,
        measured=Measured(
            speedup.value,
            speedup.low,
            speedup.high,
            speedup.device,
            speedup.case,
            dict(transition.facts_before),
            dict(transition.facts_after),
        ),
        source=transition.source,
        bottleneck=transition.bottleneck,
        when=transition.when if helped else (),
        avoid=exception_of(issue) if helped else transition.when,
        diff=excerpt(lines),
        identifiers=identifiers(lines),
        private=not key.startswith(_PUBLIC),
        created=created,
    )


def issue_of(transition: Transition) -> str | None:
    """The issue that a step means to remove; None where it names none."""
    idea = transition.idea
    if idea is None:
        return None
    if idea.candidate is not None and idea.candidate.issues:
        return idea.candidate.issues[0]
    kind, _, name = key_of(idea).partition(":")
    if kind == "pattern" and name in all_patterns():
        return next(iter(all_patterns()[name].issues), None)
    return name if name in taxonomy() else None


def title_of(key: str, issue: str | None) -> str:
    """What a key means, in words of the knowledge base; empty where it has none."""
    kind, _, name = key.partition(":")
    if kind == "rewrite":
        return next((one.title for one in all_rewrites() if one.name == name), name)
    if kind == "pattern" and name in all_patterns():
        return all_patterns()[name].title
    known = taxonomy().get(issue or "")
    return known.title if known and kind in ("bottleneck", "issue") else ""


def diff_of(before: str, after: str) -> list[str]:
    """The changed lines with one line around them; no file names and no line numbers."""
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
    return [line if not line.startswith("@@") else "@@" for line in list(found)[2:]]


def excerpt(lines: Sequence[str]) -> str:
    """A diff's first lines, with the number of those left out."""
    kept = [
        line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} [...]"
        for line in lines[:LONGEST_DIFF]
    ]
    left = len(lines) - len(kept)
    return "\n".join([*kept, *([f"... {left} more lines"] if left else [])])


def identifiers(lines: Iterable[str]) -> tuple[str, ...]:
    """The first names that changed lines mention, in their order, each once."""
    words = (word for line in lines if line[:1] in "+-" for word in _NAME.findall(line[1:]))
    names = (word for word in dict.fromkeys(words) if not keyword.iskeyword(word))
    return tuple(islice(names, MOST_NAMES))


def figures_of(evaluation: Evaluation) -> dict[str, float]:
    """Registers, spills and shared memory of the kernel that needs most, where they are known."""
    step = evaluation.step(StepName.COMPILE)
    reports = step.data.get("reports", ()) if step is not None else ()
    found = {}
    for name in _FIGURES:
        values = [one[name] for one in reports if one.get("ok") and one.get(name) is not None]
        if values:
            found[name] = float(max(values))
    return found
