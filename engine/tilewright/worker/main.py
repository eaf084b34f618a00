"""Entry point of a worker: import what is slow once, say hello, serve."""

from __future__ import annotations

import os
import platform
import signal
import sys
import time
import warnings

from . import zygote
from .protocol import COMPILE_ONLY, VERSION, write_message

_WATCH_S = 0.2


def main() -> int:
    """Serve until the engine closes stdin; 1 if torch or triton cannot be imported.

    With ``COMPILE_ONLY`` on the command line torch is not asked for, and only compilers are served.
    """
    compile_only = COMPILE_ONLY in sys.argv[1:]
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
        hello.update(_import_what_is_slow(compile_only))
    except ImportError as error:
        write_message(answers, {"hello": {**hello, "error": str(error)}})
        return 1
    hello["seconds"] = time.perf_counter() - start
    write_message(answers, {"hello": hello})
    signal.setitimer(signal.ITIMER_REAL, 0)
    zygote.Zygote(requests, answers).serve()
    return 0


def _import_what_is_slow(compile_only: bool) -> dict[str, object]:
    """Versions of what was imported; torch is None where it is not needed."""
    import triton

    from . import jobs

    if compile_only:
        jobs.preload(compile_only=True)
        return {"torch": None, "triton": triton.__version__}
    import numpy  # noqa: F401
    import torch

    jobs.preload()
    return {"torch": torch.__version__, "triton": triton.__version__}


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
