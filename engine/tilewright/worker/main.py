"""Entry point of a worker: import what is slow once, say hello, serve."""

from __future__ import annotations

import os
import platform
import signal
import time
import warnings

from . import zygote
from .protocol import VERSION, write_message

_WATCH_S = 0.2


def main() -> int:
    """Serve until the engine closes stdin; 1 if torch or triton cannot be imported."""
    requests, answers = zygote.private_channels()
    _watch_for_the_engine()
    # Triton's advice to whoever runs it would stand in every job's output.
    warnings.filterwarnings("ignore", module=r"triton\.")
    start = time.perf_counter()
    hello: dict[str, object] = {
        "protocol": VERSION,
        "python": platform.python_version(),
        "pid": os.getpid(),
    }
    try:
        import numpy  # noqa: F401
        import torch
        import triton

        from . import jobs

        jobs.preload()
    except ImportError as error:
        write_message(answers, {"hello": {**hello, "error": str(error)}})
        return 1
    hello.update(torch=torch.__version__, triton=triton.__version__)
    hello["seconds"] = time.perf_counter() - start
    write_message(answers, {"hello": hello})
    signal.setitimer(signal.ITIMER_REAL, 0)
    zygote.Zygote(requests, answers).serve()
    return 0


def _watch_for_the_engine() -> None:
    """Leave while still importing, which takes seconds, if the engine is killed meanwhile.

    Not by a parent-death signal: that follows the thread that started this process, not the engine.
    """
    parent = os.getppid()

    def check(number: int, frame: object) -> None:
        del number, frame
        if os.getppid() != parent:
            os._exit(0)

    signal.signal(signal.SIGALRM, check)
    signal.setitimer(signal.ITIMER_REAL, _WATCH_S, _WATCH_S)
