"""What the fork server does before it forks leaves the GPU's driver alone."""

import subprocess
import sys
from pathlib import Path

import pytest

ASK = """
import torch
asked = []
def recorder(*given):
    asked.append(given)
    return False
for accelerator in (torch.cuda, torch.xpu):
    for name in ("is_available", "device_count", "current_device", "_lazy_init"):
        setattr(accelerator, name, recorder)
from tilewright.worker import jobs
from tilewright.worker.host import absent_device
absent_device._may_have_gpu = lambda: True
{how}
jobs.preload()
jobs.warm_up_for(dict(kind="capture"))
print(len(asked))
"""
NO_NVML = "absent_device._nvml = lambda: None"
PARTS_OF_A_GPU = """
shut = []
class Library:
    def nvmlShutdown(self):
        shut.append(1)
        return 0 if len(shut) < 3 else 1
absent_device._nvml = Library
torch.cuda._device_count_nvml = lambda: -1
"""


@pytest.mark.triton
def test_where_only_the_driver_could_answer_it_is_not_asked() -> None:
    code = ASK.format(how=PARTS_OF_A_GPU)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "0"


LOADED = """
from tilewright.worker.trials.warm_up import warm_up
import os
threads = len(os.listdir("/proc/self/task"))
warm_up(compiles=True)
from triton.runtime.driver import driver
print(len(asked), len(os.listdir("/proc/self/task")) - threads, type(driver._active).__name__)
"""


@pytest.mark.slow
@pytest.mark.triton
def test_what_trials_have_done_once_starts_no_thread_and_asks_no_driver() -> None:
    code = ASK.format(how=NO_NVML).replace("print(len(asked))", LOADED)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["0", "0", "NoneType"]


WATCHED = """
import runpy, sys
from tilewright.worker import tamper
from tilewright.worker.trials.warm_up import warm_up
warm_up(compiles=False)
assert "torch._dynamo" not in sys.modules
def seen():
    with tamper.observed(sys.argv[1]) as watched:
        runpy.run_path(sys.argv[1])
    return watched.facts()["operators"]
alone = seen()
assert "torch._dynamo" not in sys.modules
import torch._dynamo
assert alone == seen(), (alone, seen())
print(sorted(alone))
"""


@pytest.mark.triton
def test_operators_are_noted_without_torchs_compiler_and_next_to_it_alike(tmp_path: Path) -> None:
    file = tmp_path / "host.py"
    file.write_text("import torch\n\ntorch.zeros(3).sum()\n")
    ended = subprocess.run([sys.executable, "-c", WATCHED, file], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "['aten.sum', 'aten.zeros']"
