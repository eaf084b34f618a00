"""Runs worker jobs from standard input, each in a fork of this process, and answers in lines.

Each line of input is ``{"key", "job"}``, each line of output ``{"key", "status", "value"}``. The
package that the kernels are of is imported once, before the first fork; a file of it that does
not import is left to its own job. Runs in the interpreter that compiles, with the engine's folder
on PYTHONPATH.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tilewright.worker import jobs
from tilewright.worker.loading import partial_import, stub_modules
from tilewright.worker.runtime import job_process

SECONDS = float(os.environ.get("COMPILE_SECONDS", "45"))
_ANSWERS = {
    "torch.__version__": "2.11.0",
    "torch.version.cuda": None,
    "torch.version.hip": None,
    "torch.cuda.is_available()": False,
    "torch.cuda.device_count()": 0,
    "torch.xpu.is_available()": True,
    "torch.xpu.device_count()": 1,
}


def main(root: str, package: str) -> None:
    """Serve until the input ends."""
    answers = os.dup(1)
    os.dup2(2, 1)
    sys.path.insert(0, root)
    without_torch = not stub_modules.installed("torch")
    jobs.preload(compile_only=without_torch)
    if package:
        _import(package, without_torch)
    for line in sys.stdin:
        asked = json.loads(line)
        found = _in_fork(asked["job"])
        os.write(answers, (json.dumps({"key": asked["key"], **found}) + "\n").encode())


def _import(package: str, without_torch: bool) -> None:
    """Import all of a package that imports, where host code sees no device."""
    import importlib

    if without_torch:
        return
    from tilewright.worker.host import absent_device

    with absent_device.no_driver(), contextlib.suppress(*partial_import.FAILURES):
        importlib.import_module(package)
    from triton.runtime.driver import driver

    driver._active = None


def _in_fork(job: dict[str, Any]) -> dict[str, Any]:
    readable, writable = os.pipe()
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.close(readable)
        os.setsid()
        with os.fdopen(writable, "w") as out:
            json.dump(_performed(job), out)
        os._exit(0)
    os.close(writable)
    text, timed_out = _read(readable, start + SECONDS)
    if timed_out:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    seconds = round(time.perf_counter() - start, 3)
    if timed_out:
        return {"status": "timeout", "value": None, "seconds": seconds}
    if not text:
        return {"status": "crashed", "value": os.waitstatus_to_exitcode(status), "seconds": seconds}
    return {**json.loads(text), "seconds": seconds}


def _performed(job: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"status": "ok", "value": job_process.perform(job)}
    except (*partial_import.FAILURES, MemoryError) as error:
        return {"status": "error", "value": f"{type(error).__name__}: {error}"}


def _read(descriptor: int, until: float) -> tuple[str, bool]:
    """(what a child wrote until it closed its end, whether its time was over before)."""
    parts: list[bytes] = []
    with os.fdopen(descriptor, "rb", buffering=0) as source:
        while (left := until - time.perf_counter()) > 0:
            ready, _, _ = select.select([source], [], [], left)
            if not ready:
                break
            if not (part := source.read(1 << 16)):
                return b"".join(parts).decode(), False
            parts.append(part)
    return "", True


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()), sys.argv[2] if len(sys.argv) > 2 else "")
