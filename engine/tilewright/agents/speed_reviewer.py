"""The speed reviewer: names where host functions lose time, and writes versions that do not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.agents.model import Unusable
from tilewright.agents.objects import last_object, short_text
from tilewright.agents.prompt import Prompt
from tilewright.agents.reviewer import MOST_WHY, module_of, prompt_of
from tilewright.models.model import Role
from tilewright.worker.messages.drafted import COSTS, Cost

MOST_CALLS = 4
_TEMPLATE = "speed_reviewer"


@dataclass(frozen=True)
class LostTime:
    """A place where a model says that time is lost; ``line`` is 1-based, in the file."""

    function: str
    line: int
    cost: Cost
    why: str


@dataclass(frozen=True)
class SpeedReview:
    """A module of faster versions and calls (see ``worker.drafted.written_calls``), and places."""

    code: str
    places: tuple[LostTime, ...]


def build(text: str, functions: Sequence[str]) -> Prompt:
    """The prompt for the functions of a file, whose text is shown whole."""
    return prompt_of(_TEMPLATE, Role.REVIEWER, text, functions, MOST_CALLS)


def parse(reply: str) -> SpeedReview | Unusable:
    """The review of a reply."""
    code = module_of(reply)
    if isinstance(code, Unusable):
        return code
    places = (last_object(reply) or {}).get("places")
    found = [_place(one) for one in places] if isinstance(places, list) else []
    return SpeedReview(code, tuple(one for one in found if one is not None))


def _place(given: Any) -> LostTime | None:
    if not isinstance(given, Mapping):
        return None
    function, line, why = given.get("function"), given.get("line"), given.get("why")
    if not isinstance(function, str) or type(line) is not int or not isinstance(why, str):
        return None
    cost = next((one for one in COSTS if one == given.get("cost")), None)
    return LostTime(function, line, cost, short_text(why, MOST_WHY)) if cost else None
