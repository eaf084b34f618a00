"""Replies of the scripted server of ``model_load.py``: of real length, and of no use."""

import json
import re

from scripted_server import Answer, Request

ANSWER_S = 5.0
_LINE = re.compile(r"^ *(\d+) \| ( {4,}\w+ = .+[\w)\]])$", re.MULTILINE)
_THOUGHT = (
    "The kernel reads its input once for each pass, and the report says that memory bounds it. "
    "Keeping the tile in registers between the passes removes a read. The reduction then works on "
    "values that are already loaded, and the mask has to be applied once only. "
)


def _reply(request: Request, n: int) -> str:
    lines = _LINE.findall(request.messages[-1]["content"])
    number, line = lines[n % len(lines)] if lines else ("1", "    pass")
    if "Report at most" in request.messages[0]["content"]:
        return _issues(int(number), line.strip())
    edit = f"<<<<<<< SEARCH\n{line}\n=======\n{line} (\n>>>>>>> REPLACE"
    return f"{_THOUGHT * 2}\n\n{edit}\n"


def _issues(line: int, code: str) -> str:
    """An analyzer's answer that leads to two stages."""
    common = {"id": None, "severity": 3, "line": line, "evidence": code, "gain": 1.2}
    said = {"title": "The value is computed twice", "fix": "Compute it once and keep it."}
    found = [{**common, **said, "stage": stage} for stage in ("algorithmic", "fusion")]
    return f"```json\n{json.dumps({'issues': found})}\n```\n"


def at_once(request: Request, n: int) -> Answer:
    return Answer(_reply(request, n))


def after_a_while(request: Request, n: int) -> Answer:
    """Silence for ``ANSWER_S``, then the reply in pieces, as a model writes it."""
    return Answer(_reply(request, n), delay_s=ANSWER_S, pieces=40)
