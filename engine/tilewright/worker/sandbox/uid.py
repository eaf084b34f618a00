"""A separate user id for jobs of a root worker, so that limits and signal rules apply.

Root is exempt from the limit on processes, and every process of root's is root's to signal. A job
keeps the right to open root's files (``capabilities``); Landlock says which.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_FIRST = 2_000_000_000  # above what systems give to people, services and containers
_FIRST_IN_CONTAINER, _SPAN = 20_000, 40_000
_PR_SET_SECUREBITS, _NO_SETUID_FIXUP = 28, 1 << 2
NAME = "tilewright"


def become() -> bool:
    """Take a user number after this process's; False for who is not root, or may not."""
    if os.geteuid() != 0:
        return False
    number = _free_number()
    try:
        _keep_privileges()
        os.setgroups([])
        os.setresgid(number, number, number)
        os.setresuid(number, number, number)
    except OSError:
        return False
    for name in ("USER", "LOGNAME"):  # no list of users has this one
        os.environ[name] = NAME
    return True


def _free_number() -> int:
    """A number that this process's user namespace knows."""
    first, _, count = (int(part) for part in Path("/proc/self/uid_map").read_text().split()[:3])
    if first == 0 and count > _FIRST + os.getpid():
        return _FIRST + os.getpid()
    return _FIRST_IN_CONTAINER + os.getpid() % _SPAN


def _keep_privileges() -> None:
    """Until ``capabilities.drop``; what is left by then also counts where access(2) is asked."""
    ctypes.CDLL(None).prctl(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP, 0, 0, 0)
