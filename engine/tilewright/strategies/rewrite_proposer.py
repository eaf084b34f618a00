"""The proposer of deterministic rewrites."""

from collections.abc import Callable, Iterator

from tilewright.evaluation.model import Candidate, text_hash
from tilewright.rewrites import rewrites_for
from tilewright.rewrites.model import Refusal
from tilewright.strategies.model import ProposalRequest

Refused = Callable[[str, str], None]


class RewriteProposer:
    """One candidate for each issue that a rewrite's preconditions allow.

    Args:
        leave_out: issues that another proposer of this run takes care of.
        refused: gets the rewrite's name and the precondition that does not hold.
    """

    name = "rewrite"
    independent = True

    def __init__(self, leave_out: frozenset[str], refused: Refused) -> None:
        self._leave_out = leave_out
        self._refused = refused

    def propose(self, request: ProposalRequest) -> Iterator[Candidate]:
        module = request.module
        for issue in request.issues:
            if issue.id in self._leave_out:
                continue
            for rewrite in rewrites_for(issue.id):
                text = rewrite.apply(module, issue, request.context)
                if isinstance(text, Refusal):
                    self._refused(rewrite.name, f"line {issue.range.line}: {text.reason}")
                    continue
                yield Candidate(
                    text=text,
                    parent=text_hash(module.text),
                    proposer=f"rewrite:{rewrite.name}",
                    rationale=f"{rewrite.title} (line {issue.range.line}; {issue.message})",
                    stage=request.stage,
                    issues=(issue.id,),
                )
