"""Replies of the scripted server of ``model_load.py``: of real length, and of no use."""

import re

from scripted_server import Answer, Request

ANSWER_S = 5.0
_LINE = re.compile(r"^    +(\w+) = (.+[\w)\]])$", re.MULTILINE)
_THOUGHT = (
    "The kernel reads its input once for each pass, and the report says that memory bounds it. "
    "Keeping the tile in registers between the passes removes a read. The reduction then works on "
    "values that are already loaded, and the mask has to be applied once only. "
)


def _broken(request: Request, n: int) -> str:
    """A thought and an edit of the n-th assignment that does not parse."""
    lines = [found[0] for found in _LINE.finditer(request.messages[-1]["content"])]
    line = lines[n % len(lines)] if lines else "    pass"
    edit = f"<<<<<<< SEARCH\n{line}\n=======\n{line} (\n>>>>>>> REPLACE"
    return f"{_THOUGHT * 3}\n\n{edit}\n"


def at_once(request: Request, n: int) -> Answer:
    return Answer(_broken(request, n))


def after_a_while(request: Request, n: int) -> Answer:
    """Silence for ``ANSWER_S``, then the reply in pieces, as a model writes it."""
    return Answer(_broken(request, n), delay_s=ANSWER_S, pieces=40)
