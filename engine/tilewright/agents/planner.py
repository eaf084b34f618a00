"""The planner: asks in which order to take the stages."""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.agents.briefing import Briefing
from tilewright.agents.prompt import Prompt
from tilewright.knowledge.stages import Stage


@dataclass(frozen=True)
class Plan:
    """A legal order of stages. ``note`` says why it is the default one, where it is."""

    stages: tuple[Stage, ...]
    skipped: tuple[Stage, ...] = ()
    rationale: str = ""
    note: str = ""


def build(briefing: Briefing, stages: Sequence[Stage], limit_tokens: int | None = None) -> Prompt:
    """The prompt for an order of ``stages``."""
    raise NotImplementedError


def parse(reply: str, stages: Sequence[Stage]) -> Plan:
    """The order that the reply wishes, made legal; the default order where it is of no use."""
    raise NotImplementedError
