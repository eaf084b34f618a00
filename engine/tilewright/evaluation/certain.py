"""What the text alone proves wrong: certain issues that a candidate has and its original has not.

No run need show them: a tuner that adds to a result again and again does so on a device alone, and
programs that overwrite each other may be lucky.
"""

from collections import Counter
from collections.abc import Iterator

from tilewright.analysis import Issue, analyze
from tilewright.knowledge import taxonomy
from tilewright.source.model import Module


def certain_faults(original: Module, candidate: Module) -> tuple[str, ...]:
    """Each new one with its line. Comments that suppress it in the candidate change nothing."""
    before = Counter(issue.id for issue in _certain(original))
    after = tuple(_certain(candidate))
    counts = Counter(issue.id for issue in after)
    return tuple(
        f"line {issue.range.line}: {issue.message} ({issue.id}; the original has no such "
        f"fault, see `tilewright explain {issue.id}`)"
        for issue in after
        if counts[issue.id] > before[issue.id]
    )


def _certain(module: Module) -> Iterator[Issue]:
    types = taxonomy()
    return (one for one in analyze(module, suppressed=True) if types[one.id].certain)
