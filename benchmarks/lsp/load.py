"""Edits to diagnostics while an optimization, a profile and a compile run in the same server.

Quiet and loaded spells take turns in one session; the load is what an editor would start.

    python benchmarks/lsp/load.py [--spells 3] [--strokes 40]
"""

import argparse
import datetime
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from lsp.figures import quantiles  # noqa: E402
from lsp.servers import Server  # noqa: E402
from lsp.session import Session  # noqa: E402
from lsp.texts import documents, edits  # noqa: E402

EXAMPLE = ROOT / "examples" / "matmul.py"
_EDITS = ("kernel", "host")
_PAUSE_S = 0.1
_START_S = 2.0


def main() -> int:
    options = _options()
    document = documents(options.corpora)[0]
    server = Server(
        "tilewright",
        (sys.executable, "-m", "tilewright", "lsp"),
        pulls=True,
        options={"compiled": {"run": "off"}, "profileOnSave": False},
    )
    times: dict[str, dict[str, list[float]]] = {e: {"quiet": [], "loaded": []} for e in _EDITS}
    seen: Counter[str] = Counter()
    wanted = edits(options.corpora)
    with (
        tempfile.TemporaryDirectory() as folder,
        Session(server, Path(folder), pulls=True, patience_s=120.0) as session,
    ):
        session.initialize()
        example = session.open_other("matmul.py", EXAMPLE.read_text(encoding="utf-8"))
        session.open("bench.py", document.text)
        session.settle(3.0)
        row = dict.fromkeys(_EDITS, 0)
        for _ in range(options.spells):
            for state in ("quiet", "loaded"):
                if state == "loaded":
                    _start(session, example)
                for edit in _EDITS:
                    for _ in range(options.strokes):
                        took = session.edit(wanted[edit](document, row[edit]).change)
                        row[edit] += 1
                        times[edit][state].append(took)
                        session.settle(_PAUSE_S)
                    if state == "loaded":
                        seen.update(_running(session))
                    _take_back(session, document.text)
                    row[edit] = 0
                if state == "loaded":
                    _stop(session)
    result: dict[str, Any] = {
        "file": document.name,
        "when": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "edits": {e: {s: quantiles(t) for s, t in both.items()} for e, both in times.items()},
        "jobs": "Running at the end of a loaded spell of edits: "
        + ", ".join(f"{kind} {n} of {2 * options.spells}" for kind, n in sorted(seen.items()))
        + ".",
    }
    print(json.dumps(result, indent=1))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, default=ROOT / "build" / "corpora")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench-lsp-load.json")
    parser.add_argument("--spells", type=int, default=3)
    parser.add_argument("--strokes", type=int, default=40)
    return parser.parse_args()


def _start(session: Session, example: str) -> None:
    """The three jobs, for a file that is not edited."""
    for command in ("tilewright.compile", "tilewright.optimize", "tilewright.profile"):
        session.command(command, [{"uri": example, "target": "cuda:90"}])
    time.sleep(_START_S)


def _running(session: Session) -> list[str]:
    """The kinds of the jobs that run now."""
    return [job["kind"] for job in session.ask("tilewright/status", {})["jobs"]]


def _stop(session: Session) -> None:
    for job in session.ask("tilewright/status", {})["jobs"]:
        session.command("tilewright.cancelJob", [{"job": job["job"]}])
    until = time.monotonic() + 30.0
    while _running(session) and time.monotonic() < until:
        time.sleep(0.2)
    time.sleep(_START_S)


def _take_back(session: Session, text: str) -> None:
    """The text as it was, so that each spell makes the same edits."""
    session.replace(text)
    session.settle(1.0)


if __name__ == "__main__":
    sys.exit(main())
