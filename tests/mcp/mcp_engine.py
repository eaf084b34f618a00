"""Stands in for the engine's command line: ``# engine: SCENARIO`` in its text says what it does."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CERTIFICATE = {
    "level": "correct", "original": "0" * 32, "candidate": "a" * 32, "problem": None,
    "target": None, "device": "interpreter", "toolchain": {}, "steps": [], "speedup": None,
    "seeds": [], "created": "", "tilewright": "0", "isolation": {"level": "strong"},
    "unverified": ["Speed was not measured."],
}  # fmt: skip
VERDICT = {
    "accepted": True, "level": "correct", "required": "correct", "failed": None, "error": None,
    "speedup": None, "certificate": CERTIFICATE, "certificate_file": None, "notes": [],
}  # fmt: skip
OPTIMIZED = {
    "path": "k.py", "target": None, "device": "interpreter", "changed": False, "final": "",
    "diff": "", "plan": [], "issues": [], "remaining": [], "trials": [], "level": None,
    "screened_gain": None, "speedup": None, "certificate": None, "notes": [],
    "harness_faults": [], "seconds": 1.0, "certificate_file": None,
}  # fmt: skip


def emit(event: str, **data: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **data}) + "\n")
    sys.stdout.flush()


def stop_for_good(text: str) -> None:
    """Ignore requests to end; a process of the same group does, too. Their ids go to a file."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    program = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    other = subprocess.Popen([sys.executable, "-c", program])
    place = re.search(r"# pids: (.+)", text)
    if place is not None:
        Path(place[1]).write_text(f"{os.getpid()} {other.pid}")
    emit("progress", percent=10, message="hanging")
    time.sleep(600)


def best_so_far() -> None:
    def stop(*_: object) -> None:
        emit("result", result=OPTIMIZED)
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    emit("progress", percent=10, message="optimizing")
    time.sleep(600)


def main() -> None:
    text = sys.stdin.read()
    named = re.search(r"# engine: (\w+)", text)
    match named[1] if named else "accept":
        case "hang":
            stop_for_good(text)
        case "best":
            best_so_far()
        case "fault":
            sys.stderr.write("ValueError: inside\n")
            raise SystemExit(70)
        case "usage":
            emit("error", message="no spec", path="k.py", line=3)
            raise SystemExit(2)
        case "environment":
            notes = [f"{name}={os.environ.get(name)}" for name in ("OPENAI_API_KEY", "PYTHONUTF8")]
            emit("result", result={**VERDICT, "notes": notes})
        case "surrogate":
            emit("result", result={**VERDICT, "notes": ["\ud800"]})
        case "garbage":
            emit("result", result={"accepted": "?"})
        case "slow":
            for percent in (20, 60, 40):
                emit("progress", percent=percent, message=f"at {percent}")
                time.sleep(0.4)
            emit("result", result=VERDICT)
        case _:
            emit("result", result=VERDICT)


if __name__ == "__main__":
    main()
