"""What was observed of one subject, as the JSON value that a profile gives of it."""

from typing import Any

from tilewright.profiling.bounds import verdict_of
from tilewright.profiling.facts import facts_of
from tilewright.profiling.observed import Observed
from tilewright.profiling.rules import findings_of
from tilewright.serialize import dump


def described(seen: Observed) -> dict[str, Any]:
    """``bottleneck``, ``facts``, ``findings``; the schema is in ``docs/profile.md``."""
    verdict = verdict_of(seen)
    return {
        "bottleneck": str(verdict.bottleneck) if verdict is not None else None,
        "facts": [dump(fact) for fact in facts_of(seen)],
        "findings": [dump(finding) for finding in findings_of(seen)],
    }
