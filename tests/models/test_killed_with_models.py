"""kill -9 of the engine at random moments of runs with a model, calls in flight included."""

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import scripts
from bed import Bed
from scripted_server import ServerProcess, serve_process

KILLS = 25
IN_A_CALL = 10
DELAY_S = 0.4

pytestmark = [pytest.mark.triton, pytest.mark.slow]

COMMAND = (
    "optimize", "chain.py", "--model", "scripted", "--device", "interpreter", "--format", "json",
)  # fmt: skip


def fresh(folder: Path, base_url: str) -> Bed:
    """A bed with the kernel and an empty store."""
    folder.mkdir()
    for path in scripts.CHAIN.parent.iterdir():
        if path.is_file():
            shutil.copy(path, folder / path.name)
    return Bed(folder, base_url)


def tree(result: dict[str, Any]) -> dict[str, Any]:
    """What a run decided. Figures in a mismatch, and so the prompts that quote them, follow from
    the inputs, which each run draws anew.
    """
    of_trial = (
        "number", "stage", "proposer", "rationale", "candidate", "parent", "level", "kept",
    )  # fmt: skip
    of_call = ("role", "model", "stage", "try", "sample", "error", "finish")
    trials = [
        {name: trial[name] for name in of_trial}
        | {"failed": trial["failed"]["step"] if trial["failed"] else None}
        for trial in result["trials"]
    ]
    calls = [{name: call.get(name) for name in of_call} for call in result["models"]["calls"]]
    return {"trials": trials, "calls": calls} | {
        name: result[name] for name in ("final", "level", "plan", "notes", "changed")
    }


def kill_in_a_run(bed: Bed, server: ServerProcess, after_s: float, *, in_a_call: bool) -> bool:
    """Start a run and kill it so many seconds later, or that long after it sent a request.

    False: it had ended before.
    """
    asked = len(server.completions)
    engine = bed.start(COMMAND)
    if in_a_call:
        while engine.poll() is None and len(server.completions) == asked:
            time.sleep(0.01)
    deadline = time.monotonic() + after_s
    while engine.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    killed = engine.poll() is None
    if killed:
        os.kill(engine.pid, signal.SIGKILL)
    engine.communicate()
    left = bed.orphans()
    assert not left, f"processes that outlive the engine: {sorted(left)}"
    return killed


def test_killed_at_random_moments_it_resumes_to_the_same_tree_and_replays_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPT_DELAY_S", str(DELAY_S))
    draw = random.Random(20261122)
    with serve_process("scripts:third_try", tmp_path / "requests.jsonl") as server:
        undisturbed = fresh(tmp_path / "undisturbed", server.base_url)
        began = time.monotonic()
        ended = undisturbed.run(*COMMAND)
        whole_s = time.monotonic() - began
        assert ended.code == 0, ended.stderr
        expected, calls = tree(ended.result), len(server.completions)
        assert expected["changed"]
        assert calls >= 3

        kinds = [True] * IN_A_CALL + [False] * (KILLS - IN_A_CALL)
        draw.shuffle(kinds)
        killed, runs, in_calls = 0, 0, 0
        while killed < KILLS:
            runs += 1
            bed = fresh(tmp_path / f"run{runs}", server.base_url)
            before, kills_here = len(server.completions), 0
            try:
                while killed < KILLS:
                    in_a_call = kinds[killed]
                    moment = draw.uniform(0, DELAY_S * 0.7 if in_a_call else whole_s)
                    if not kill_in_a_run(bed, server, moment, in_a_call=in_a_call):
                        break
                    killed += 1
                    kills_here += 1
                    in_calls += in_a_call
                last = bed.run(*COMMAND)
                assert last.code == 0, last.stderr
                assert tree(last.result) == expected
                assert not last.watch.leaks
                sent = len(server.completions) - before
                # A call that was under way is sent once more; what was answered never is.
                assert sent <= calls + kills_here
                check_replay(bed, server, last.result)
            finally:
                bed.end_processes()
    assert in_calls == IN_A_CALL


def check_replay(bed: Bed, server: ServerProcess, result: dict[str, Any]) -> None:
    """The finished run, decided again from its record: the same result, no request."""
    asked = len(server.requests)
    replayed = bed.run("replay", result["run"], "--format", "json")
    assert replayed.code == 0, replayed.stdout + replayed.stderr
    assert json.loads(replayed.stdout)["difference"] is None
    assert len(server.requests) == asked
