"""The speed reviewer: names where host functions lose time, and writes versions that do not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.agents.model import Unusable
from tilewright.agents.prompt import Prompt
from tilewright.agents.reviewer import module_of, named_entries, prompt_of
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
    return prompt_of(_TEMPLATE, text, functions, MOST_CALLS)


def parse(reply: str) -> SpeedReview | Unusable:
    """The review of a reply."""
    code = module_of(reply)
    if isinstance(code, Unusable):
        return code
    return SpeedReview(code, tuple(_places(reply)))


def _places(reply: str) -> Iterator[LostTime]:
    for given in named_entries(reply, "places"):
        for cost in COSTS:
            if cost == given.get("cost"):
                yield LostTime(given["function"], given["line"], cost, given["why"])
