"""Entry point of a worker: import what is slow once, say hello, serve."""

from __future__ import annotations

import os
import platform
import time
import warnings

from . import zygote
from .protocol import VERSION, write_message


def main() -> int:
    """Serve until the engine closes stdin; 1 if torch or triton cannot be imported."""
    requests, answers = zygote.private_channels()
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
    zygote.Zygote(requests, answers).serve()
    return 0
