"""The extractor: asks for the best candidate after the last try of a stage."""

from collections.abc import Sequence

from tilewright.agents.briefing import Briefing
from tilewright.agents.model import Proposal, Step, Unusable
from tilewright.agents.prompt import Prompt
from tilewright.knowledge.stages import Stage


def build(
    briefing: Briefing, stage: Stage, steps: Sequence[Step] = (), limit_tokens: int | None = None
) -> Prompt:
    """The prompt for one try; where it would exceed limit_tokens, the oldest steps go first."""
    raise NotImplementedError


def parse(reply: str, briefing: Briefing) -> Proposal | Unusable:
    """What the reply makes of ``briefing.text``."""
    raise NotImplementedError
