"""What the zygote does before it forks leaves the GPU's driver alone."""

import subprocess
import sys

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
from tilewright.worker import jobs, pretend
pretend._may_have_gpu = lambda: True
pretend._nvml = lambda: None
jobs.preload()
print(len(asked))
"""


@pytest.mark.triton
def test_where_only_the_driver_could_answer_it_is_not_asked() -> None:
    ended = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "0"
