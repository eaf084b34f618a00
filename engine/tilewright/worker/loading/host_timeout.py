"""How long host code may go on by itself where it is run for its launches alone.

On tensors without memory a loop that waits for memory to run out, or for a value to change, never
ends. By a signal, so in a process's first thread.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator

_AGAIN_S = 1.0


class TookTooLongError(Exception):
    """Host code went on and on; the message says for how long."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[Callable[[], float]]:
    """Raise TookTooLongError in what takes longer, and again each second should it be caught.

    Yields a function that tells the seconds since.
    """
    start = time.monotonic()

    def ring(number: int, frame: object) -> None:
        del number, frame
        raise TookTooLongError(f"host code ran for {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)
    try:
        yield lambda: time.monotonic() - start
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def not_counted() -> Iterator[None]:
    """For what is not host code: a compiler may take as long as it needs."""
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0.0)
    try:
        yield
    finally:
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, _AGAIN_S)
