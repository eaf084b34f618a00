"""How often the instant tier is right on the corpora, from the reviewed lists."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reports import Found, Report
from reviewed import Judgement, Verdict


@dataclass
class Rate:
    """The verdicts on the reports of one issue, or of several."""

    reported: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[Verdict] = field(default_factory=Counter)

    @property
    def reviewed(self) -> int:
        """How many were judged."""
        return self.verdicts.total()

    @property
    def right(self) -> float:
        """The share judged right; what is debatable counts half."""
        good = self.verdicts[Verdict.RIGHT] + self.verdicts[Verdict.DEBATABLE] / 2
        return good / self.reviewed if self.reviewed else 0.0

    @property
    def wrong(self) -> float:
        """The share judged wrong."""
        return self.verdicts[Verdict.WRONG] / self.reviewed if self.reviewed else 0.0


def rate(found: Sequence[Found], judged: Mapping[Report, Judgement]) -> Rate:
    """The verdicts on these reports."""
    result = Rate()
    for one in found:
        result.reported[one.report.corpus] += 1
        if one.report in judged:
            result.verdicts[judged[one.report].verdict] += 1
    return result


def rates(found: Sequence[Found], judged: Mapping[Report, Judgement]) -> dict[str, Rate]:
    """The verdicts on each issue, by its id."""
    of_issue: dict[str, list[Found]] = defaultdict(list)
    for one in found:
        of_issue[one.report.issue].append(one)
    return {issue: rate(of_issue[issue], judged) for issue in sorted(of_issue)}
