"""The device of the Neuron SDK, against a small SDK of our own: the real one was never tried."""

import os
import stat
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.devices.discovery import close_all
from tilewright.devices.facts import device_facts
from tilewright.devices.model import DeviceError
from tilewright.devices.opening import open_device
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.model import Level
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import load_problem
from tilewright.profiling.run import profile_source
from tilewright.targets.model import Target

pytestmark = pytest.mark.triton

SDK = {
    "__init__.py": "",
    "nki/__init__.py": """
        import pathlib

        class Kernel:
            def __init__(self, func):
                self.func, self.__name__ = func, func.__name__

        def jit(func):
            return Kernel(func)

        def simulate_kernel(kernel, *arguments):
            return kernel.func(*arguments)

        def baremetal(kernel, save_neff_name, save_trace_name):
            def run(*arguments):
                pathlib.Path(save_neff_name).write_text("neff")
                pathlib.Path(save_trace_name).write_text("ntff")
                return kernel.func(*arguments)
            return run
    """,
    "nki/language.py": "",
}
PROFILER = """#!/bin/sh
test -f "$3" && test -f "$5" && echo '{"0": {"total_time": 0.00025, "hbm_read_bytes": 64}}'
"""
KERNEL = """
import neuronxcc.nki as nki


@nki.jit
def doubled(x):
    return x + x
"""
SPEC = """
entry: doubled
reference: {file: reference.py, entry: doubled}
inputs:
  X: {shape: [N], dtype: inherit}
ci:
  - {params: [X], dtype: float32, dims: {N: 64}, rtol: 1.0e-5, atol: 1.0e-6}
"""


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the worker's path with the package, and one with the profiler."""
    for name, text in SDK.items():
        file = tmp_path / "packages/neuronxcc" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "neuron-profile").write_text(PROFILER)
    (tools / "neuron-profile").chmod(0o755 | stat.S_IXUSR)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'packages'}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("TILEWRIGHT_ALLOW_READ", f"{tmp_path / 'packages'}:{tools}")
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TILEWRIGHT_SERVICE", "0")
    close_all()
    yield tmp_path
    close_all()


def test_a_kernel_runs_in_the_sdks_simulator_and_is_timed_by_its_profiler(sdk: Path) -> None:
    (sdk / "doubled.py").write_text(KERNEL)
    (sdk / "reference.py").write_text("def doubled(x):\n    return 2 * x\n")
    (sdk / "doubled.yaml").write_text(SPEC)
    assert "Neuron SDK (neuronxcc unknown), untried" in [one.info.name for one in device_facts()]
    device = open_device("neuron")
    try:
        problem = replace(load_problem(sdk / "doubled.yaml"), ragged=None)
        bench = Workbench(device, problem, sdk / "doubled.py", sdk / "scratch", 3)
        cascade = Cascade(KERNEL, str(sdk / "doubled.py"), bench, Target("neuron", "trn2"))
        assert cascade.judge(KERNEL.replace("x + x", "2 * x"), KERNEL).level is Level.CORRECT
        wrong = cascade.judge(KERNEL.replace("x + x", "x + 2"), KERNEL)
        assert wrong.level is Level.REJECTED
        value = profile_source(
            KERNEL, str(sdk / "doubled.py"), bench, Target("neuron", "trn2"), lambda *_: None,
            verify=False,
        )  # fmt: skip
    finally:
        device.close()
    (kernel,) = value["kernels"]
    assert kernel["time"]["median_us"] == pytest.approx(250.0)
    assert any("untried" in note for note in kernel["notes"])


def test_without_an_sdk_the_device_says_what_to_use_instead() -> None:
    close_all()
    with pytest.raises(DeviceError, match=r"no Neuron SDK.*neuron-sim needs none"):
        open_device("neuron")
    close_all()
