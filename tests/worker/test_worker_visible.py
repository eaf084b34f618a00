"""One GPU for each job: by which variable its driver is told, and what the job calls it then."""

import os
import sys
from types import SimpleNamespace

import pytest

from tilewright.worker.runtime import gpu_visibility

VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")
ON_NVIDIA = SimpleNamespace(version=SimpleNamespace(hip=None))
ON_AMD = SimpleNamespace(version=SimpleNamespace(hip="6.4"))


@pytest.mark.parametrize(
    ("torch", "set_before", "device", "set_after"),
    [
        (ON_NVIDIA, {}, "cuda:3", {"CUDA_VISIBLE_DEVICES": "3"}),
        (ON_NVIDIA, {"CUDA_VISIBLE_DEVICES": "4,6"}, "cuda:1", {"CUDA_VISIBLE_DEVICES": "6"}),
        (
            ON_NVIDIA,
            {"CUDA_VISIBLE_DEVICES": "GPU-aa, GPU-bb"},
            "cuda:1",
            {"CUDA_VISIBLE_DEVICES": "GPU-bb"},
        ),
        (ON_AMD, {}, "cuda:1", {"HIP_VISIBLE_DEVICES": "1"}),
        (ON_AMD, {"CUDA_VISIBLE_DEVICES": "2,5"}, "cuda:1", {"HIP_VISIBLE_DEVICES": "5"}),
        (ON_NVIDIA, {"ZE_AFFINITY_MASK": "0.0,0.1"}, "xpu:1", {"ZE_AFFINITY_MASK": "0.1"}),
    ],
)
def test_the_driver_is_shown_one_gpu_and_the_job_calls_it_the_first(
    monkeypatch: pytest.MonkeyPatch,
    torch: object,
    set_before: dict[str, str],
    device: str,
    set_after: dict[str, str],
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)
    _only(monkeypatch, set_before)
    job = gpu_visibility.alone(
        {"kind": "run", "device": device, "parts": [{"device": device}], "x": 3}
    )
    name = f"{device.partition(':')[0]}:0"
    assert job == {"kind": "run", "device": name, "parts": [{"device": name}], "x": 3}
    assert {name: os.environ[name] for name in VARIABLES if name in os.environ} == set_after


@pytest.mark.parametrize("device", ["interpreter", "cpu", "cuda", "cuda:7", None])
def test_a_job_without_a_gpu_of_the_users_sees_what_it_saw(
    monkeypatch: pytest.MonkeyPatch, device: str | None
) -> None:
    monkeypatch.setitem(sys.modules, "torch", ON_NVIDIA)
    _only(monkeypatch, {"CUDA_VISIBLE_DEVICES": "0,1"})
    job = {"kind": "run"} | ({"device": device} if device else {})
    assert gpu_visibility.alone(job) is job
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"


def _only(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # so that what the test sets is undone
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
