"""Ask an installed program for its version, with a time limit."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

_SECONDS = 60


def command_output(command: Sequence[str], folder: str | None = None) -> str:
    """What a short command prints; raises OSError if it cannot be run or does not end."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS,
            check=False, cwd=folder,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise OSError(0, f"it did not end within {_SECONDS} s") from None
    return done.stdout + ("" if done.stdout.strip() else done.stderr)
