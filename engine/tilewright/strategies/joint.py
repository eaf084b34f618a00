"""Rewrites of NKI kernels in one candidate, as one alone may gain less than the model's error."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.costs.nki.model import NkiEstimate
from tilewright.evaluation.model import Candidate, text_hash
from tilewright.knowledge.stages import Stage
from tilewright.rewrites import rewrites_for
from tilewright.rewrites.model import Refusal, Rewrite
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.strategies.model import ProposalRequest, Proposer
from tilewright.strategies.planner import plan

Estimator = Callable[[str], NkiEstimate | None]
"""The estimate of a text; None where its text does not tell one."""
_MOST_STEPS = 60
_WIDTHS = ("nki_small_dma", "nki_small_matmul_tile")
"""Issues of narrow tiles: what is kept for later iterations depends on how wide these are."""
_SLACK = 1.001
"""Factor by which a step may look slower: rounding, and less than any model distinguishes."""


@dataclass(frozen=True)
class _Step:
    """One rewrite of several that are put together."""

    rewrite: Rewrite
    issue: Issue
    text: str

    @property
    def words(self) -> str:
        return f"{self.rewrite.title.lower()} (line {self.issue.range.line})"


class JointProposer:
    """All rewrites that the cost model does not call slower, in one candidate; then each alone.

    The first stage begins with the rewrites of all stages together, each with its own together.
    """

    independent = True

    def __init__(self, inner: Proposer, estimate: Estimator) -> None:
        self.name = inner.name
        self._inner = inner
        self._estimate = estimate

    def propose(self, request: ProposalRequest) -> Iterator[Candidate]:
        stages = plan((*request.issues, *request.others))
        first = not stages or stages[0] is request.stage
        given = {request.module.text}
        for stage in (None, request.stage) if first else (request.stage,):
            steps = self._steps(request, stage)
            if len(steps) > 1 and steps[-1].text not in given:
                given.add(steps[-1].text)
                yield _together(request, steps)
        yield from self._inner.propose(request)

    def _steps(self, request: ProposalRequest, stage: Stage | None) -> list[_Step]:
        """Rewrites one after the other, each kept unless the estimate grows."""
        module, context = request.module, request.context
        steps: list[_Step] = []
        seen = {module.text}
        present = self._estimate(module.text)
        while len(steps) < _MOST_STEPS:
            for step in _options(module, context, stage):
                if step.text in seen:
                    continue
                seen.add(step.text)
                estimate = self._estimate(step.text)
                if not _no_slower(present, estimate):
                    continue
                steps.append(step)
                module, present = parse_module(step.text, module.path), estimate
                break
            else:
                break
        return steps


def _options(module: Module, context: AnalysisContext, stage: Stage | None) -> Iterator[_Step]:
    """What each rewrite makes of the text, where its preconditions hold; wider tiles come first."""
    issues = [one for one in analyze(module, context) if stage in (None, one.stage)]
    for issue in sorted(issues, key=lambda one: one.id not in _WIDTHS):
        for rewrite in rewrites_for(issue.id):
            text = rewrite.apply(module, issue, context)
            if not isinstance(text, Refusal):
                yield _Step(rewrite, issue, text)


def _no_slower(before: NkiEstimate | None, after: NkiEstimate | None) -> bool:
    """Whether neither the usual time nor the work of all engines grows, by the text."""
    if before is None or after is None:
        return before is None
    total = sum(before.busy.values()), sum(after.busy.values())
    return after.usual <= before.usual * _SLACK and (
        after.usual < before.usual / _SLACK or total[1] <= total[0] * _SLACK
    )


def _together(request: ProposalRequest, steps: list[_Step]) -> Candidate:
    return Candidate(
        text=steps[-1].text,
        parent=text_hash(request.module.text),
        proposer="rewrites:together",
        rationale=f"{len(steps)} rewrites together: " + "; ".join(step.words for step in steps),
        stage=request.stage,
        issues=tuple(dict.fromkeys(step.issue.id for step in steps)),
    )
