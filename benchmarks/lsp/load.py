"""Edits to diagnostics while an optimization, a profile and a compile run in the same server.

Quiet and loaded spells take turns in one session, so that other programs of the machine disturb
both alike. In a loaded spell a job that has ended is started again, for a text that no job has had.

    python benchmarks/lsp/load.py [--spells 8] [--strokes 20]

Spells are short, so that what else the machine does falls on both states. The rise of p95 comes
with an interval: the middle 95 % of rises when whole spells are drawn again.
"""

import argparse
import datetime
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from lsp.figures import quantiles  # noqa: E402
from lsp.servers import Server, environment  # noqa: E402
from lsp.session import Session  # noqa: E402
from lsp.texts import Document, Edit, documents, edits  # noqa: E402

EXAMPLE = ROOT / "examples" / "matmul.py"
EDITS = ("kernel", "host")
STATES = ("quiet", "loaded")
_JOBS = {
    "compile": "tilewright.compile",
    "optimize": "tilewright.optimize",
    "profile": "tilewright.profile",
}
_RUN_ON = ("matmul.yaml", "references.py")
_PAUSE_S = 0.1
_START_S = 2.0
_BEGIN_S = 60.0
_END_S = 30.0
_LOOK_EVERY = 5
_DRAWN = 2000


class Jobs:
    """The three jobs of a loaded spell, kept running."""

    def __init__(self, session: Session, folder: Path) -> None:
        self._session = session
        for name in _RUN_ON:
            shutil.copy(EXAMPLE.with_name(name), folder)
        self._text = EXAMPLE.read_text(encoding="utf-8")
        self._uri = session.open_other("matmul.py", self._text)
        self._version = 1
        self.seen: Counter[str] = Counter()
        self.looks = 0

    def keep(self) -> None:
        """Note which run, and start those that neither run nor wait for another."""
        jobs = self._jobs()
        running = {job["kind"] for job in jobs}
        self.looks += 1
        self.seen.update({job["kind"] for job in jobs if job["state"] == "running"})
        if running < _JOBS.keys():
            self._version += 1
            text = f"{self._text}\n# {self._version}\n"
            self._session.replace_other(self._uri, self._version, text)
        for kind in _JOBS.keys() - running:
            self._session.command(_JOBS[kind], [{"uri": self._uri, "target": "cuda:90"}])

    def begin(self) -> None:
        """Start the jobs; returns when one of them computes."""
        self.keep()
        until = time.monotonic() + _BEGIN_S
        while not any(job["state"] == "running" for job in self._jobs()):
            if time.monotonic() > until:
                raise TimeoutError(f"no job has begun in {_BEGIN_S} s")
            time.sleep(0.2)
        time.sleep(_START_S)

    def stop(self) -> None:
        """End the jobs. Raises RuntimeError: one has failed, so that there was no load."""
        for job in self._jobs():
            self._session.command("tilewright.cancelJob", [{"job": job["job"]}])
        until = time.monotonic() + _END_S
        while self._jobs() and time.monotonic() < until:
            time.sleep(0.2)
        failed = [
            job["message"]
            for job in self._session.command("tilewright.listJobs", [])
            if job["state"] == "failed"
        ]
        if failed:
            raise RuntimeError(f"jobs have failed: {failed}")
        time.sleep(_START_S)

    def _jobs(self) -> list[Any]:
        jobs: list[Any] = self._session.ask("tilewright/status", {})["jobs"]
        return jobs


@dataclass
class Times:
    """Seconds of each stroke; of all, what the server computed and waited for a core."""

    spells: list[list[float]] = field(default_factory=list)
    computed_s: float = 0.0
    waited_s: float = 0.0

    @property
    def strokes(self) -> list[float]:
        return [stroke for spell in self.spells for stroke in spell]

    def to_json(self) -> dict[str, Any]:
        many = max(1, len(self.strokes))
        return {
            **(quantiles(self.strokes) or {}),
            "cpu": round(1e3 * self.computed_s / many, 2),
            "no_core": round(1e3 * self.waited_s / many, 2),
        }


def rise(quiet: Times, loaded: Times) -> dict[str, float]:
    """By how many percent p95 rises, and between which ends that lies by drawing spells again."""
    chance = random.Random(1)
    drawn = sorted(
        _rise(chance.choices(quiet.spells, k=len(quiet.spells)),
              chance.choices(loaded.spells, k=len(loaded.spells)))
        for _ in range(_DRAWN)
    )  # fmt: skip
    low, high = drawn[_DRAWN // 40], drawn[-1 - _DRAWN // 40]
    return {"p95": _rise(quiet.spells, loaded.spells), "low": low, "high": high}


def _rise(quiet: list[list[float]], loaded: list[list[float]]) -> float:
    before, after = (_p95([s for spell in spells for s in spell]) for spells in (quiet, loaded))
    return round(100 * (after / before - 1), 1)


def _p95(strokes: list[float]) -> float:
    return sorted(strokes)[round(0.95 * (len(strokes) - 1))]


def main() -> int:
    options = _options()
    document = documents(options.corpora)[0]
    wanted = edits(options.corpora)
    times = {edit: {state: Times() for state in STATES} for edit in EDITS}
    load_before = os.getloadavg()[0]
    server = Server(
        "tilewright",
        (sys.executable, "-m", "tilewright", "lsp"),
        pulls=True,
        options={"compiled": {"run": "off"}, "profileOnSave": False},
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        environment(Path(folder)),
        Session(server, Path(folder), pulls=True, patience_s=120.0) as session,
    ):
        session.initialize()
        jobs = Jobs(session, Path(folder))
        session.open("bench.py", document.text)
        session.settle(3.0)
        for _ in range(options.spells):
            for state in STATES:
                if state == "loaded":
                    jobs.begin()
                for edit in EDITS:
                    done = sum(len(one.spells) for one in times[edit].values())
                    first = 1 + done * (options.strokes + options.strokes % 2)
                    _spell(session, document, wanted[edit], first, options.strokes,
                           times[edit][state], jobs if state == "loaded" else None)  # fmt: skip
                if state == "loaded":
                    jobs.stop()
    ran = ", ".join(f"{kind} at {n} of {jobs.looks}" for kind, n in sorted(jobs.seen.items()))
    result: dict[str, Any] = {
        "file": document.name,
        "when": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "load_before": load_before,
        "edits": {e: {s: t.to_json() for s, t in both.items()} for e, both in times.items()},
        "rise": {e: rise(both["quiet"], both["loaded"]) for e, both in times.items()},
        "jobs": f"Computing when it was looked, every {_LOOK_EVERY} edits: {ran}; the rest waited.",
    }
    print(json.dumps(result, indent=1))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, default=ROOT / "build" / "corpora")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench-lsp-load.json")
    parser.add_argument("--spells", type=int, default=8)
    parser.add_argument("--strokes", type=int, default=20)
    return parser.parse_args()


def _spell(
    session: Session, document: Document, edit: Edit, first: int, strokes: int, into: Times,
    jobs: Jobs | None,
) -> None:  # fmt: skip
    """So many edits, from number ``first`` on, which is odd; the text is then as it was.

    No edit is made twice: the server would know what it found. The one that makes room for the
    first is not measured.
    """
    session.edit(edit(document, 0).change)
    into.spells.append([])
    for k in range(first, first + strokes):
        if jobs is not None and (k - first) % _LOOK_EVERY == 0:
            jobs.keep()
        session.settle(_PAUSE_S)
        computed, waited = session.time_on_cores()
        into.spells[-1].append(session.edit(edit(document, k).change))
        now = session.time_on_cores()
        into.computed_s += now[0] - computed
        into.waited_s += now[1] - waited
    session.replace(document.text)
    session.settle(1.0)


if __name__ == "__main__":
    sys.exit(main())
