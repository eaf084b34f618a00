"""A filter of system calls: those that reach other processes, the network or the system's state.

A classic BPF program over ``struct seccomp_data`` (Linux's ``include/uapi/linux/seccomp.h`` and
``filter.h``). What it refuses fails with an error code, so that a library that merely tries goes
on without.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import socket
import sys
from dataclasses import dataclass

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_SECCOMP, _SET_MODE_FILTER, _SPEC_ALLOW = (317, 277), 1, 1 << 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_X32 = 0x40000000
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEW* as of clone(2), CLONE_NEWTIME aside
_SOCKET_TYPE = 0xF

# Numbers of x86_64 and of aarch64 (asm-generic/unistd.h); from 424 on they are the same.
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "unshare": (272, 97), "setns": (308, 268),
    "open_by_handle_at": (304, 265),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266),
    "adjtimex": (159, 171), "sethostname": (170, 161), "setdomainname": (171, 162),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60),
    "iopl": (172, None), "ioperm": (173, None), "syslog": (103, 116), "vhangup": (153, 58),
    "connect": (42, 203),
}  # fmt: skip
_CLONE, _CLONE3 = (56, 220), (435, 435)
_SOCKET, _SOCKETPAIR = (41, 198), (53, 199)
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_FAMILIES = (socket.AF_UNIX, 16)  # 16: AF_NETLINK, which libraries ask for network interfaces


@dataclass(frozen=True)
class _Line:
    """One instruction; jumps count the lines to leave out."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0


class _Filter(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    ]  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("filter", ctypes.POINTER(_Filter))]


def restrict() -> str:
    """Filter this process's system calls, and those of all that it starts; "" or why it cannot."""
    machine = platform.machine()
    if machine not in _MACHINES or sys.maxsize < 1 << 32:
        return f"no system call numbers are known for {machine}"
    lines = program(machine)
    code = (_Filter * len(lines))(
        *(_Filter(line.code, line.if_true, line.if_false, line.value) for line in lines)
    )
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return os.strerror(ctypes.get_errno())
    if _load(libc, _Program(len(lines), code)) != 0:
        return os.strerror(ctypes.get_errno())
    return ""


def _load(libc: ctypes.CDLL, filters: _Program) -> int:
    """By the call that leaves the processor's speculation as it is, which times depend on."""
    call = _SECCOMP[_MACHINES[platform.machine()][0]]
    if libc.syscall(call, _SET_MODE_FILTER, _SPEC_ALLOW, ctypes.byref(filters)) == 0:
        return 0
    return int(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(filters), 0, 0))


def program(machine: str) -> list[_Line]:
    """The filter for "x86_64" or "aarch64"."""
    column, architecture = _MACHINES[machine]
    # A 64-bit process can also make 32-bit calls, whose numbers mean other calls: every other
    # architecture is refused before a number is compared.
    lines = [
        _Line(_LOAD, _ARCHITECTURE),
        _Line(_EQUAL, architecture, 1, 0),
        _refuse(errno.EPERM),
        _Line(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        # x32 calls report the same architecture and differ by this bit of the number.
        lines += [_Line(_AT_LEAST, _X32, 0, 1), _refuse(errno.EPERM)]
    for name, numbers in _CALLS.items():
        number = numbers[column]
        if number is not None:
            code = errno.EACCES if name == "connect" else errno.EPERM
            lines += _when(number, [_refuse(code)])
    # Its flags lie in memory, where a filter cannot look; libraries go back to clone.
    lines += _when(_CLONE3[column], [_refuse(errno.ENOSYS)])
    lines += _when(_CLONE[column], _without_namespaces())
    lines += _when(_SOCKET[column], [*_only_families(), *_no_datagrams()])
    lines += _when(_SOCKETPAIR[column], _no_datagrams())
    return [*lines, _Line(_RETURN, _ALLOW)]


def _when(number: int, then: list[_Line]) -> list[_Line]:
    """``then`` for the call ``number``; it has to end the program."""
    return [_Line(_EQUAL, number, 0, len(then)), *then]


def _refuse(code: int) -> _Line:
    return _Line(_RETURN, _ERRNO | code)


def _argument(index: int) -> _Line:
    """The lower half of an argument, on a little-endian machine."""
    return _Line(_LOAD, _ARGUMENTS + 8 * index)


def _without_namespaces() -> list[_Line]:
    return [
        _argument(0),
        _Line(_ANY_BIT, _NEW_NAMESPACES, 0, 1),
        _refuse(errno.EPERM),
        _Line(_RETURN, _ALLOW),
    ]


def _only_families() -> list[_Line]:
    """Sockets of this machine alone: none of a network, of a hypervisor or of Bluetooth."""
    unix, netlink = _FAMILIES
    return [
        _argument(0),
        _Line(_EQUAL, netlink, 0, 1),
        _Line(_RETURN, _ALLOW),
        _Line(_EQUAL, unix, 1, 0),
        _refuse(errno.EACCES),
    ]


def _no_datagrams() -> list[_Line]:
    """A stream must connect before it says anything; a datagram can be sent to any path."""
    return [
        _argument(1),
        _Line(_AND, _SOCKET_TYPE),
        _Line(_EQUAL, int(socket.SOCK_STREAM), 1, 0),
        _Line(_EQUAL, int(socket.SOCK_SEQPACKET), 0, 1),
        _Line(_RETURN, _ALLOW),
        _refuse(errno.EACCES),
    ]
