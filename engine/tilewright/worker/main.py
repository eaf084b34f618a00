"""Entry point of a worker: import what is slow once, say hello, serve."""

from __future__ import annotations

import os
import platform
import signal
import sys
import time
import warnings
from typing import TYPE_CHECKING

from .loading.import_stamps import stamp
from .protocol import COMPILE_ONLY, SERVICE, VERSION, write_message
from .runtime import fork_server, service
from .runtime.connections import Peer
from .sandbox import confinement

if TYPE_CHECKING:
    from .messages.envelope import Hello

_WATCH_S = 0.2
_STAMPED = ("triton", "triton._C.libtriton", "torch", "torch.version")


def main() -> int:
    """Serve until the engine closes stdin; 1 if torch or triton cannot be imported.

    With ``COMPILE_ONLY`` on the command line torch is not asked for, and only compilers are served.
    With ``SERVICE`` it serves each client that connects, until it was idle for a while.
    """
    requests, answers = fork_server.private_channels()
    if SERVICE not in sys.argv[1:]:  # a client of the service sends its own
        confinement.scrub_environment()
    # Triton's advice would be in every job's output.
    warnings.filterwarnings("ignore", module=r"triton\.")
    if SERVICE in sys.argv[1:]:
        return service.main(sys.argv[1:], answers, _hello)
    service.keep_priority()
    _watch_for_the_engine()
    hello = _hello()
    write_message(answers, {"hello": hello})
    if "error" in hello:
        return 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    fork_server.ForkServer((Peer(requests, answers),)).serve()
    return 0


def _hello() -> Hello:
    """Import what is slow and say what it was; ``error`` where that cannot be."""
    start = time.perf_counter()
    hello: Hello = {
        "protocol": VERSION,
        "python": platform.python_version(),
        "pid": os.getpid(),
    }
    try:
        hello |= _import_what_is_slow(COMPILE_ONLY in sys.argv[1:])
    except ImportError as error:
        return {**hello, "error": str(error)}
    hello["files"] = _stamps()
    return {**hello, "seconds": time.perf_counter() - start}


def _stamps() -> dict[str, list[int]]:
    """Files that are others once torch or triton is: when each was written, and its size."""
    found = {}
    for name in _STAMPED:
        path = getattr(sys.modules.get(name), "__file__", None)
        if path and (seen := stamp(path)):
            found[path] = seen
    return found


def _import_what_is_slow(compile_only: bool) -> Hello:
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
