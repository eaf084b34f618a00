"""Issues of one cause in one kernel as one, with its other places as related ones."""

from collections.abc import Iterable
from dataclasses import replace

from tilewright.analysis.model import Issue, IssueLevel, Related
from tilewright.figures import lines


def grouped(issues: Iterable[Issue]) -> list[Issue]:
    """One issue for each rule and kernel, at its first place, in the order of the first places.

    What computes or launches wrongly stays at each of its places: each has to be corrected by
    itself, so only those of the same message are one.
    """
    groups: dict[tuple[object, ...], list[Issue]] = {}
    for issue in issues:
        groups.setdefault(_cause(issue), []).append(issue)
    return [_as_one(group) for group in groups.values()]


def _cause(issue: Issue) -> tuple[object, ...]:
    if issue.kernel is None:
        return (issue.id, issue.range)
    return (issue.id, issue.kernel, issue.message if issue.level is IssueLevel.ERROR else None)


def _as_one(group: list[Issue]) -> Issue:
    first, *others = sorted(group, key=lambda issue: issue.range)
    if not others:
        return first
    numbers = tuple(sorted({other.range.line for other in others} - {first.range.line}))
    also = f" Also on {lines(numbers)}." if numbers else ""
    places = tuple(Related(other.message, other.range) for other in others)
    ended = first.message if first.message.endswith((".", "?", "!")) else f"{first.message}."
    message = f"{ended}{also}" if also else first.message
    return replace(first, message=message, related=(*first.related, *places))
