"""The optimizer: asks for the next candidate of a stage."""

import re
from collections.abc import Sequence

from tilewright.agents.answers import AnswerError, answer, thought_of
from tilewright.agents.briefing import Briefing
from tilewright.agents.edits import applied
from tilewright.agents.model import Proposal, Step, Unusable
from tilewright.agents.prompt import Prompt
from tilewright.knowledge.stages import Stage
from tilewright.textfile import one_line

_SENTENCE = re.compile(r"(?<=[.!?])\s")
_MOST_RATIONALE = 200
_NO_REASON = "the model gave no reason"


def build(
    briefing: Briefing, stage: Stage, steps: Sequence[Step] = (), limit_tokens: int | None = None
) -> Prompt:
    """The prompt for one try; where it would exceed limit_tokens, the oldest steps go first."""
    raise NotImplementedError


def parse(reply: str, briefing: Briefing) -> Proposal | Unusable:
    """What the reply makes of ``briefing.text``."""
    try:
        given = answer(reply)
    except AnswerError as error:
        return Unusable(str(error), thought_of(reply))
    try:
        text = applied(given, briefing.text, briefing.entry)
    except AnswerError as error:
        return Unusable(str(error), given.thought)
    return Proposal(text, given.thought, _rationale(given.thought))


def _rationale(thought: str) -> str:
    """The first sentence of the reasoning, in one line."""
    plain = " ".join(thought.lstrip("#*-> \n").split())
    first = _SENTENCE.split(plain, 1)[0].strip(" *#`")
    if len(first) > _MOST_RATIONALE:
        first = f"{first[:_MOST_RATIONALE].rpartition(' ')[0]} [...]"
    return one_line(first) or _NO_REASON


def shortened(steps: Sequence[Step]) -> tuple[Step, ...] | None:
    """The steps without the oldest, for a model that cannot read so much; None where one is left.

    A step is four entries of the trajectory: thought, call, candidate and observation.
    """
    return tuple(steps[1:]) if len(steps) > 1 else None
