"""One change of a search: a plan for it, and the candidate that makes it.

The planner chooses a change from a menu and describes it; the optimizer writes it. Where a search
has one phase, the optimizer is given the change, or the menu to choose from.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.agents import sections
from tilewright.agents.answers import without_thinking
from tilewright.agents.briefing import Briefing
from tilewright.agents.model import Step, Unusable
from tilewright.agents.objects import last_object
from tilewright.agents.prompt import Prompt, whole
from tilewright.agents.templates import sentences
from tilewright.knowledge.stages import DEFAULT_ORDER, Stage
from tilewright.models.model import Role
from tilewright.textfile import one_line

_MOST_PLAN = 1500
_MOST_EXPECTED = 4
_NAMES = [stage.value for stage in DEFAULT_ORDER]
FACTS = ("spill_bytes", "registers", "shared_bytes")
"""What a plan may expect to move, as the compilers report it."""
_EXPECTED = re.compile(rf"({'|'.join(FACTS)})\s*([+-])")

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["plan", "entry", "stage", "expects"],
    "properties": {
        "plan": {"type": "string"},
        "entry": {"type": ["string", "null"]},
        "stage": {"type": "string", "enum": _NAMES},
        "expects": {"type": "array", "items": {"type": "string"}},
    },
}
"""What a plan's reply follows where the endpoint can enforce it."""


@dataclass(frozen=True)
class Task:
    """A change to be made.

    Attributes:
        text: what to do, in words; empty where the author is to choose.
        menu: transformations to choose from, or the one that is to be made, in words.
        invents: the change shall be none of the menu.
        target: "at most 41.2 us"; empty where nothing is timed.
        hints: sentences on where gains were found.
    """

    text: str = ""
    stage: Stage | None = None
    menu: tuple[str, ...] = ()
    invents: bool = False
    target: str = ""
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A change as the planner describes it.

    Attributes:
        entry: id of the menu's entry that it follows; None for one of its own.
        expects: facts that should move, such as "spill_bytes-".
    """

    text: str
    entry: str | None = None
    stage: Stage = Stage.DISCOVERY
    expects: tuple[str, ...] = ()


def build_plan(briefing: Briefing, task: Task, limit_tokens: int | None = None) -> Prompt:
    """The prompt for a plan of one change."""
    role = Role.PLANNER
    goal = sentences(role.value, "change_goal", task=task, facts=", ".join(FACTS))
    parts = (
        (whole(1, "TASK", sentences(role.value, "change_role", stages=", ".join(_NAMES))), ()),
        *_situation(briefing, role),
        sections.goal(goal, (), task.menu, role),
    )
    bare, _ = sections.goal(goal, (), (), role)
    return sections.prompt(sections.Outline(role, parts, goal=bare), limit_tokens)


def build(
    briefing: Briefing, task: Task, steps: Sequence[Step] = (), limit_tokens: int | None = None
) -> Prompt:
    """The prompt for a candidate that makes one change; ``steps`` are earlier tries at it."""
    role = Role.OPTIMIZER
    goal = sentences(role.value, "change_goal", task=task, measured=briefing.measured)
    parts = (
        (whole(1, "TASK", sentences(role.value, "role")), ()),
        sections.language(briefing, role),
        *_situation(briefing, role),
        sections.goal(goal, (), task.menu, role),
    )
    bare, _ = sections.goal(goal, (), (), role)
    outline = sections.Outline(role, parts, tuple(steps), bare)
    return sections.prompt(outline, limit_tokens)


def _situation(briefing: Briefing, role: Role) -> tuple[sections.Part, ...]:
    """Sections 3 to 9: what is known of the chip, the problem and the text."""
    return (
        sections.chip(briefing, role),
        sections.problem(briefing, role),
        sections.schedule(briefing, role),
        sections.experiences(briefing, role),
        sections.parent(briefing, role),
        sections.facts(briefing, role),
        sections.tried(briefing, role),
    )


def parse_plan(reply: str, entries: Sequence[str]) -> Plan | Unusable:
    """The plan of a reply: of its JSON object, else its whole text.

    ``entries``: ids of the menu.
    """
    given = last_object(reply)
    if given is not None and isinstance(given.get("plan"), str):
        text = _short(given["plan"])
        entry = given.get("entry")
        expects = given.get("expects")
        plan = Plan(
            text,
            entry if entry in entries else None,
            _stage(given.get("stage")),
            _expected(expects if isinstance(expects, list) else ()),
        )
    else:
        plan = Plan(_short(without_thinking(reply)))
    return plan if plan.text else Unusable("the reply has no plan")


def _short(text: str) -> str:
    plain = one_line(" ".join(text.split()))
    return plain if len(plain) <= _MOST_PLAN else f"{plain[:_MOST_PLAN].rpartition(' ')[0]} [...]"


def _stage(value: Any) -> Stage:
    name = str(value).strip().lower()
    return Stage(name) if name in _NAMES else Stage.DISCOVERY


def _expected(values: Sequence[Any]) -> tuple[str, ...]:
    found = (_EXPECTED.fullmatch(str(value).strip()) for value in values)
    return tuple(f"{one[1]}{one[2]}" for one in found if one is not None)[:_MOST_EXPECTED]
