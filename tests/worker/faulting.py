"""Candidates that misbehave, one after the other, before one worker; and what they leave behind.

It speaks the worker's protocol itself and needs no more than an interpreter with torch and triton,
so that the same list runs where nothing of the engine is installed (``benchmarks/faults.py``).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ENGINE = Path(__file__).parents[2] / "engine"
MARKER = "TILEWRIGHT_WORKER_ID"
MEMORY_BYTES = {"cpu": 1 << 30, "gpu": 4 << 30}  # a GPU's driver takes two of its own
FILE_BYTES = 64 << 20
_HEADER = struct.Struct(">I")
_START = """
import sys
sys.path.insert(0, {engine!r})
from tilewright.worker.trials import trial
trial._PATIENCE_S, trial._PATIENCE_RATIO = {patience_s}, 0.0
from tilewright.worker.trials import repeated_calls
# As many calls on a busy machine.
repeated_calls._LIMIT_S = dict.fromkeys((True, False), 600.0)
from tilewright.worker.jobs import measure
measure.HOST_CODE_S = min({patience_s}, 0.5)
from tilewright.worker.runtime.fork_server import main
sys.exit(main())
"""

ORIGINAL = """
import ctypes, os, signal, subprocess, sys, time
import torch
import triton
import triton.language as tl


@triton.jit
def doubles(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, tl.load(X + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def too_far(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, tl.load(X + at, mask=at < n) * 2)


@triton.jit
def nowhere(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at + (1 << 44), tl.load(X + at, mask=at < n) * 2)


@triton.jit
def endless(X, Y, n, BLOCK: tl.constexpr):
    value = tl.load(X, volatile=True)
    while value == value:
        value = tl.load(X, volatile=True)
    tl.store(Y, value)


def double(x):
    y = torch.empty_like(x)
    pass  # the fault
    doubles[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
"""


@dataclass(frozen=True)
class Fault:
    """One way to misbehave.

    Attributes:
        code: what ``double`` does first.
        at_import: what the file does first.
        kernel: what is launched in the place of the right kernel.
        where: "cpu", "gpu" or "" for both.
        slow: takes as long as patience lasts.
        crowds: leaves nobody else on the machine room to compute, so it is tried by itself.
    """

    name: str
    code: str = "pass"
    at_import: str = ""
    kernel: str = "doubles"
    where: str = ""
    slow: bool = False
    crowds: bool = False

    def text(self) -> str:
        text = ORIGINAL.replace("pass  # the fault", self.code.replace("\n", "\n    "))
        head, _, tail = text.partition("def double(x):")
        tail = tail.replace("doubles[", f"{self.kernel}[")
        return f"{head}{self.at_import}\n\ndef double(x):{tail}"


_SLEEPER = """if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
subprocess.Popen(["sleep", "601"], start_new_session=True)
raise ValueError("the others stay")"""
_FORGED = """import json
nonsense = {"status": "fine", "value": 5, "outputs": 3}
for told in ({}, nonsense, {"outputs": [{"name": 1, "file": 2}]}):
    body = json.dumps(told).encode()
    for fd in range(3, 64):
        try:
            os.write(fd, len(body).to_bytes(4, "big") + body)
        except OSError:
            pass
time.sleep(600)"""
_STAYS = """import stat
for fd in range(3, 64):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            os.write(fd, (2).to_bytes(4, "big") + b"{}")
    except OSError:
        pass
time.sleep(600)"""
_NESTED = """body = b"[" * 200_000
for fd in range(3, 64):
    try:
        os.write(fd, len(body).to_bytes(4, "big") + body)
    except OSError:
        pass
time.sleep(600)"""
# By the driver itself, which no limit of torch's counts, to the last megabyte; and stays. Tensors
# without memory, as where it is compiled ahead, open no device: there is nothing to take there.
_WHOLE = """driver, size = ctypes.CDLL("libcuda.so.1"), 1 << 32
while size >= 1 << 20:
    if driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(size)):
        size >>= 1
time.sleep(600)"""

FAULTS = (
    Fault("hangs", "while True:\n    pass", slow=True),
    Fault("stops itself", "os.kill(os.getpid(), signal.SIGSTOP)", slow=True),
    Fault("segfaults", "ctypes.string_at(0)"),
    Fault("stores far out of bounds", kernel="nowhere"),
    Fault("stores past the end", kernel="too_far"),
    Fault("aborts", "os.abort()"),
    Fault(
        "takes all host memory", "held = []\nwhile True:\n    held.append(bytes(1 << 20) + b'1')"
    ),
    Fault(
        "takes memory with many processes",
        "for turn in range(64):\n    if os.fork() == 0:\n"
        "        held = bytearray(b'1') * (1 << 27)\n        time.sleep(600)\ntime.sleep(600)",
        slow=True,
        crowds=True,
    ),
    Fault(
        "corrupts memory beside a tensor",
        "ctypes.memset(x.data_ptr() + x.nbytes, 7, 64)",
        where="cpu",
    ),
    Fault("corrupts the interpreter", "ctypes.memset(id(torch), 255, 1 << 16)\ntorch.zeros(1)"),
    Fault("forks without end", "while True:\n    os.fork()", slow=True, crowds=True),
    Fault("leaves daemons", _SLEEPER),
    Fault(
        "floods its output",
        "line = b'all work and no play ' * 50_000\nwhile True:\n    os.write(1, line)",
        slow=True,
    ),
    Fault("exits at import", at_import="os._exit(0)"),
    Fault("kills itself", "os.kill(os.getpid(), signal.SIGKILL)"),
    Fault(
        "writes a huge file",
        "with open('huge', 'wb') as file:\n    while True:\n        file.write(bytes(1 << 20))",
    ),
    Fault(
        "answers with garbage",
        "while True:\n    for fd in range(3, 64):\n        try:\n"
        "            os.write(fd, os.urandom(1 << 12))\n        except OSError:\n            pass",
        slow=True,
    ),
    Fault("forges its answers", _FORGED, slow=True),
    Fault("forges an answer and stays", _STAYS, slow=True),
    Fault("answers with endless nesting", _NESTED, slow=True),
    Fault(
        "takes all device memory",
        "held = []\nwhile True:\n"
        "    held.append(torch.empty(4 << 30, dtype=torch.uint8, device=x.device))",
        where="gpu",
    ),
    Fault("takes the whole device", _WHOLE, where="gpu", slow=True, crowds=True),
    Fault("never ends on the device", kernel="endless", where="gpu", slow=True),
)


def faults_on(device: str) -> list[Fault]:
    """Those that a device can show."""
    return [fault for fault in FAULTS if fault.where in ("", kind_of(device))]


def kind_of(device: str) -> str:
    """ "cpu" or "gpu"."""
    return "cpu" if device == "interpreter" else "gpu"


@dataclass
class Worker:
    """A worker process, asked over its pipes.

    Attributes:
        patience_s: how long a candidate's call may take.
        scratch: where the candidates' files lie.
        inherits: descriptors that it is born with.
    """

    device: str
    scratch: Path
    patience_s: float = 1.0
    inherits: tuple[int, ...] = ()
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        cache = self.scratch / "triton"
        cache.mkdir(parents=True, exist_ok=True)
        start = _START.format(engine=str(ENGINE), patience_s=self.patience_s)
        self._process = subprocess.Popen(
            [sys.executable, "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, MARKER: self.mark, "TRITON_CACHE_DIR": str(cache)},
            start_new_session=True,
            pass_fds=self.inherits,
        )
        self._number = 0
        self.original = self.file("original", ORIGINAL)
        hello = self._read(120.0)
        if hello is None or "error" in hello["hello"]:
            raise RuntimeError(f"the worker did not start: {hello}")

    @property
    def pid(self) -> int:
        return self._process.pid

    def trial(self, text: str, timeout_s: float = 60.0) -> dict[str, Any]:
        """The worker's answer about a candidate; {} where there was none."""
        candidate = self.file(f"candidate{self._number}", text)
        try:
            return self.ask(self.job(str(candidate)), timeout_s)
        finally:
            candidate.unlink()

    def ask(self, job: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """The answer to a job; {} where there was none."""
        self._number += 1
        body = json.dumps({"id": self._number, "job": job, "timeout_s": timeout_s}).encode()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(_HEADER.pack(len(body)) + body)
            self._process.stdin.flush()
        except OSError:
            return {}
        return self._read(timeout_s + 60.0) or {}

    def accepts(self, text: str) -> bool:
        """Whether a candidate passes its trial."""
        return accepted(self.trial(text))

    def close(self) -> None:
        """End it as an engine does."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def file(self, name: str, text: str) -> Path:
        """A candidate's text in a folder of its own."""
        folder = self.scratch / name
        folder.mkdir(exist_ok=True)
        path = folder / "kernel.py"
        path.write_text(text)
        return path

    def job(self, candidate: str) -> dict[str, Any]:
        """A trial of a file, with one check."""
        entry = {"kind": "function", "name": "double", "path": None}
        case = {
            "category": "ci", "index": 0, "dims": {}, "rtol": 1e-3, "atol": 1e-3,
            "inputs": [{"name": "x", "shape": [1000], "dtype": "float32"}],
        }  # fmt: skip
        check = {"name": "a case", "case": case, "seed": 1, "values": "normal", "layout": "plain"}
        return {
            "kind": "trial", "original": str(self.original), "candidate": candidate,
            "inputs_from": str(self.original), "reference": None, "entry": entry,
            "device": self.device, "seed": 1, "compiled_cases": [], "checks": [check],
            "runner": {
                "device": self.device, "entry": entry, "file_bytes": FILE_BYTES,
                "memory_bytes": MEMORY_BYTES[kind_of(self.device)],
            },
        }  # fmt: skip

    def _read(self, timeout_s: float) -> dict[str, Any] | None:
        assert self._process.stdout is not None
        descriptor, data = self._process.stdout.fileno(), b""
        end = time.monotonic() + timeout_s
        while len(data) < 4 or len(data) < 4 + _HEADER.unpack_from(data)[0]:
            left = end - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                return None
            part = os.read(descriptor, 1 << 16)
            if not part:
                return None
            data += part
        message: dict[str, Any] = json.loads(data[4:])
        return message


@contextlib.contextmanager
def worker(
    device: str, patience_s: float = 1.0, inherits: tuple[int, ...] = ()
) -> Iterator[Worker]:
    """A worker that is ended, and its folder removed."""
    with tempfile.TemporaryDirectory() as folder:
        started = Worker(device, Path(folder), patience_s, inherits)
        try:
            yield started
        finally:
            started.close()


def accepted(answer: dict[str, Any]) -> bool:
    """Whether nothing was said against a candidate."""
    return answer.get("status") == "ok" and answer["value"]["fault"] is None


def refused(answer: dict[str, Any]) -> str:
    """Why a candidate was not accepted; "" where it was, or nothing was answered."""
    if not answer:
        return ""
    if answer["status"] != "ok":
        return f"{answer['status']}: {answer['message']}"
    return str(answer["value"]["fault"] or "")


@dataclass(frozen=True)
class Held:
    """What a worker's first process has open and in memory."""

    descriptors: int
    resident_kb: int


def held(process: int) -> Held:
    """As the system counts it now."""
    lines = Path("/proc", str(process), "status").read_text().splitlines()
    resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return Held(len(list(Path("/proc", str(process), "fd").iterdir())), resident)


def opened(process: int) -> str:
    """What the descriptors of a process are, the most frequent first."""
    kinds: Counter[str] = Counter()
    for link in Path("/proc", str(process), "fd").iterdir():
        with contextlib.suppress(OSError):
            kinds[os.readlink(link).partition(":[")[0]] += 1  # noqa: PTH115
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def left_behind(mark: str, process: int) -> list[str]:
    """Processes with the mark, folders named after it, control groups of the worker's."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if f"{MARKER}={mark}".encode() in (folder / "environ").read_bytes():
                    found.append(f"process {folder.name}")
    for place in {Path(tempfile.gettempdir()), Path("/tmp"), Path("/dev/shm")}:
        found += [str(path) for path in place.glob(f"*{mark}*")]
    own = Path("/proc/self/cgroup").read_text().splitlines()
    for line in own:
        path = line.split(":", 2)[2].lstrip("/")
        for tree in Path("/sys/fs/cgroup").glob("*"):
            for place in (tree / path, Path("/sys/fs/cgroup", path).parent, Path("/sys/fs/cgroup")):
                found += [str(group) for group in place.glob(f"tilewright-{process}-*")]
    return sorted(set(found))
