"""kill -9 of the engine or of its worker, at random moments of a real run."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from each import sample

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = [pytest.mark.triton, pytest.mark.slow]


def processes_with(mark: str) -> dict[int, str]:
    """Live processes whose environment carries ``mark``: pid to command line."""
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z":
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(entry.name)] = command.decode(errors="replace")
        except OSError:
            continue
    return found


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[tuple[list[str], dict[str, str], str]]:
    """A copy of the linear_gelu example, and an environment that marks every process."""
    for name in ("linear_gelu.py", "linear_gelu.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    mark = f"TILEWRIGHT_TEST_MARK={os.getpid()}-{time.time_ns()}"
    name, _, value = mark.partition("=")
    environment = {**os.environ, "TILEWRIGHT_HOME": str(tmp_path / "home"), name: value}
    command = [sys.executable, "-m", "tilewright", "optimize", str(tmp_path / "linear_gelu.py")]
    command += ["--target", "cuda:90", "--device", "interpreter", "--format", "events"]
    yield command, environment, mark
    for pid in processes_with(mark):
        os.kill(pid, signal.SIGKILL)


def result_of(output: str) -> dict[str, Any]:
    last = json.loads(output.splitlines()[-1])
    assert last["event"] == "result", last
    return dict(last["result"])


def tree(result: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What was tried on what, where it stands in the tree, and what became of it."""
    of_trial = ("number", "proposer", "candidate", "parent", "level", "kept", "rationale")
    of_node = ("slot", "parent", "idea", "state", "may_return")
    return [
        (*(t[name] for name in of_trial), *((t["node"] or {}).get(name) for name in of_node))
        for t in result["trials"]
    ]


def units(home: Path) -> list[tuple[str, str, int, bool]]:
    with sqlite3.connect(home / "store.sqlite") as store:
        return store.execute(
            "SELECT run, key, attempts, finished IS NOT NULL FROM unit ORDER BY run, number"
        ).fetchall()


SEARCHES = (
    ("staged", len(sample(range(10), 16))),
    ("beam", len(sample(range(3), 8))),
    ("grid", len(sample(range(3), 8))),
)


@pytest.mark.parametrize(
    ("strategy", "kills"), sample(SEARCHES, 12, kind=lambda case: case[0] == "staged")
)
def test_killed_several_times_it_resumes_loses_nothing_and_leaves_no_orphan(
    bed: tuple[list[str], dict[str, str], str], tmp_path: Path, strategy: str, kills: int
) -> None:
    command, environment, mark = bed
    if strategy != "staged":
        # Draws follow from the seed, which each run has of its own unless one is given.
        spec = tmp_path / "strategy.yaml"
        spec.write_text(f"strategy: {strategy}\nseed: 7\n")
        command += ["--strategy", str(spec), "--budget", "5"]
    whole = {**environment, "TILEWRIGHT_HOME": str(tmp_path / "whole")}
    began = time.monotonic()
    expected = subprocess.run(command, env=whole, capture_output=True, text=True, check=True)
    # All kills must fall into one run, however quick the machine is.
    longest = (time.monotonic() - began) / max(kills, 6)
    draw = random.Random(20261121)
    engine_kills = 0
    for number in range(kills):
        engine = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert engine.stdout is not None
        events = map(json.loads, engine.stdout)
        assert next(e["resumed"] for e in events if e["event"] == "started") is (number > 0)
        time.sleep(draw.uniform(0.1, longest))
        if number % 2:
            workers = [p for p, c in processes_with(mark).items() if p != engine.pid]
            for pid in workers[:1]:
                os.kill(pid, signal.SIGKILL)
            time.sleep(draw.uniform(0.1, longest / 3))
        if engine.poll() is not None:
            pytest.fail("the run ended before it could be killed; make the kills earlier")
        os.kill(engine.pid, signal.SIGKILL)
        engine.wait()
        engine_kills += 1
        deadline = time.monotonic() + 60
        while (left := processes_with(mark)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left, f"orphans after kill {number}: {left}"
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    events = map(json.loads, ended.stdout.splitlines())
    assert next(e["resumed"] for e in events if e["event"] == "started") is True
    assert tree(result_of(ended.stdout)) == tree(result_of(expected.stdout))
    assert len(tree(result_of(ended.stdout))) >= 3
    assert result_of(ended.stdout)["final"] == result_of(expected.stdout)["final"]
    rows = units(tmp_path / "home")
    assert len({row[0] for row in rows}) == 1, "every restart took up the same run"
    assert all(done for *_, done in rows)
    assert [row[1] for row in rows] == [row[1] for row in units(tmp_path / "whole")]
    assert sum(attempts - 1 for _, _, attempts, _ in rows) <= engine_kills
    assert not processes_with(mark)
    replayed = subprocess.run(
        [sys.executable, "-m", "tilewright", "replay", "last", "--format", "json"],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert replayed.returncode == 0, json.loads(replayed.stdout)["difference"]
