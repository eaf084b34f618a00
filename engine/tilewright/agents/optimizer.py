"""The optimizer: asks for the next candidate of a stage."""

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


def shortened(steps: Sequence[Step]) -> tuple[Step, ...] | None:
    """The steps without the oldest, for a model that cannot read so much; None where one is left.

    A step is four entries of the trajectory: thought, call, candidate and observation.
    """
    return tuple(steps[1:]) if len(steps) > 1 else None
