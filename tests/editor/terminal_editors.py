"""A session in an editor without a screen: what it saw, and the file it left on disk."""

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 600
FIX = {
    "issue": "unstable_tanh",
    "place": "(tl.exp(2 * u) - 1)",
    "title": "Write tanh so that",
}
SETTINGS = {"profileOnSave": False, "compiled": {"run": "off"}, "budget": 1, "target": "cuda:90"}


@dataclass(frozen=True)
class Session:
    """``seen`` is what the editor reported; ``on_disk`` is the file after its last save."""

    seen: dict[str, Any]
    original: str
    on_disk: str


def play(folder: Path, command: list[str]) -> Session:
    """Run an editor on a copy of an example. ``command`` starts its script."""
    for name in ("linear_gelu.py", "linear_gelu.yaml", "references.py"):
        shutil.copy(ROOT / "examples" / name, folder)
    file, report = folder / "linear_gelu.py", folder / "report.json"
    original = file.read_text()
    scenario = {
        "file": str(file),
        "folder": str(folder),
        "report": str(report),
        "command": [sys.executable, "-m", "tilewright_server"],
        "settings": SETTINGS,
        "fix": FIX,
        "optimize": {"title": "Optimize for NVIDIA", "limit_s": LIMIT_S},
    }
    home = folder / "editor"
    home.mkdir()
    environment = {
        **os.environ,
        "EDITOR_SCENARIO": json.dumps(scenario),
        "XDG_STATE_HOME": str(home),
        "XDG_DATA_HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
    }
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=2 * LIMIT_S
    )
    assert report.exists(), done.stdout + done.stderr
    seen = json.loads(report.read_text())
    assert not seen.get("problem"), (seen["problem"], done.stderr[-2000:])
    return Session(seen, original, file.read_text())


def check(session: Session, asked: str) -> None:
    """Diagnostics, a quick fix and an optimization; every byte on disk is accounted for.

    Args:
        asked: a part of the question that the editor asks before it applies the optimization.
    """
    seen, lines = session.seen, session.original.split("\n")
    (issue,) = [d for d in seen["diagnostics"] if d["code"] == FIX["issue"]]
    assert lines[issue["line"]].lstrip().startswith("tanh_u = (")
    changed = [old for old, new in zip(lines, seen["fixed"].split("\n"), strict=True) if old != new]
    assert changed == [lines[issue["line"]]], "the quick fix changes one line"
    assert "tl.sigmoid" in seen["fixed"]
    finished = seen["finished"]
    assert finished["state"] == "done", finished
    assert finished["message"].startswith("applied: "), finished["message"]
    assert "compiled for cuda:90" in finished["message"]
    assert any(asked in message for message in seen["messages"]), seen["messages"]
    assert session.on_disk == seen["final"] == finished["result"]["final"]
    assert session.on_disk != seen["fixed"]
    ast.parse(session.on_disk)
