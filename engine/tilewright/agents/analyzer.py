"""The analyzer: asks for issues that no detector can see."""

from tilewright.agents.briefing import Briefing
from tilewright.agents.model import ProposedIssue, Unusable
from tilewright.agents.prompt import Prompt


def build(briefing: Briefing, limit_tokens: int | None = None) -> Prompt:
    """The prompt; ``SCHEMA`` is what the reply shall follow where the endpoint can enforce it."""
    raise NotImplementedError


def parse(reply: str, briefing: Briefing) -> tuple[ProposedIssue, ...] | Unusable:
    """The issues of a reply that are neither the detectors' own nor outside the file."""
    raise NotImplementedError
