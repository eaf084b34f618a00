"""Drop the privileges of root permanently, if this process has any."""

from __future__ import annotations

import ctypes

_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT, _RAISE, _CLEAR_ALL = 47, 2, 4
_VERSION_3 = 0x20080522
_HIGHEST = 63
# Files of other users, which root reads in containers; Landlock decides about them all the same.
_KEPT = 1  # CAP_DAC_OVERRIDE


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Data(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


def drop() -> bool:
    """Keep nothing but access to files, and let nothing that is started have more.

    Returns whether that is so: a process that had nothing to give up is as good.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(_HIGHEST + 1):
        if number != _KEPT:
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    libc.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    header, data = _Header(_VERSION_3, 0), (_Data * 2)()
    if libc.capget(ctypes.byref(header), data) != 0:
        return False
    kept = data[0].permitted & 1 << _KEPT
    data[0] = _Data(kept, kept, kept)
    data[1] = _Data(0, 0, 0)
    if libc.capset(ctypes.byref(header), data) != 0:
        return False
    if kept:  # by what a process starts, too, which has another user than root
        libc.prctl(_PR_CAP_AMBIENT, _RAISE, _KEPT, 0, 0)
    return True
