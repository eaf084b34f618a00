"""Schedules: the ideas on the way to a run's best text, and the replay on a related problem."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilewright.memory.model import Provenance, Query, Schedule, Signature, Step, key_of
from tilewright.memory.pairs import title_of
from tilewright.memory.signature import related
from tilewright.search.node import Node

_PUBLIC = ("rewrite:", "pattern:")
TRIES = 2
"""Of a step: the second only where somebody writes the text anew."""


def path_to(best: Node, nodes: Iterable[Node]) -> list[Node]:
    """The nodes from below the root to the best one."""
    by_hash = {node.hash: node for node in nodes}
    path: list[Node] = []
    at: Node | None = best
    while at is not None and at.parent is not None and at not in path:
        path.append(at)
        at = by_hash.get(at.parent)
    return path[::-1]


def schedule_of(
    path: Sequence[Node],
    signature: Signature,
    source: Provenance,
    ratio: tuple[float, float, float],
    created: str = "",
    *,
    shared: bool = False,
) -> Schedule | None:
    """The schedule of a path that ended faster; None where it has no step with an idea.

    ``ratio``: of the last text over the original, with its interval.
    """
    steps = tuple(_step(node) for node in path if node.idea is not None)
    if not steps or ratio[1] <= 1:
        return None
    return Schedule(signature, steps, *ratio, source, shared, created)


def _step(node: Node) -> Step:
    assert node.idea is not None
    idea, speedup = node.idea, node.evaluation.speedup
    key = key_of(idea)
    issues = idea.candidate.issues if idea.candidate is not None else ()
    issue = next(iter(issues), None)
    text = title_of(key, issue) or idea.text
    return Step(key, text, issue, idea.stage, speedup.value if speedup is not None else 1.0)


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
