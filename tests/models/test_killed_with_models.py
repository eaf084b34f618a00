"""kill -9 of the engine at random moments of runs with a model, calls in flight included."""

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import scripts
from bed import Bed
from each import sample
from scripted_server import ServerProcess, serve_process

KILLS = len(sample(range(25), 32))
IN_A_CALL = len(sample(range(10), 32))
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


def killed_or_ended(
    bed: Bed, server: ServerProcess, after_s: float, *, in_a_call: bool
) -> dict[str, Any] | None:
    """Start a run and kill it so many seconds later, or that long after it sent a request.

    Its result, if it ended before; nothing of it may be left in either case.
    """
    asked = sent_to(server)
    engine = bed.start(COMMAND)
    while in_a_call and engine.poll() is None and sent_to(server) == asked:
        time.sleep(0.02)
    deadline = time.monotonic() + after_s
    while engine.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    killed = engine.poll() is None
    if killed:
        os.kill(engine.pid, signal.SIGKILL)
    out, err = engine.communicate()
    left = bed.orphans()
    assert not left, f"processes that outlive the engine: {sorted(left)}"
    if killed:
        return None
    assert engine.returncode == 0, err
    return dict(json.loads(out))


def sent_to(server: ServerProcess) -> int:
    """How many requests the server has had."""
    return server.log.read_bytes().count(b"\n") if server.log.exists() else 0


def test_killed_at_random_moments_it_resumes_to_the_same_tree_and_replays_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPT_DELAY_S", str(DELAY_S))
    draw = random.Random(20261122)
    kinds = [True] * IN_A_CALL + [False] * (KILLS - IN_A_CALL)
    draw.shuffle(kinds)
    with serve_process("scripts:third_try", tmp_path / "requests.jsonl") as server:
        undisturbed = fresh(tmp_path / "undisturbed", server.base_url)
        began = time.monotonic()
        expected = killed_or_ended(undisturbed, server, 600.0, in_a_call=False)
        whole_s = time.monotonic() - began
        assert expected is not None
        assert expected["changed"]
        calls = sent_to(server)
        assert calls >= 3
        runs = 0
        while kinds:
            runs += 1
            bed = fresh(tmp_path / f"run{runs}", server.base_url)
            try:
                before, kills = sent_to(server), len(kinds)
                result = None
                while kinds and result is None:
                    after_s = draw.uniform(0, DELAY_S * 0.7 if kinds[-1] else whole_s)
                    result = killed_or_ended(bed, server, after_s, in_a_call=kinds[-1])
                    if result is None:
                        kinds.pop()
                if result is None:
                    result = killed_or_ended(bed, server, 600.0, in_a_call=False)
                assert result is not None
                assert tree(result) == tree(expected)
                # A call that was under way is sent once more; what was answered never is.
                assert sent_to(server) - before <= calls + kills - len(kinds)
                check_replay(bed, server, result)
                sys.stdout.write(f"{KILLS - len(kinds)} kills, {runs} runs\n")
            finally:
                bed.end_processes()


def check_replay(bed: Bed, server: ServerProcess, result: dict[str, Any]) -> None:
    """The finished run, decided again from its record: the same result, no request."""
    asked = sent_to(server)
    replay = bed.start(("replay", result["run"], "--format", "json"))
    out, err = replay.communicate()
    assert replay.returncode == 0, out + err
    assert json.loads(out)["difference"] is None
    assert sent_to(server) == asked
