"""The reviewed reports: what reading the kernel, or compiling it, says of each.

A review is one judgement with its reason; kernels with the same text share it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field
from reports import Report

FOLDER = Path(__file__).parent
CORRECTNESS = FOLDER / "correctness.yaml"
PERFORMANCE = FOLDER / "performance.yaml"
LISTS = (
    (FOLDER / "seen_packages.yaml", "before corrections"),
    (FOLDER / "ten_packages.yaml", "at first sight"),
    (FOLDER / "blind_packages.yaml", "at first sight"),
    (FOLDER / "unseen_packages.yaml", "at first sight"),
    (FOLDER / "newest_packages.yaml", "at first sight"),
    (FOLDER / "drawn_packages.yaml", "at first sight"),
    (FOLDER / "kept_back_packages.yaml", "at first sight"),
    (FOLDER / "author_packages.yaml", "at first sight"),
    (FOLDER / "further_author_packages.yaml", "at first sight"),
    (FOLDER / "small_packages.yaml", "before corrections"),
    (FOLDER / "further_small_packages.yaml", "at first sight"),
    (FOLDER / "last_small_packages.yaml", "at first sight"),
    (FOLDER / "newer_small_packages.yaml", "at first sight"),
    (FOLDER / "fourteen_packages.yaml", "at first sight"),
    (FOLDER / "lettered_packages.yaml", "before corrections"),
    (FOLDER / "varied_packages.yaml", "at first sight"),
    (FOLDER / "topic_packages.yaml", "at first sight"),
    (FOLDER / "installable_packages.yaml", "at first sight"),
    (FOLDER / "released_code.yaml", "at first sight"),
    (FOLDER / "published_packages.yaml", "at first sight"),
    (FOLDER / "further_published_packages.yaml", "at first sight"),
    (FOLDER / "last_published_packages.yaml", "at first sight"),
    (FOLDER / "described_packages.yaml", "at first sight"),
    (FOLDER / "tensor_packages.yaml", "at first sight"),
    (FOLDER / "source_packages.yaml", "at first sight"),
    (FOLDER / "remaining_packages.yaml", "at first sight"),
    (FOLDER / "first_sight_packages.yaml", "at first sight"),
    (FOLDER / "late_packages.yaml", "at first sight"),
    (FOLDER / "contest_repositories.yaml", "at first sight"),
    (FOLDER / "course_repositories.yaml", "at first sight"),
    (FOLDER / "paper_repositories.yaml", "at first sight"),
    (FOLDER / "layer_repositories.yaml", "at first sight"),
    (FOLDER / "module_repositories.yaml", "at first sight"),
    (FOLDER / "bench_repositories.yaml", "at first sight"),
    (FOLDER / "spare_repositories.yaml", "at first sight"),
    (FOLDER / "first_known_repositories.yaml", "at first sight"),
    (FOLDER / "second_known_repositories.yaml", "at first sight"),
    (FOLDER / "third_known_repositories.yaml", "at first sight"),
    (FOLDER / "generated_kernels.yaml", "at first sight"),
    (FOLDER / "mixed_repositories.yaml", "at first sight"),
    (FOLDER / "mixed_packages.yaml", "at first sight"),
    (FOLDER / "mixed_sources.yaml", "at first sight"),
    (FOLDER / "further_mixed_sources.yaml", "at first sight"),
    (FOLDER / "drawn_sources.yaml", "at first sight"),
    (FOLDER / "kept_back_sources.yaml", "at first sight"),
    (FOLDER / "slow_in_packages.yaml", "at first sight"),
    (FOLDER / "package_repositories.yaml", "at first sight"),
    (FOLDER / "slow_in_repositories.yaml", "at first sight"),
    (FOLDER / "further_package_repositories.yaml", "at first sight"),
    (FOLDER / "unread_in_packages.yaml", "at first sight"),
    (FOLDER / "unread_in_repositories.yaml", "at first sight"),
    (FOLDER / "last_repositories.yaml", "at first sight"),
)
"""Reports on other repositories, read by hand, in the order in which they were read."""


class Verdict(StrEnum):
    """Whether the written definition of the issue holds where it was reported.

    Debatable: what is said is true, and an engineer of that project may still leave it so.
    """

    RIGHT = "right"
    WRONG = "wrong"
    DEBATABLE = "debatable"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Place(_Strict):
    """Where one of the reports stands: `corpus/file::kernel`, and which of equal lines it is."""

    at: str = Field(pattern=r"^[a-z0-9_]+/[^:]+\.(py|ipynb)::\S+$")
    line: str
    nth: int = Field(default=1, ge=1)


class Review(_Strict):
    """One judgement, its reason in a sentence, and the reports it is about.

    ``severity`` is that of the reports, where the list keeps it.
    """

    issue: str
    severity: int | None = Field(default=None, ge=1, le=5)
    verdict: Verdict
    reason: str = Field(min_length=20)
    reports: tuple[Place, ...] = Field(min_length=1)

    def each(self) -> Iterator[Report]:
        """The reports it is about."""
        for place in self.reports:
            where, _, kernel = place.at.partition("::")
            corpus, _, file = where.partition("/")
            kernel = "" if kernel == "-" else kernel
            yield Report(corpus, file, kernel, self.issue, place.line, place.nth)


@dataclass(frozen=True)
class Judgement:
    """What was said of one report."""

    verdict: Verdict
    reason: str


class ReviewedTwiceError(Exception):
    """A report that a list judges twice."""


def read_reviews(path: Path) -> tuple[Review, ...]:
    """The reviews of one list; none where there is no such file."""
    if not path.exists():
        return ()
    entries = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return tuple(Review.model_validate(entry) for entry in entries or ())


def judgements(reviews: tuple[Review, ...]) -> Mapping[Report, Judgement]:
    """What was said of each report.

    Raises:
        ReviewedTwiceError: one report is judged twice.
    """
    judged: dict[Report, Judgement] = {}
    for review in reviews:
        for report in review.each():
            if report in judged:
                raise ReviewedTwiceError(f"{report.issue} at {report.place()}: {report.line}")
            judged[report] = Judgement(review.verdict, review.reason)
    return judged
