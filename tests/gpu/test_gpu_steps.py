"""The command that repeats what is claimed of GPUs: it ends, keeps what there is, and says so."""

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WRITES = "import os; open(os.environ['OUT'] + '/found.json', 'w').write('1'); print('was here')"
FAILS = "print('it broke'); raise SystemExit(3)"
SLOW = """
import os, time
try:
    open(os.environ['OUT'] + '/part.json', 'w').write('half')
    time.sleep(600)
except KeyboardInterrupt:
    print('wrote what there was')
"""
DEAF = """
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
open(os.environ['OUT'] + '/part.json', 'w').write('half')
time.sleep(600)
"""
TOY = """
import sys
sys.path.insert(0, {benchmarks!r})
import gpu_steps, on_gpu
gpu_steps.STEPS = on_gpu.STEPS = (gpu_steps.Step("slow", ("{{python}}", "-c", {slow!r}), "", 50),)
on_gpu._nvidia_smi = lambda *arguments: ["one"]
sys.exit(on_gpu.main())
"""


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    import on_gpu

    return on_gpu


def step(on_gpu: ModuleType, name: str, code: str, seconds: float = 30.0, **more: Any) -> Any:
    return on_gpu.Step(name, ("{python}", "-c", code), "a claim", seconds, **more)


def became(outcomes: list[Any]) -> dict[str, str]:
    return {one.name: one.became for one in outcomes}


def packed(archive: Path) -> dict[str, str]:
    with tarfile.open(archive) as opened:
        found = {one.name: opened.extractfile(one) for one in opened.getmembers()}
        return {name: file.read().decode() for name, file in found.items() if file is not None}


def test_one_that_fails_stops_none_of_the_others(on_gpu: ModuleType, tmp_path: Path) -> None:
    archive = tmp_path / "all.tar.gz"
    steps = (step(on_gpu, "breaks", FAILS), step(on_gpu, "writes", WRITES))
    outcomes = on_gpu.run_all(steps, on_gpu.Plan(tmp_path / "out", archive, gpus=1))
    assert became(outcomes) == {"breaks": "failed", "writes": "done"}
    assert outcomes[0].said == "exit code 3"
    files = packed(archive)
    assert files["writes/found.json"] == "1"
    assert files["writes.log"] == "was here\n"
    assert files["breaks.log"] == "it broke\n"
    told = json.loads(files["summary.json"])["steps"]
    assert [one["became"] for one in told] == ["failed", "done"]


class LateOnce:
    """A clock that stands still until a file is there, and is an hour late from then on."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def monotonic(self) -> float:
        return 3600.0 if self.file.is_file() else 0.0


@pytest.mark.parametrize(
    ("code", "patience_s", "log"), [(SLOW, 60.0, "wrote what there was\n"), (DEAF, 0.1, "")]
)
def test_one_that_takes_too_long_is_ended(
    on_gpu: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    code: str, patience_s: float, log: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(on_gpu, "time", LateOnce(tmp_path / "long" / "part.json"))
    monkeypatch.setattr(on_gpu, "_PACK_S", 0.05)
    monkeypatch.setattr(on_gpu, "_ENDING_S", patience_s)
    plan = on_gpu.Plan(tmp_path, tmp_path / "all.tar.gz", gpus=1)
    (outcome,) = on_gpu.run_all((step(on_gpu, "long", code, 1.0),), plan)
    assert outcome.became == "cut off"
    assert packed(tmp_path / "all.tar.gz")["long.log"] == log


def test_what_does_not_fit_is_left_out_and_what_is_shorter_runs(
    on_gpu: ModuleType, tmp_path: Path
) -> None:
    steps = (
        step(on_gpu, "long", WRITES, 500.0),
        step(on_gpu, "two", WRITES, 1.0, gpus=2),
        step(on_gpu, "short", WRITES, 20.0),
    )
    outcomes = on_gpu.run_all(steps, on_gpu.Plan(tmp_path, budget_s=60.0, gpus=1))
    assert became(outcomes) == {"long": "left out", "two": "left out", "short": "done"}
    assert "takes about 500 s" in outcomes[0].said
    assert "needs 2 GPUs" in outcomes[1].said


def test_a_second_call_adds_to_what_the_first_one_did(on_gpu: ModuleType, tmp_path: Path) -> None:
    first, second = step(on_gpu, "first", WRITES), step(on_gpu, "second", FAILS)
    on_gpu.run_all((first,), on_gpu.Plan(tmp_path, gpus=1))
    on_gpu.run_all((first, second), on_gpu.Plan(tmp_path, budget_s=1.0, gpus=1))
    told = json.loads((tmp_path / "summary.json").read_text())["steps"]
    assert {one["name"]: one["became"] for one in told} == {"first": "done", "second": "left out"}


def test_a_rehearsal_runs_the_forms_without_a_gpu(on_gpu: ModuleType, tmp_path: Path) -> None:
    small = ("{python}", "-c", WRITES)
    steps = (step(on_gpu, "none", FAILS), step(on_gpu, "small", FAILS, rehearsal=small))
    outcomes = on_gpu.run_all(steps, on_gpu.Plan(tmp_path, rehearse=True))
    assert became(outcomes) == {"none": "left out", "small": "done"}


def test_what_a_step_goes_on_from_lies_in_its_folder(on_gpu: ModuleType, tmp_path: Path) -> None:
    looks = "import os, sys; sys.exit('h200.json' not in os.listdir(os.environ['OUT']))"
    goes_on = step(on_gpu, "goes_on", looks, copies=("tests/evidence/results/h200.json",))
    plan = on_gpu.Plan(tmp_path, gpus=1)
    assert became(on_gpu.run_all((goes_on,), plan)) == {"goes_on": "done"}
    further = tmp_path / "goes_on" / "h200.json"
    further.write_text("further")
    on_gpu.run_all((goes_on,), plan)
    assert further.read_text() == "further", "what an earlier run found is not lost"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_from_outside_it_keeps_what_there_is(tmp_path: Path, number: int) -> None:
    archive = tmp_path / "all.tar.gz"
    code = TOY.format(benchmarks=str(BENCHMARKS), slow=SLOW)
    command = [sys.executable, "-c", code, "--out", str(tmp_path / "out"), "--pack", str(archive)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    part = tmp_path / "out" / "slow" / "part.json"
    end = time.monotonic() + 120
    while not part.is_file() and time.monotonic() < end:
        time.sleep(0.05)
    os.kill(started.pid, number)
    said, _ = started.communicate(timeout=120)
    assert started.returncode == 1
    assert "slow: stopped after" in said
    assert packed(archive)["slow/part.json"] == "half"


def test_an_interrupt_in_the_middle_of_a_start_leaves_no_process(
    on_gpu: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **how: Any) -> None:
            super().__init__(*words, **how)
            begun.append(self)
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(on_gpu.subprocess, "Popen", Interrupted)
    steps = (step(on_gpu, "slow", SLOW), step(on_gpu, "next", WRITES))
    assert became(on_gpu.run_all(steps, on_gpu.Plan(tmp_path, gpus=1))) == {"slow": "stopped"}
    assert [one.poll() is not None for one in begun] == [True]


def test_every_step_names_files_that_are_there(on_gpu: ModuleType) -> None:
    root = BENCHMARKS.parent
    for one in on_gpu.STEPS:
        words = [word for command in (one.command, one.rehearsal) for word in command]
        named = [word for word in words if word.startswith(("benchmarks/", "tests/"))]
        assert named, one.name
        missing = [word for word in (*named, *one.copies) if not (root / word).exists()]
        assert missing == [], one.name
    assert len({one.name for one in on_gpu.STEPS}) == len(on_gpu.STEPS)
