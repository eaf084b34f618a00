"""Landlock: below which folders a process, and all that it starts, may still write and read.

Numbers are those of Linux's ``include/uapi/linux/landlock.h``. TCP, and signals and abstract
sockets to processes outside, are taken away as well, to the extent of the kernel's version. A
process under Landlock also cannot trace, or read the memory of, one that is not under the same
rules.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_QUERY_VERSION = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE = sum(1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_TCP = 1 << 0 | 1 << 1
_SCOPE_SIGNAL_AND_SOCKETS = 1 << 0 | 1 << 1


class _Ruleset(ctypes.Structure):
    _fields_ = [
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    ]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The kernel's Landlock ABI version; 0 where there is none."""
    version = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _QUERY_VERSION)
    return max(0, int(version))


def denies_tcp() -> bool:
    """Whether ``restrict`` also takes TCP away (ABI 4 and newer)."""
    return abi() >= 4


def restrict(
    writable: Iterable[str], readable: Iterable[str] | None = None, listable: Iterable[str] = ()
) -> int:
    """Allow no more than this from here on; returns the ABI used, 0 if there is none.

    Args:
        writable: what may be changed, and read.
        readable: what may be read and executed; None: everything.
        listable: folders whose names may be listed, and those of all folders below.

    A path that does not exist is skipped. Raises OSError if the kernel has Landlock but refuses.
    """
    version = abi()
    if version == 0:
        return 0
    writing = _writing_rights(version)
    reading = 0 if readable is None else _EXECUTE | _READ_FILE | _READ_DIR
    ruleset = _Ruleset(
        writing | reading,
        _TCP if version >= 4 else 0,
        _SCOPE_SIGNAL_AND_SOCKETS if version >= 6 else 0,
    )
    size = 8 if version < 4 else 16 if version < 6 else 24
    libc = _libc()
    descriptor = _checked(
        libc.syscall(_CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), 0)
    )
    try:
        for rights, paths in (
            (writing | reading, writable),
            (reading, readable or ()),
            (reading & _READ_DIR, listable),
        ):
            for path in paths if rights else ():
                _allow(libc, descriptor, path, rights)
        _checked(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _checked(libc.syscall(_RESTRICT_SELF, descriptor, 0))
    finally:
        os.close(descriptor)
    return version


def _writing_rights(version: int) -> int:
    rights = _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE
    if version >= 2:
        rights |= _REFER
    if version >= 3:
        rights |= _TRUNCATE
    return rights


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
        if not rights:
            return
        rule = _PathBeneath(rights, parent)
        _checked(libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(parent)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
