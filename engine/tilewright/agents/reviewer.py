"""The reviewer: writes what host functions should compute, calls that tell, and names faults."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.agents.answers import AnswerError, answer, lines_of
from tilewright.agents.model import Unusable
from tilewright.agents.objects import last_object, short_text
from tilewright.agents.prompt import Prompt, fenced, numbered, whole
from tilewright.agents.templates import sentences
from tilewright.models.model import Role

MOST_CALLS = 8
_MOST_WHY = 300


@dataclass(frozen=True)
class NamedFault:
    """A fault that a model names; ``line`` is 1-based, in the file."""

    function: str
    line: int
    why: str


@dataclass(frozen=True)
class Review:
    """A module of references and calls (see ``worker.drafted.written_calls``), and faults."""

    code: str
    faults: tuple[NamedFault, ...]


def build(text: str, functions: Sequence[str]) -> Prompt:
    """The prompt for the functions of a file, whose text is shown whole."""
    return prompt_of(Role.REVIEWER.value, text, functions, MOST_CALLS)


def prompt_of(template: str, text: str, functions: Sequence[str], most_calls: int) -> Prompt:
    """A prompt about a file out of a template of a review."""
    lines = "\n".join(numbered(lines_of(text)))
    names = ", ".join(f"`{name}`" for name in functions)
    parts = (
        whole(1, "TASK", sentences(template, "role")),
        whole(2, "RULES", sentences(template, "rules", calls=most_calls)),
        whole(7, "FILE", fenced(lines, "python")),
        whole(10, "GOAL", sentences(template, "goal", functions=names)),
    )
    return Prompt(Role.REVIEWER, parts)


def parse(reply: str) -> Review | Unusable:
    """The review of a reply."""
    code = module_of(reply)
    if isinstance(code, Unusable):
        return code
    found = named_entries(reply, "faults")
    return Review(
        code, tuple(NamedFault(one["function"], one["line"], one["why"]) for one in found)
    )


def module_of(reply: str) -> str | Unusable:
    """The text of the module in a reply."""
    try:
        code = answer(reply).code
    except AnswerError as error:
        return Unusable(str(error))
    if not code:
        return Unusable("the reply has no module in a fence that begins with ```python")
    try:
        ast.parse(code)
    except (SyntaxError, ValueError) as error:
        return Unusable(f"the module of the reply cannot be parsed: {error}")
    return code


def named_entries(reply: str, key: str) -> Iterator[dict[str, Any]]:
    """The entries of a list in a reply that say of which ``function`` and ``line`` they are and
    ``why``, shortened; others are left out."""
    entries = (last_object(reply) or {}).get(key)
    for given in entries if isinstance(entries, list) else ():
        if not isinstance(given, Mapping):
            continue
        function, line, why = given.get("function"), given.get("line"), given.get("why")
        if isinstance(function, str) and type(line) is int and isinstance(why, str):
            yield {**given, "why": short_text(why, _MOST_WHY)}
