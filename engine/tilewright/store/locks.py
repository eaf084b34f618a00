"""Lock files of runs: the process that holds one works on the run; it goes with the process."""

import fcntl
import time
from pathlib import Path
from typing import IO

_TRIES = 3
_WAIT_S = 0.02  # longer than a reader needs to see whether a run is worked on


def take(store: Path, run_id: str) -> IO[str] | None:
    """The lock of a run; None while another process works on the run."""
    folder = store.parent / "locks"
    folder.mkdir(exist_ok=True)
    handle = (folder / run_id).open("w")
    for left in reversed(range(_TRIES)):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_WAIT_S)
        else:
            return handle
    handle.close()
    return None


def is_taken(store: Path, run_id: str) -> bool:
    """Whether a process works on a run now."""
    try:
        handle = (store.parent / "locks" / run_id).open()
    except FileNotFoundError:
        return False
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def remove(store: Path, run_id: str) -> None:
    """Remove the lock file of a run that is not resumed."""
    (store.parent / "locks" / run_id).unlink(missing_ok=True)
