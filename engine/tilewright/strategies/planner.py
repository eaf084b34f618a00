"""Which stages a kernel needs, in which order."""

from collections.abc import Iterable

from tilewright.analysis.model import Issue
from tilewright.knowledge.stages import DEFAULT_ORDER, Stage, order_stages


def plan(issues: Iterable[Issue], always: Iterable[Stage] = ()) -> tuple[Stage, ...]:
    """The stages that have issues, and those in ``always``, in a legal order.

    The wish is the stage with the most severe issue first; the hard dependencies overrule it.
    """
    worst: dict[Stage, int] = dict.fromkeys(always, 0)
    for issue in issues:
        worst[issue.stage] = max(worst.get(issue.stage, 0), issue.severity)
    wish = sorted(worst, key=lambda stage: (-worst[stage], DEFAULT_ORDER.index(stage)))
    return order_stages(wish)


def replan(
    remaining: Iterable[Issue], done: Iterable[Stage], always: Iterable[Stage] = ()
) -> tuple[Stage, ...]:
    """The stages still to do after re-analysis: new issues may add stages, fixed ones drop them.

    A stage is gone through once: what comes up again after it was done is left to the report.
    """
    finished = set(done)
    return tuple(stage for stage in plan(remaining, always) if stage not in finished)
