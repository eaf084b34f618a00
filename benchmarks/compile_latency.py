"""What compiling a kernel takes through the service, beside ``triton.compile`` in a warm process.

    python benchmarks/compile_latency.py [--rounds 9]

Everything is compiled anew unless it says "cached"; ours and the peer take turns. The peer has
imported torch and triton and compiled the kernel once before; it computes no figures and confines
nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tilewright.devices.model import Device
from tilewright.devices.opening import open_device
from tilewright.devices.service.status import stop_services
from tilewright.targets.cache import ReportCache
from tilewright.targets.compilation import compile_launch, compile_many
from tilewright.targets.model import ArgumentFacts, LaunchFacts, Target

EXAMPLES = Path(__file__).parents[1] / "examples"
SOFTMAX = EXAMPLES / "softmax.py"
MATMUL = EXAMPLES / "matmul.py"
H100 = Target("cuda", "90")
PEER = """
import json, os, sys, time
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
sys.path.insert(0, sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    kernel = getattr(__import__(asked["module"]), asked["kernel"])
    attributes = {tuple(at): [["tt.divisibility", 16]] for at in asked["aligned"]}
    constants = {tuple(at): value for at, value in asked["constants"]}
    start = time.perf_counter()
    source = ASTSource(kernel, asked["signature"], constants, attributes)
    triton.compile(source, target=GPUTarget("cuda", 90, 32))
    print(time.perf_counter() - start, flush=True)
"""


def tensor(name: str) -> ArgumentFacts:
    return ArgumentFacts(name, "tensor", "*fp16", None, (4096, 4096), (4096, 1), True)


def number(name: str, value: int) -> ArgumentFacts:
    return ArgumentFacts(name, "int", "i32", value, divisible_by_16=value % 16 == 0)


def constexpr(name: str, value: int) -> ArgumentFacts:
    return ArgumentFacts(name, "constexpr", "constexpr", value)


SMALL = LaunchFacts(
    "softmax_kernel",
    (4096,),
    (
        tensor("x_ptr"), tensor("y_ptr"), number("n_cols", 4096),
        number("stride_x", 4096), number("stride_y", 4096), constexpr("BLOCK", 1024),
    ),
)  # fmt: skip
LARGE = LaunchFacts(
    "matmul_kernel",
    (32, 32),
    (
        *(tensor(f"{name}_ptr") for name in "abc"),
        *(number(name, 4096) for name in "MNK"),
        number("stride_am", 4096), number("stride_ak", 1), number("stride_bk", 4096),
        number("stride_bn", 1), number("stride_cm", 4096), number("stride_cn", 1),
        constexpr("BLOCK_M", 128), constexpr("BLOCK_N", 128), constexpr("BLOCK_K", 32),
    ),
)  # fmt: skip


class Peer:
    """``triton.compile`` in a process that stays."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PEER, str(EXAMPLES)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def seconds(self, path: Path, launch: LaunchFacts) -> float:
        fixed = [a.kind == "constexpr" or a.value == 1 for a in launch.arguments]
        numbered = list(enumerate(zip(launch.arguments, fixed, strict=True)))
        asked = {
            "module": path.stem,
            "kernel": launch.kernel,
            "signature": {a.name: "constexpr" if f else a.type for _, (a, f) in numbered},
            "constants": [[[at], a.value] for at, (a, f) in numbered if f],
            "aligned": [[at] for at, (a, f) in numbered if not f and a.divisible_by_16],
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def anew(device: Device, path: Path, launch: LaunchFacts) -> Callable[[], object]:
    """Compile with an empty cache."""

    def call() -> None:
        cache = ReportCache(Path(tempfile.mkdtemp()))
        report = compile_launch(device, str(path), launch, H100, cache=cache)
        assert report.ok, report.messages

    return call


def command(*arguments: str) -> Callable[[], object]:
    """Run a program to its end."""
    return lambda: subprocess.run(arguments, check=True, capture_output=True)


def configurations() -> list[LaunchFacts]:
    """Eight of the large kernel, of which no two are alike to the compiler."""
    return [
        replace(LARGE, options={"num_warps": warps, "num_stages": stages})
        for warps in (4, 8)
        for stages in (1, 2, 3, 4)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    os.environ["TILEWRIGHT_HOME"] = tempfile.mkdtemp()
    os.environ.pop("TILEWRIGHT_SERVICE", None)
    try:
        measure(rounds)
    finally:
        stop_services()


def measure(rounds: int) -> None:
    device, peer = open_device("interpreter"), Peer()
    cold = timed(anew(device, SOFTMAX, SMALL))
    tell("first compile, service just started", [cold])
    for name, path, launch in (("small", SOFTMAX, SMALL), ("128x128x32 matmul", MATMUL, LARGE)):
        peer.seconds(path, launch)
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(timed(anew(device, path, launch)))
            theirs.append(peer.seconds(path, launch))
        tell(f"{name}, service, not cached", ours, theirs)
        cache = ReportCache(Path(tempfile.mkdtemp()))
        compile_launch(device, str(path), launch, H100, cache=cache)
        cached = [
            timed(lambda: compile_launch(device, str(path), launch, H100, cache=cache))  # noqa: B023
            for _ in range(10 * rounds)
        ]
        tell(f"{name}, cached", cached, theirs)
    wanted = [(str(MATMUL), launch, H100) for launch in configurations()]
    cache = ReportCache(Path(tempfile.mkdtemp()))
    many = timed(lambda: compile_many(device, wanted, cache=cache)) / len(wanted)
    one = [peer.seconds(MATMUL, LARGE) for _ in range(3)]
    tell("eight configurations at once, each", [many], one)
    peer.close()
    measure_command(rounds)


def measure_command(rounds: int) -> None:
    ours = command(
        sys.executable, "-m", "tilewright", "compile", str(SOFTMAX), "--target", "cuda:90"
    )
    bare = command(sys.executable, "-c", "import typer, rich.console, pydantic, yaml")
    tell("command, service there, file new to it", [timed(ours)])
    pairs = [(timed(ours), timed(bare)) for _ in range(rounds)]
    tell("command, file unchanged", [a for a, _ in pairs], [b for _, b in pairs])


def tell(what: str, ours: list[float], theirs: list[float] | None = None) -> None:
    mine = statistics.median(ours)
    line = f"{what:<42}{mine * 1e3:9.1f} ms"
    if theirs:
        other = statistics.median(theirs)
        line += f"{other * 1e3:10.1f} ms  {mine / other:7.3f}"
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
