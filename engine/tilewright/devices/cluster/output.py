"""Standard output without what Ray's own threads write to it."""

from __future__ import annotations

import sys
import threading
from typing import Any, TextIO

_RAYS_THREADS = "ray_"
"""How the names of the threads begin that Ray starts in a driver."""


class OutputOfTheCommand:
    """Standard output on which messages of Ray's threads go to standard error instead.

    Ray prints the errors of its daemons to standard output, whatever ``log_to_driver`` is, and has
    no setting for it. Standard output holds the result of a command, which other programs parse.
    """

    def __init__(self, output: TextIO) -> None:
        self._output = output

    def write(self, text: str) -> int:
        return self._stream().write(text)

    def flush(self) -> None:
        self._stream().flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)

    def _stream(self) -> TextIO:
        from_ray = threading.current_thread().name.startswith(_RAYS_THREADS)
        return sys.stderr if from_ray else self._output


def keep_output_to_the_command() -> None:
    """Install it once in this process."""
    if not isinstance(sys.stdout, OutputOfTheCommand):
        sys.stdout = OutputOfTheCommand(sys.stdout)
