"""An empty network namespace: no interface but a loopback of its own, which is down."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000


def leave() -> bool:
    """Move this process into one; False where the system does not permit it.

    Who may make one does; others need a user namespace, in which a process has its own user and
    group and no more rights over files than before.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) == 0:
        return True
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")
    return True


def can_leave() -> bool:
    """Whether ``leave`` would work, tried in a process of its own."""
    process = os.fork()
    if process == 0:
        try:
            os._exit(0 if leave() else 1)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="ascii")
