"""The planner: asks in which order to take the stages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.agents import sections
from tilewright.agents.answers import without_thinking
from tilewright.agents.briefing import Briefing
from tilewright.agents.objects import last_object
from tilewright.agents.optimizer import PURPOSES
from tilewright.agents.prompt import Prompt, whole
from tilewright.agents.templates import sentences
from tilewright.knowledge.stages import DEFAULT_ORDER, HARD_DEPENDENCIES, Stage, order_stages
from tilewright.models.model import Role
from tilewright.textfile import one_line

_MOST_WHY = 300
_NAMES = [stage.value for stage in DEFAULT_ORDER]
_MENTION = re.compile(rf"\b({'|'.join(_NAMES)})\b")

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["order", "skip", "why"],
    "properties": {
        "order": {"type": "array", "items": {"type": "string", "enum": _NAMES}},
        "skip": {"type": "array", "items": {"type": "string", "enum": _NAMES}},
        "why": {"type": "string"},
    },
}
"""What a reply follows where the endpoint can enforce it."""


@dataclass(frozen=True)
class Plan:
    """A legal order of stages.

    Attributes:
        stages: those to take, in order.
        rationale: the model's reason.
        note: what of the reply was not followed, and why; empty where all of it was.
    """

    stages: tuple[Stage, ...]
    skipped: tuple[Stage, ...] = ()
    rationale: str = ""
    note: str = ""


def build(briefing: Briefing, stages: Sequence[Stage], limit_tokens: int | None = None) -> Prompt:
    """The prompt for an order of ``stages``."""
    role = Role.PLANNER
    fixed = [
        f"{before.value} before {after.value}"
        for before, after in HARD_DEPENDENCIES
        if before is not Stage.CORRECTNESS
    ]
    task = sentences(role.value, "role", fixed=", ".join(["correctness first", *fixed]))
    listed = "\n".join(_described(stage, briefing) for stage in stages)
    parts = (
        (whole(1, "TASK", task), ()),
        sections.chip(briefing, role),
        sections.problem(briefing, role),
        sections.schedule(briefing, role),
        sections.parent(briefing, role),
        sections.facts(briefing, role),
        sections.tried(briefing, role),
        (whole(10, "GOAL", sentences(role.value, "goal", listed=listed)), ()),
    )
    return sections.prompt(sections.Outline(role, parts), limit_tokens)


def _described(stage: Stage, briefing: Briefing) -> str:
    found = sum(issue.stage is stage for issue in briefing.issues)
    count = f"{found} issue{'s' * (found != 1)}" if found else "no issue is known"
    return f"- `{stage.value}` ({count}): {PURPOSES[stage]}"


def parse(reply: str, stages: Sequence[Stage]) -> Plan:
    """The order that the reply wishes, made legal; the default order where it is of no use."""
    given = last_object(reply)
    wish, skip, why = _wish(given) if given is not None else (_mentioned(reply, stages), [], "")
    wanted = [stage for stage in wish if stage in stages]
    skipped = [stage for stage in skip if stage in stages and stage is not Stage.CORRECTNESS]
    skipped = [stage for stage in skipped if stage not in wanted]
    left = [stage for stage in stages if stage not in skipped]
    if not wanted and not skipped:
        return _default(stages, "the planner's reply names none of the stages")
    if not left:
        return _default(stages, "the planner would skip every stage")
    order = order_stages((*wanted, *(stage for stage in left if stage not in wanted)))
    corrected = tuple(stage for stage in order if stage in wanted) != tuple(dict.fromkeys(wanted))
    note = "the planner's order is corrected: a stage depends on another one" if corrected else ""
    return Plan(order, tuple(skipped), why, note)


def _default(stages: Iterable[Stage], why: str) -> Plan:
    default = sorted(dict.fromkeys(stages), key=DEFAULT_ORDER.index)
    return Plan(tuple(default), note=f"stages are taken in the default order: {why}")


def _wish(given: Mapping[str, Any]) -> tuple[list[Stage], list[Stage], str]:
    why = given.get("why")
    words = one_line(" ".join(why.split())) if isinstance(why, str) else ""
    words = words if len(words) <= _MOST_WHY else f"{words[:_MOST_WHY].rpartition(' ')[0]} [...]"
    return _stages(given.get("order")), _stages(given.get("skip")), words


def _stages(value: Any) -> list[Stage]:
    names = value if isinstance(value, list) else []
    found = (str(name).strip().lower() for name in names)
    return list(dict.fromkeys(Stage(name) for name in found if name in _NAMES))


def _mentioned(reply: str, stages: Sequence[Stage]) -> list[Stage]:
    """The stages in the order in which a plain text names them last; nothing of a text that does
    not name every stage."""
    found = [Stage(name) for name in _MENTION.findall(without_thinking(reply).lower())]
    last = list(reversed(list(dict.fromkeys(reversed(found)))))
    return last if set(last) >= set(stages) else []
