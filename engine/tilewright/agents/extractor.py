"""The extractor: asks for the best candidate after the last try of a stage has failed."""

from collections.abc import Sequence

from tilewright.agents.briefing import Briefing
from tilewright.agents.model import Proposal, Step, Unusable
from tilewright.agents.optimizer import parse as parse_candidate
from tilewright.agents.optimizer import stage_prompt
from tilewright.agents.prompt import Prompt
from tilewright.knowledge.stages import Stage
from tilewright.models.model import Role


def build(
    briefing: Briefing, stage: Stage, steps: Sequence[Step] = (), limit_tokens: int | None = None
) -> Prompt:
    """The prompt over the whole trajectory; its first sections are those of the optimizer."""
    return stage_prompt(Role.EXTRACTOR, briefing, stage, steps, limit_tokens)


def parse(reply: str, briefing: Briefing) -> Proposal | Unusable:
    """What the reply makes of ``briefing.text``."""
    return parse_candidate(reply, briefing)
