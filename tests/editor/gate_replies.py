"""What the scripted model of the editor test answers about ``kernels/gate.py``.

Its first candidate has a syntax error; the second, which is shown the verifier's message, is right.
"""

import json

from scripted_server import Answer, Request

OLD = "    y = x / (1.0 + tl.exp(-x))"
NEW = "    y = x * tl.sigmoid(x)"
ISSUE = {
    "id": None,
    "title": "The sigmoid is written out",
    "stage": "fusion",
    "severity": 2,
    "line": 12,
    "evidence": OLD.strip(),
    "fix": "Use tl.sigmoid, which gives the same values.",
    "gain": 1.05,
}


def reply(request: Request, n: int) -> Answer:
    system = request.messages[0]["content"]
    if "Report at most" in system:
        found = [ISSUE] if OLD in request.prompt else []
        return Answer(_fenced(json.dumps({"issues": found})))
    if "You plan the optimization" in system:
        return Answer(_fenced(json.dumps({"order": [], "skip": [], "why": "One stage is left."})))
    right = "## 11." in request.prompt
    thought = "tl.sigmoid replaces a division and an exponential."
    edit = f"<<<<<<< SEARCH\n{OLD}\n=======\n{NEW if right else NEW + ' ('}\n>>>>>>> REPLACE"
    return Answer(f"{thought}\n\n{edit}\n", delay_s=2.0 if right else 0.0)


def _fenced(text: str) -> str:
    return f"```json\n{text}\n```\n"
