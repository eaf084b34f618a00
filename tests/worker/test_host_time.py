"""Host code that never comes back is left to the call that is judged."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from worker_bench import case_of, tensor

from tilewright.worker.loading import host_timeout
from tilewright.worker.loading.host_timeout import TookTooLongError

ENDLESS = """
import torch


def holds_on(x):
    held = []
    while True:
        held.append(torch.empty(1 << 30, device=x.device))


def returns(x):
    return x
"""


def test_what_takes_longer_is_stopped_even_if_it_catches_that_once() -> None:
    def stubborn() -> None:
        for _ in range(2):
            try:
                time.sleep(60)
            except TookTooLongError:
                continue

    start = time.monotonic()
    with host_timeout.limited(0.05):
        stubborn()
    assert time.monotonic() - start < 60
    with (
        pytest.raises(TookTooLongError, match=r"host code ran for 0\.05 s"),
        host_timeout.limited(0.05),
    ):
        time.sleep(60)
    time.sleep(0.1)  # nothing rings afterwards


def test_a_compiler_may_take_its_time() -> None:
    with host_timeout.limited(1.5):
        with host_timeout.not_counted():
            time.sleep(1.6)
        time.sleep(0.01)


AHEAD = """
import json, sys
from tilewright.worker.jobs import measure
from tilewright.worker.loading.entry_point import load_for

job = json.loads(sys.argv[1])
measure.HOST_CODE_S = float(sys.argv[2])
notes = []
measure.compile_ahead(job, load_for(job.get("entry"), job["module"]), ("cuda", "90"), notes)
print(json.dumps(notes))
"""
"""In a process of its own, as it pretends to Triton for good."""


@pytest.mark.slow
@pytest.mark.triton
@pytest.mark.parametrize(
    ("name", "limit_s", "told"),
    [("holds_on", 0.5, ["host code ran for 0.5 s"]), ("returns", 60.0, [])],
)
def test_compiling_ahead_ends_where_memory_without_end_is_asked_for(
    name: str, limit_s: float, told: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "endless.py"
    path.write_text(ENDLESS)
    job = {
        "device": "cuda:0", "module": str(path), "case": case_of(tensor("x", 4)),
        "entry": {"kind": "function", "name": name},
    }  # fmt: skip
    command = [sys.executable, "-c", AHEAD, json.dumps(job), str(limit_s)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    notes = json.loads(ended.stdout)
    assert len(notes) == len(told)
    assert all(part in note for part, note in zip(told, notes, strict=True))
