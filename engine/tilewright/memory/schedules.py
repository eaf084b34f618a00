"""Schedules: the ideas on the way to a run's best text, and the replay on a related problem."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tilewright.evaluation.model import text_hash
from tilewright.memory.model import Query, Schedule, Step, Transition, key_of
from tilewright.memory.pairs import issue_of, title_of
from tilewright.memory.signature import related

_PUBLIC = ("rewrite:", "pattern:")
TRIES = 2
"""Of a step: the second only if the text is written again."""


def path_to(text: str, transitions: Iterable[Transition]) -> list[Transition]:
    """The steps that lead to the text of a hash, the first one first."""
    made = {text_hash(one.after): one for one in reversed(list(transitions))}
    path: list[Transition] = []
    while (step := made.pop(text, None)) is not None:
        path.append(step)
        text = step.source.kernel
    return path[::-1]


def schedule_of(
    path: Sequence[Transition],
    ratio: tuple[float, float, float],
    created: str = "",
) -> Schedule | None:
    """The schedule of a path that ended faster; None where it has no step with an idea.

    ``ratio``: of the last text over the original, with its interval.
    """
    steps = tuple(step for one in path for step in _step(one))
    if not steps or ratio[1] <= 1:
        return None
    return Schedule(path[0].signature, steps, *ratio, path[0].source, created=created)


def _step(transition: Transition) -> Iterator[Step]:
    idea, speedup = transition.idea, transition.evaluation.speedup
    if idea is not None:
        key, issue = key_of(idea), issue_of(transition)
        text = title_of(key, issue) or idea.text
        yield Step(key, text, issue, idea.stage, speedup.value if speedup is not None else 1.0)


def fitting(schedules: Sequence[Schedule], query: Query) -> list[Schedule]:
    """Schedules of related problems that the asking project may see, the largest gain first.

    Of another project's schedule the steps that are named by the knowledge base stay.
    """
    seen = (visible(one, query) for one in schedules)
    found = [
        one
        for one in seen
        if one is not None and related(one.signature, query.signature, schedules=True)
    ]
    return sorted(found, key=lambda one: -one.ratio)


def visible(schedule: Schedule, query: Query) -> Schedule | None:
    """The schedule as the asking project may see it; None where nothing of it is left."""
    if schedule.source.project == query.project or schedule.shared:
        return schedule
    steps = tuple(step for step in schedule.steps if step.key.startswith(_PUBLIC))
    if not steps:
        return None
    source = replace(schedule.source, project="", path="", kernel="", run="")
    signature = replace(schedule.signature, extents=())
    return replace(schedule, steps=steps, source=source, signature=signature)
