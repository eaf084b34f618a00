"""What commands print, and their exit codes."""

import json
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from enum import IntEnum, StrEnum
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from tilewright.textfile import encodable, printable

_SURROGATE = re.compile("[\ud800-\udfff]")


class _Terminal(Console):
    """A console that shows control characters instead of obeying them: what is printed quotes
    files and replies of models."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


# Emoji off: in "cuda:100:" it would find one. Markup off: files and messages have brackets.
OUT = _Terminal(highlight=False, soft_wrap=True, emoji=False, markup=False)
ERR = _Terminal(stderr=True, highlight=False, soft_wrap=True, emoji=False, markup=False)


class Exit(IntEnum):
    """0 done, 1 findings or rejected, 2 usage or input error, or a fault of what was to judge; 70 a
    fault of Tilewright's own that nothing expected.

    Of a recheck: 3 the certificate is stale, 4 it cannot be repeated here. Of mining: 4 no device
    can time. 130: asked to stop
    before there was anything to tell.
    """

    DONE = 0
    FINDINGS = 1
    USAGE = 2
    STALE = 3
    CANNOT = 4
    INTERNAL = 70
    STOPPED = 130


class Format(StrEnum):
    """How a command answers."""

    TEXT = "text"
    JSON = "json"


AsFormat = Annotated[Format, typer.Option("--format", help="text or json.")]


class StreamFormat(StrEnum):
    """How a long command answers: ``events`` is one JSON object a line, as things happen."""

    TEXT = "text"
    JSON = "json"
    EVENTS = "events"


AsStream = Annotated[StreamFormat, typer.Option("--format", help="text, json or events.")]


def working(on: str) -> AbstractContextManager[object]:
    """A spinner on standard error during long work; nothing if it is not a terminal."""
    return ERR.status(on) if ERR.is_terminal else nullcontext()


def write_anything() -> None:
    """Escape what the standard streams cannot hold, instead of failing at it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def emit_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(_json(value, indent=2) + "\n")


def emit_event(event: str, **fields: Any) -> None:
    """One line of an event stream, flushed, for a program that follows along."""
    sys.stdout.write(_json({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def _json(value: Any, indent: int | None = None) -> str:
    """JSON that standard output can hold and every reader takes, whatever a file's name is."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if text.isascii():
        return text
    if not plain or _SURROGATE.search(text):
        text = json.dumps(_encodable(value), indent=indent, ensure_ascii=not plain)
    return text


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(str(key)): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list | tuple) else value


def answer(value: Any, form: StreamFormat, as_text: Callable[[Any], None]) -> None:
    """Print a long command's result in the form that was asked for."""
    if form is StreamFormat.EVENTS:
        emit_event("result", result=value)
    elif form is StreamFormat.JSON:
        emit_json(value)
    else:
        as_text(value)
