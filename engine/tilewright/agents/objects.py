"""JSON objects in the replies of models."""

import json
from collections.abc import Iterator
from typing import Any

from tilewright.agents.answers import without_thinking
from tilewright.textfile import one_line

_NESTED = 3
_MOST_OBJECTS = 500


def last_object(reply: str) -> dict[str, Any] | None:
    """The last JSON object of a reply that is nowhere inside another; None where there is none.

    It may stand in a fence, in prose, or in a JSON string.
    """
    text = without_thinking(reply)
    for _ in range(_NESTED):
        found = _loaded(text)
        if isinstance(found, dict):
            return found
        if not isinstance(found, str):
            break
        text = found
    return next((one for one in reversed(list(_objects(text)))), None)


def short_text(value: Any, most: int) -> str:
    """A value of an object as one line of at most so many characters; "" for what is no text."""
    text = one_line(" ".join(value.split())) if isinstance(value, str) else ""
    return text if len(text) <= most else f"{text[:most].rpartition(' ')[0]} [...]"


def _loaded(text: str) -> Any:
    try:
        return json.loads(text.strip())
    except (ValueError, RecursionError):
        return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    at, tried = text.find("{"), 0
    while at >= 0 and tried < _MOST_OBJECTS:
        tried += 1
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(found, dict):
                yield found
        at = text.find("{", end)
