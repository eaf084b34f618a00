"""Experiences of free changes in a model's words, in place of the text that led to them."""

from collections.abc import Sequence
from dataclasses import replace

from tilewright.agents import summarizer
from tilewright.agents.model import Unusable
from tilewright.memory.model import Experience
from tilewright.models.model import Role
from tilewright.strategies.calls import Answer, Calls, Place

_FREE = "free:"


def summarized(calls: Calls, learned: Sequence[Experience]) -> list[Experience]:
    """The experiences, those of free changes with a title and a mechanism of the summarizer's.

    One call for each such change; the same pair of texts makes the same prompt, which is answered
    from the cache of replies. Where there is no usable answer, an experience stays as it is.
    """
    free = [one for one in learned if one.key.startswith(_FREE) and one.diff]
    if not free or not calls.can_ask(Role.SUMMARIZER):
        return list(learned)
    prompts = [summarizer.build(one.diff, one.title, _measured(one)) for one in free]
    place = Place(Role.SUMMARIZER)
    answers = calls.ask_each(prompts, place, [0] * len(prompts), summarizer.SCHEMA)
    told = {one.id: _told(one, answer) for one, answer in zip(free, answers, strict=True)}
    return [told.get(one.id, one) for one in learned]


def _told(one: Experience, answer: Answer) -> Experience:
    found = summarizer.parse(answer.reply.text) if answer.reply is not None else None
    if found is None or isinstance(found, Unusable):
        return one
    return replace(one, title=found.title, mechanism=found.mechanism)


def _measured(one: Experience) -> str:
    found = one.measured
    return f"{found.ratio:.2f} times the speed [{found.low:.2f}, {found.high:.2f}]"
