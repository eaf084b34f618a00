"""``tilewright capture`` on scripts and tests that know nothing of it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tilewright.captures.folder import Captures, load_captures
from tilewright.captures.model import CapturedKernel, CapturedLaunch

pytestmark = pytest.mark.triton

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, at < n) * factor, at < n)


def run(x, out, factor=2.0, **options):
    n = x.numel()
    scale[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n, factor, BLOCK=64, **options)
"""


def capture(folder: Path, *command: str, options: tuple[str, ...] = ()) -> Any:
    """The ended command, run in ``folder``; Triton's interpreter stands for a GPU."""
    return subprocess.run(
        [sys.executable, "-m", "tilewright", "capture", "--interpret", *options, "--", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )


def script(folder: Path, body: str, *, name: str = "script.py") -> Path:
    path = folder / name
    path.write_text(KERNEL + body)
    return path


def captured(folder: Path) -> Captures:
    return load_captures(folder / ".tilewright" / "launches")


def only_kernel(folder: Path) -> CapturedKernel:
    (kernel,) = captured(folder).kernels
    return kernel


def only_launch(folder: Path) -> CapturedLaunch:
    (launch,) = only_kernel(folder).launches
    return launch


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CapturedKernel]:
    """The kernels of several scripts, captured by one command with ``--writes``."""
    folder = tmp_path_factory.mktemp("recorded")
    scripts = {
        "view": "x = torch.ones(2, 101)\nrun(x[1], torch.zeros(101), num_warps=8)\n",
        "equal": "for n in (64, 64, 64, 96):\n    run(torch.ones(n), torch.empty(n))\n",
        "memory": "x = torch.ones(256)\nrun(x[:64], x[64:128])\nrun(x[:64], x[32:96])\n",
        "raises": "try:\n    scale[(1,)](torch.ones(8), None, 8, 1.0, BLOCK=8)\n"
        "except Exception:\n    pass\n",
    }
    for name, body in scripts.items():
        script(folder, body, name=f"{name}.py")
    text = KERNEL.replace(
        "@triton.jit",
        "@triton.autotune([triton.Config({'BLOCK': 32}, num_warps=2), "
        "triton.Config({'BLOCK': 64})], key=['n'])\n@triton.jit",
    ).replace("BLOCK=64, ", "")
    (folder / "tuned.py").write_text(text + "run(torch.ones(64), torch.empty(64))\n")
    command = (sys.executable, "-c", "import view, equal, memory, raises, tuned")
    ended = capture(folder, *command, options=("--writes",))
    assert ended.returncode == 0, ended.stderr
    assert "first configuration" in ended.stderr
    return {Path(kernel.file).stem: kernel for kernel in captured(folder).kernels}


def test_a_launch_is_recorded_as_it_was_made(recorded: dict[str, CapturedKernel]) -> None:
    kernel = recorded["view"]
    assert (kernel.kernel, Path(kernel.file).name, kernel.line) == ("scale", "view.py", 7)
    (launch,) = kernel.launches
    assert launch.facts.grid == (2,)
    assert launch.facts.options == {"num_warps": 8}
    x, out, n, factor, block = launch.facts.arguments
    assert (x.type, x.shape, x.strides, x.divisible_by_16) == ("*fp32", (101,), (1,), False)
    assert out.divisible_by_16
    assert (n.type, n.value, factor.type, factor.value) == ("i32", 101, "fp32", 2.0)
    assert (block.kind, block.value) == ("constexpr", 64)
    assert [(place.name, place.offset, place.alignment) for place in launch.tensors] == [
        ("x_ptr", 101, 4),
        ("out_ptr", 0, 64),
    ]
    assert (launch.device, launch.target) == ("interpreter", None)


def test_equal_launches_are_one_and_counted(recorded: dict[str, CapturedKernel]) -> None:
    seen = [(launch.facts.grid, launch.count) for launch in recorded["equal"].launches]
    assert seen == [((1,), 3), ((2,), 1)]


def test_arguments_in_the_same_memory_are_told(recorded: dict[str, CapturedKernel]) -> None:
    apart, over = recorded["memory"].launches
    assert {place.storage for place in apart.tensors} == {0}
    assert apart.overlaps == ()
    assert over.overlaps == (("x_ptr", "out_ptr"),)


def test_what_a_launch_wrote_is_told(recorded: dict[str, CapturedKernel]) -> None:
    written = recorded["view"].launches[0].written
    assert written is not None
    assert (written.names, written.compared) == (("out_ptr",), ("out_ptr", "x_ptr"))


def test_output_and_exit_code_are_the_commands_own_and_launches_beyond_the_limit_are_counted(
    tmp_path: Path,
) -> None:
    path = script(
        tmp_path,
        "for n in range(1, 9):\n    run(torch.ones(n), torch.empty(n))\n"
        "print('mine')\nraise SystemExit(7)\n",
    )
    ended = capture(tmp_path, sys.executable, str(path), options=("--limit", "3"))
    assert (ended.returncode, ended.stdout) == (7, "mine\n")
    kernel = only_kernel(tmp_path)
    assert (len(kernel.launches), kernel.others, kernel.total) == (3, 5, 8)
    assert {launch.written for launch in kernel.launches} == {None}, "no one asked"
    assert "scale: 8 launches" in ended.stderr


def test_a_script_that_dies_leaves_what_it_had_launched(tmp_path: Path) -> None:
    path = script(
        tmp_path,
        "import os, signal\n"
        "for n in (8, 8):\n    run(torch.ones(n), torch.empty(n))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n",
    )
    assert capture(tmp_path, sys.executable, str(path)).returncode == 128 + 9
    assert only_launch(tmp_path).count == 2


def test_a_launch_that_raises_is_recorded_as_failed(recorded: dict[str, CapturedKernel]) -> None:
    (launch,) = recorded["raises"].launches
    assert launch.failure is not None
    assert launch.count == 1


@pytest.mark.slow
def test_a_library_that_takes_over_torch_is_not_called_back(tmp_path: Path) -> None:
    """It holds a lock while it launches, and takes the same one to copy a tensor."""
    path = script(
        tmp_path,
        "import threading\n"
        "lock = threading.Lock()\n"
        "def copied(x, memory_format=None):\n"
        "    assert lock.acquire(timeout=600), 'called back'\n"
        "    lock.release()\n"
        "    return torch.ops.aten.add.Scalar(x, 0)\n"
        "library = torch.library.Library('aten', 'IMPL')\n"
        "library.impl('clone', copied, 'CPU')\n"
        "with lock:\n    run(torch.arange(64), torch.empty(64))\n",
    )
    ended = capture(tmp_path, sys.executable, str(path), options=("--writes",))
    assert ended.returncode == 0, ended.stderr
    launch = only_launch(tmp_path)
    assert launch.written is not None
    assert launch.written.names == ("out_ptr",)
    assert launch.contents["x_ptr"].values == tuple(range(64))
    assert launch.site is not None
    assert launch.site.function == "run"


@pytest.mark.slow
def test_what_stands_for_a_view_is_recorded_as_that_view(tmp_path: Path) -> None:
    path = script(
        tmp_path,
        "class Buffer:\n"
        "    def __init__(self, base, shape, strides, offset):\n"
        "        self._base, self.dtype, self.shape = base, base.dtype, shape\n"
        "        self.strides, self.offset = strides, offset\n"
        "    def stride(self): return self.strides\n"
        "    def data_ptr(self): return self._base.data_ptr() + 4 * self.offset\n"
        "x = Buffer(torch.ones(100), (64,), (1,), 4)\n"
        "grid = (1,)\n"
        "try:\n    scale[grid](x, torch.empty(64), 64, 2.0, BLOCK=64)\n"
        "except Exception:\n    pass  # the interpreter takes tensors alone\n",
    )
    ended = capture(tmp_path, sys.executable, str(path))
    assert "was not recorded" not in ended.stderr
    launch = only_launch(tmp_path)
    assert launch.facts.arguments[0].shape == (64,)
    assert (launch.tensors[0].offset, launch.tensors[0].storage_bytes) == (4, 400)


@pytest.mark.slow
def test_several_processes_are_put_together(tmp_path: Path) -> None:
    path = script(
        tmp_path,
        "import multiprocessing, subprocess, sys\n"
        "def work():\n    run(torch.ones(64), torch.empty(64))\n"
        "if __name__ == '__main__':\n"
        "    work()\n"
        "    for start in ('fork', 'spawn'):\n"
        "        child = multiprocessing.get_context(start).Process(target=work)\n"
        "        child.start(); child.join()\n"
        "    subprocess.run([sys.executable, '-c', 'import script; script.work()'], check=True)\n",
    )
    ended = capture(tmp_path, sys.executable, str(path))
    assert ended.returncode == 0, ended.stderr
    assert only_launch(tmp_path).count == 4


@pytest.mark.slow
def test_pytest_in_two_processes(tmp_path: Path) -> None:
    script(tmp_path, "", name="kernels.py")
    (tmp_path / "test_kernels.py").write_text(
        "import pytest, torch\n"
        "from kernels import run\n"
        "@pytest.mark.parametrize('n', [64, 65, 66, 67])\n"
        "def test_it(n):\n"
        "    out = torch.empty(n)\n"
        "    run(torch.ones(n), out)\n"
        "    assert (out == 2).all()\n"
    )
    pytest.importorskip("xdist")
    ended = capture(tmp_path, sys.executable, "-m", "pytest", "-q", "-n", "2")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "4 passed" in ended.stdout
    assert sorted(x.facts.arguments[2].value for x in only_kernel(tmp_path).launches) == [
        64, 65, 66, 67,
    ]  # fmt: skip


def test_of_an_autotuned_kernel_the_configuration_is_recorded(
    recorded: dict[str, CapturedKernel],
) -> None:
    (launch,) = recorded["tuned"].launches
    assert launch.tuned == "first"
    assert launch.facts.argument("BLOCK").value == 32  # type: ignore[union-attr]
    assert launch.facts.options["num_warps"] == 2


@pytest.mark.slow
def test_a_new_capture_takes_the_place_of_the_old(tmp_path: Path) -> None:
    path = script(tmp_path, "run(torch.ones(64), torch.empty(64))\n")
    capture(tmp_path, sys.executable, str(path))
    path.write_text(path.read_text().replace("* factor", "+ factor").replace("64)", "32)"))
    capture(tmp_path, sys.executable, str(path))
    assert only_launch(tmp_path).facts.arguments[0].shape == (32,)


@pytest.mark.slow
def test_the_users_own_sitecustomize_still_runs(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys\nsys.mine = 'here'\n")
    path = script(tmp_path, "import sys\nprint(sys.mine)\nrun(torch.ones(8), torch.empty(8))\n")
    ended = subprocess.run(
        [sys.executable, "-m", "tilewright", "capture", "--interpret", "--", sys.executable, path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(site)},
    )
    assert ended.stdout == "here\n", ended.stderr
    assert only_launch(tmp_path).count == 1


def test_a_command_without_launches_says_why_there_may_be_none(tmp_path: Path) -> None:
    ended = capture(tmp_path, sys.executable, "-c", "print(1)")
    assert (ended.returncode, ended.stdout) == (0, "1\n")
    assert "no launch was recorded" in ended.stderr


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    ended = capture(tmp_path, "no-such-command-anywhere")
    assert ended.returncode == 2
    assert "cannot be started" in ended.stderr


@pytest.mark.slow
def test_json_says_where_the_files_are(tmp_path: Path) -> None:
    path = script(tmp_path, "run(torch.ones(8), torch.empty(8))\n")
    ended = capture(tmp_path, sys.executable, str(path), options=("--format", "json"))
    told = json.loads(ended.stderr.splitlines()[-1])
    assert told["folder"] == ".tilewright/launches"
    assert told["kernels"][0]["launches"] == 1


@pytest.mark.slow
def test_events_alone_are_on_standard_output(tmp_path: Path) -> None:
    path = script(
        tmp_path, "run(torch.ones(8), torch.empty(8))\nprint('mine')\nraise SystemExit(3)\n"
    )
    ended = capture(tmp_path, sys.executable, str(path), options=("--format", "events"))
    assert ended.returncode == 0
    (event,) = map(json.loads, ended.stdout.splitlines())
    assert event["event"] == "result"
    assert event["result"]["exit_code"] == 3
    assert event["result"]["kernels"][0]["launches"] == 1
    assert event["result"]["none"] == ""
    assert "mine" in ended.stderr


@pytest.mark.slow
def test_the_interpreter_runs_kernels_as_verify_does(tmp_path: Path) -> None:
    """Its libdevice is empty and it cannot convert a float; both are mended before the import."""
    text = KERNEL.replace(
        "import triton.language as tl",
        "import triton.language as tl\nfrom triton.language.extra.libdevice import rsqrt",
    ).replace("* factor", "* rsqrt(factor.to(tl.float32))")
    path = tmp_path / "script.py"
    path.write_text(text + "out = torch.empty(8)\nrun(torch.ones(8), out, 4.0)\nprint(out[0])\n")
    ended = capture(tmp_path, sys.executable, str(path))
    assert ended.stdout == "tensor(0.5000)\n", ended.stderr


@pytest.mark.slow
def test_trial_runs_of_a_tuner_are_not_recorded_its_choice_is(tmp_path: Path) -> None:
    """The script interprets by itself and brings a benchmark that prefers the second."""
    text = KERNEL.replace(
        "@triton.jit",
        "ran = []\n"
        "def bench(call, quantiles):\n"
        "    call()\n"
        "    ran.append(1)\n"
        "    return [-len(ran)] * 3\n\n"
        "@triton.autotune([triton.Config({'BLOCK': 32}), triton.Config({'BLOCK': 64})], "
        "key=['n'], do_bench=bench)\n@triton.jit",
    ).replace("BLOCK=64, ", "")
    path = tmp_path / "script.py"
    call = "run(torch.ones(64), torch.empty(64), factor=torch.tensor(2.0))\n"
    path.write_text(text.replace("* factor", "* tl.load(factor)") + call + call)
    ended = subprocess.run(
        [sys.executable, "-m", "tilewright", "capture", "--", sys.executable, str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "TRITON_INTERPRET": "1"},
    )
    assert ended.returncode == 0, ended.stderr
    launch = only_launch(tmp_path)
    assert (launch.tuned, launch.count, launch.facts.grid) == ("chosen", 2, (1,))


@pytest.mark.slow
def test_a_launch_for_a_chip_names_it(tmp_path: Path) -> None:
    """With a driver that knows its chip and cannot launch, as the machine has none."""
    path = script(
        tmp_path,
        "from triton.backends.compiler import GPUTarget\n"
        "from triton.runtime import driver\n"
        "class Driver:\n"
        "    def get_current_target(self): return GPUTarget('cuda', 90, 32)\n"
        "    def get_current_device(self): raise RuntimeError('no such chip here')\n"
        "driver.set_active(Driver())\n"
        "run(torch.ones(64), torch.empty(64))\n",
    )
    ended = subprocess.run(
        [sys.executable, "-m", "tilewright", "capture", "--", sys.executable, str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    launch = only_launch(tmp_path)
    assert str(launch.target) == "cuda:90"
    assert launch.failure == "RuntimeError: no such chip here"


def test_a_launch_that_ends_the_process_is_named(tmp_path: Path) -> None:
    body = "x = torch.ones(64)\nrun(x, x)\nscale[(1,)](x, x, 1 << 62, 2.0, BLOCK=64)\n"
    far = script(tmp_path, body)
    far.write_text(far.read_text().replace("x_ptr + at, at < n", "x_ptr + at + n // 4, at < n"))
    done = capture(tmp_path, sys.executable, "script.py")
    assert done.returncode == 128 + 11
    said = " ".join(done.stderr.split())
    assert "a process ended in launch 2 of scale" in said
    assert "script.py:7" in said
