"""What a rule finds."""

from dataclasses import dataclass
from enum import StrEnum

NOT_NEEDED = "a kernel edit does not need it"


class Grade(StrEnum):
    """``hard`` refuses; ``evidence`` is shown, for what only running the candidate can settle."""

    HARD = "hard"
    EVIDENCE = "evidence"


@dataclass(frozen=True)
class Finding:
    """One place that a rule objects to.

    Attributes:
        key: what it is, in words without a place: the same thing in the original has the same key.
        line: 1-based, in the candidate.
        way_out: what to do instead.
        allowed_by: settings (``problems.permissions``) any of which permits it.
    """

    key: str
    line: int
    way_out: str = NOT_NEEDED
    grade: Grade = Grade.HARD
    allowed_by: tuple[str, ...] = ()
