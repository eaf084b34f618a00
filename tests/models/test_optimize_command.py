"""``tilewright optimize`` with models, as a person types it: prompts, progress, a free rerun."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Answer, Request, serve

pytest.importorskip("openai", reason="needs openai: pip install 'tilewright[models]'")

EXAMPLES = Path(__file__).parents[2] / "examples"
KEY = "sk-command-0123456789"
WRONG = "tl.exp(x - row_max) / (row_sum + 1)"
SAME = "tl.exp(x - row_max) * (1.0 / row_sum)"
NUMBERED = re.compile(r"^\s*\d+ \| (?=.*/ row_sum)")

pytestmark = [pytest.mark.triton, pytest.mark.slow]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("softmax.py", "softmax.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    return tmp_path


def command(
    folder: Path, *options: str, url: str = "", key: str = ""
) -> subprocess.CompletedProcess[str]:
    kept = {n: v for n, v in os.environ.items() if not n.startswith("OPENAI_")}
    given = {"TILEWRIGHT_HOME": str(folder / "home"), "COLUMNS": "200"}
    given |= {"OPENAI_BASE_URL": url} if url else {}
    given |= {"OPENAI_API_KEY": key} if key else {}
    line = [sys.executable, "-m", "tilewright", *options]
    return subprocess.run(
        line, env={**kept, **given}, cwd=folder, capture_output=True, text=True, timeout=400
    )


OPTIMIZE = ("optimize", "softmax.py", "--device", "interpreter", "--target", "cuda:90")


def reply(request: Request, number: int) -> Answer:
    """An issue for the analyzer; for the optimizer a wrong quotient, then a right one."""
    del number
    prompt = request.prompt
    if "Report the issues of the file in section 7" in prompt:
        issue = {
            "id": None, "title": "Divides in every element", "stage": "discovery", "severity": 3,
            "line": 1, "evidence": "", "fix": "Multiply by the reciprocal.", "gain": 1.1,
        }  # fmt: skip
        return Answer(json.dumps({"issues": [issue]}))
    if '"skip"' in prompt:
        return Answer('{"order": [], "skip": [], "why": "as it is"}')
    shown = next(line for line in reversed(prompt.splitlines()) if NUMBERED.match(line))
    line = NUMBERED.sub("", shown)
    new = line.replace(
        "tl.exp(x - row_max) / row_sum", WRONG if "11. TRIES" not in prompt else SAME
    )
    function = f"<<<<<<< SEARCH\n{line}\n=======\n{new}\n>>>>>>> REPLACE"
    return Answer(f"Write the quotient in another way.\n\n```\n{function}\n```\n")


def test_prompts_are_shown_without_a_key_and_nothing_is_sent(folder: Path) -> None:
    with serve(reply) as server:
        done = command(folder, *OPTIMIZE, "--show-prompts", "--format", "json", url=server.base_url)
        assert done.returncode == 0, done.stderr
        assert server.requests == []
    shown = json.loads(done.stdout)["prompts"]
    roles = [one["role"] for one in shown]
    assert roles[:2] == ["analyzer", "planner"]
    assert set(roles) == {"analyzer", "planner", "optimizer", "extractor"}
    assert {one["stage"] for one in shown if one["role"] == "optimizer"} >= {"algorithmic"}
    texts = "\n".join(message["text"] for one in shown for message in one["messages"])
    assert "softmax_kernel" in texts
    assert str(folder) not in texts


def result_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1])["result"])


def test_a_wrong_try_then_a_right_one_a_free_rerun_and_a_replay(folder: Path) -> None:
    options = (*OPTIMIZE, "--model", "scripted", "--format", "events")
    with serve(reply) as server:
        done = command(folder, *options, url=server.base_url, key=KEY)
        first = result_of(done)
        asked = len(server.requests)
        second = result_of(command(folder, *options, url=server.base_url, key=KEY))
        assert len(server.requests) == asked
        replayed = command(folder, "replay", "last", url=server.base_url)
        assert len(server.requests) == asked
    tried = [t for t in first["trials"] if t["proposer"] == "model:scripted"]
    assert [(t["level"], t["kept"]) for t in tried] == [("rejected", False), ("correct", True)]
    assert tried[0]["failed"]["step"] == "correctness"
    assert SAME in first["final"]
    assert first["models"]["spent"]["calls"] == asked
    assert [call["role"] for call in first["models"]["calls"]].count("optimizer") == 2
    assert first["models"]["suspected"][0]["message"].startswith("suspected by a model: Divides")
    assert second["models"]["spent"]["calls"] == 0
    assert [t["candidate"] for t in second["trials"]] == [t["candidate"] for t in first["trials"]]
    assert replayed.returncode == 0, replayed.stdout
    events = [json.loads(line) for line in done.stdout.splitlines()]
    tries = [e["try"] for e in events if e["event"] == "progress" and e["try"]]
    assert tries == [1, 2]
    begun = next(place for place, e in enumerate(events) if e["event"] == "started")
    assert all(e["spent"] for e in events[begun:] if e["event"] == "progress")
    held = [
        p for p in (folder / "home").rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()
    ]
    assert held == []
