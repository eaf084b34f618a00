"""Launches captured on a GPU, and made again on it from the record alone."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilewright.captures.folder import load_captures
from tilewright.captures.model import CapturedKernel
from tilewright.captures.problem import problem_of_captured
from tilewright.devices.model import Device, JobStatus
from tilewright.devices.opening import open_device
from tilewright.evaluation.workbench import Workbench
from tilewright.serialize import dump

pytestmark = [pytest.mark.gpu, pytest.mark.triton, pytest.mark.slow]

KERNELS = """
import torch
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"BLOCK": 256}, num_warps=w) for w in (2, 4)], key=["n"]
)
@triton.jit
def gather(x_ptr, index_ptr, out_ptr, n, stride, factor, BLOCK: tl.constexpr):
    row = tl.load(index_ptr + tl.program_id(0))
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < n)
    tl.store(out_ptr + tl.program_id(0) * n + at, x * factor, mask=at < n)


@triton.jit
def twice(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)


def gathered(x, index, factor):
    rows, n = index.numel(), x.shape[1]
    out = torch.empty((rows, n), dtype=x.dtype, device=x.device)
    grid = lambda meta: (rows, triton.cdiv(n, meta["BLOCK"]))
    gather[grid](x, index, out, n, x.stride(0), factor)
    return out


def doubled(x):
    n = x.numel()
    twice[(triton.cdiv(n, 128),)](x, n, BLOCK=128, num_warps=1)
    return x
"""
SCRIPT = """
import torch
from kernels import doubled, gathered
x = torch.randn(64, 3000, device="cuda", dtype=torch.float16)
for _ in range(3):
    gathered(x[:, 8:2900], torch.tensor([5, 63, 0, 7], device="cuda"), 0.5)
doubled(torch.randn(1000, device="cuda"))
torch.cuda.synchronize()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("captured")
    (made / "kernels.py").write_text(KERNELS)
    (made / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "tilewright", "capture", "--writes", "--"]
    ended = subprocess.run(
        [*command, sys.executable, "script.py"], cwd=made, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return made


@pytest.fixture(scope="module")
def captured(folder: Path) -> dict[str, CapturedKernel]:
    return {k.kernel: k for k in load_captures(folder / ".tilewright/launches").kernels}


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    opened = open_device("cuda:0")
    yield opened
    opened.close()


def test_what_the_gpu_ran_is_recorded(captured: dict[str, CapturedKernel]) -> None:
    (launch,) = captured["gather"].launches
    assert (launch.count, launch.device, launch.tuned) == (3, "cuda:0", "chosen")
    assert launch.target is not None
    assert launch.target.backend in ("cuda", "hip")
    assert launch.facts.options["num_warps"] in (2, 4)
    assert launch.facts.grid == (4, 12)
    assert launch.written is None, "the tuner's trials had written it before"
    (plain,) = captured["twice"].launches
    assert plain.written is not None
    assert plain.written.names == ("x_ptr",)
    assert launch.contents["index_ptr"].values == (5, 63, 0, 7)


def test_a_launch_made_again_computes_the_same_bits(
    folder: Path, captured: dict[str, CapturedKernel], device: Device, tmp_path: Path
) -> None:
    """As the host code computes from the inputs that the launch was given."""
    import torch

    from tilewright.worker.inputs import tensor_files

    path = folder / "kernels.py"
    problem = problem_of_captured(path, KERNELS, folder / ".tilewright/launches").problem
    assert problem is not None
    bench = Workbench(device, problem, path, tmp_path, 7)
    spec = importlib.util.spec_from_file_location("kernels_here", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for case in problem.measured_cases():
        made = bench.inputs(case, 0)
        assert made.status is JobStatus.OK
        given = tensor_files.load(made.value["inputs"], "cuda")
        job = {
            "kind": "run", "module": str(bench.place(KERNELS)), "entry": bench.entry,
            "case": dump(case), "inputs": made.value["inputs"],
        }  # fmt: skip
        made_again = bench.run({**job, "out": str(tmp_path / "out"), "device": "cuda:0"}, 60)
        assert made_again.status is JobStatus.OK, made_again.message
        assert made_again.value["out_of_bounds"] == []
        (changed,) = tensor_files.load(made_again.value["changed_inputs"], "cuda").values()
        if case.launch is not None and case.launch.kernel == "twice":
            expected = module.doubled(given["x_ptr"].clone())
        else:
            x = given["x_ptr"].reshape(64, 3000)[:, 8:2900]
            expected = module.gathered(x, given["index_ptr"], 0.5)
        assert torch.equal(changed.reshape(-1), expected.reshape(-1)), case.name


def run_json(folder: Path, *arguments: str, code: int = 0) -> Any:
    command = [sys.executable, "-m", "tilewright", *arguments, "--format", "json"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert ended.returncode == code, ended.stderr + ended.stdout
    return json.loads(ended.stdout)


def test_profile_times_each_captured_kernel(folder: Path) -> None:
    value = run_json(folder, "profile", "kernels.py")
    times = {kernel["name"]: kernel["time"] for kernel in value["kernels"]}
    assert set(times) == {"gather", "twice"}
    assert all(0 < time["low_us"] <= time["median_us"] for time in times.values())
    assert "captured launches" in value["notes"][0]


def test_a_wrong_candidate_is_rejected_and_a_slower_one_is_said_to_be(folder: Path) -> None:
    wrong = folder / "wrong.py"
    wrong.write_text(KERNELS.replace("x * factor", "x + factor"))
    value = run_json(folder, "verify", "kernels.py", "wrong.py", code=1)
    assert (value["level"], value["failed"]["step"]) == ("rejected", "correctness")
    slow = folder / "slow.py"
    slow.write_text(
        KERNELS.replace(
            "    row =",
            "    for at in range(300):\n        tl.debug_barrier()\n    row =",
        )
    )
    value = run_json(folder, "verify", "kernels.py", "slow.py", code=1)
    assert value["failed"]["step"] == "speed", value
    assert value["speedup"]["high"] < 1, value
