"""The summarizer: says in words what a change did that was measured to be faster or slower."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.agents.model import Unusable
from tilewright.agents.objects import last_object, short_text
from tilewright.agents.prompt import Prompt, fenced, section, whole
from tilewright.agents.templates import sentences
from tilewright.models.model import Role
from tilewright.textfile import one_line

_MOST_TITLE = 100
_MOST_MECHANISM = 500
_DIFF_TOKENS = 3000

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["title", "mechanism"],
    "properties": {"title": {"type": "string"}, "mechanism": {"type": "string"}},
}
"""What a reply follows where the endpoint can enforce it."""


@dataclass(frozen=True)
class Summary:
    """What was changed, and why that is faster or slower."""

    title: str
    mechanism: str


def build(diff: str, idea: str, measured: str) -> Prompt:
    """The prompt for one change. ``measured``: its speed-up with the interval, in words."""
    role = Role.SUMMARIZER
    lines, cut = section(
        7, "CHANGE", diff.splitlines(), _DIFF_TOKENS, wrap=lambda text: fenced(text, "diff")
    )
    goal = sentences(role.value, "goal", idea=one_line(" ".join(idea.split())), measured=measured)
    parts = [whole(1, "TASK", sentences(role.value, "role")), lines, whole(10, "GOAL", goal)]
    return Prompt(role, tuple(one for one in parts if one is not None), cut)


def parse(reply: str) -> Summary | Unusable:
    """The summary of a reply."""
    given = last_object(reply) or {}
    title, mechanism = (
        short_text(given.get(name), most)
        for name, most in (("title", _MOST_TITLE), ("mechanism", _MOST_MECHANISM))
    )
    if not title or not mechanism:
        return Unusable("the reply has no title and mechanism")
    return Summary(title, mechanism)
