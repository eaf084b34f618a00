"""How far a job was confined: what held, what did not and why, and one word for it.

``strong``: it could change, read and reach nothing but its own, and take no more than its share.
``partial``: it could change nothing outside and reach no network, but something else did not hold.
``weak``: it could change files of its user, or reach a network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..messages.parts import Confinement

STRONG, PARTIAL, WEAK = "strong", "partial", "weak"
PROTECTIONS = {
    "writes": "files outside its scratch folder cannot be changed",
    "reads": "the user's files cannot be read",
    "network": "no network can be reached",
    "processes": "other processes cannot be traced or read",
    "signals": "other processes cannot be signalled",
    "privileges": "no privileges of root are left",
    "environment": "no secrets are in the environment",
    "memory": "memory is limited for all its processes together",
    "forks": "the number of its processes is limited",
}
_NEEDED = ("writes", "network")
_MEMORY_EACH = "memory is limited for each process, but not for all of a job's together"


def report(lacks: Mapping[str, str], *, landlock: int, netns: bool) -> Confinement:
    """What goes with a job's answer: ``isolation``, its ``reasons``, ``lacks``, and two figures.

    Args:
        lacks: why a protection does not hold, by its name in ``PROTECTIONS``.
    """
    return {
        "landlock": landlock,
        "netns": netns,
        "isolation": level(lacks),
        "lacks": dict(lacks),
        "reasons": [f"{name}: {why}" for name, why in lacks.items()],
    }


def level(lacks: Mapping[str, str]) -> str:
    """One word for what does not hold."""
    if not lacks:
        return STRONG
    return WEAK if any(name in lacks for name in _NEEDED) else PARTIAL


def lacking(
    *,
    landlock: int,
    mounts: bool,
    netns: bool,
    filtered: str,
    dropped: bool,
    groups: frozenset[str],
    own_user: bool,
    is_root: bool,
) -> dict[str, str]:
    """Which protections do not hold, and why.

    Args:
        landlock: the ABI in force.
        mounts: whether the process has a file system of its own instead.
        netns: whether the process is in an empty network namespace.
        filtered: why system calls are not filtered, "" where they are.
        dropped: whether privileges were given up.
        groups: what a control group limits.
        own_user: whether the process has a user of its own.
        is_root: whether the user is root, whom the limit on processes does not hold.
    """
    none = "this kernel has no Landlock, or it is turned off"
    found: dict[str, str] = {}
    if landlock == 0 and not mounts:
        found["writes"] = found["reads"] = none
    elif landlock < 3 and not mounts:
        found["writes"] = f"Landlock {landlock} does not keep files from being cut short; Linux 6.2"
    if not netns and filtered:
        found["network"] = f"no network namespace, and system calls are not filtered: {filtered}"
    if landlock == 0 and filtered and not own_user:
        found["processes"] = f"no Landlock, and system calls are not filtered: {filtered}"
    if landlock < 6 and not own_user:
        found["signals"] = f"Landlock 6 (Linux 6.12) is needed, and {landlock or 'none'} is here"
    if not dropped:
        found["privileges"] = "the system refused to take them"
    if "memory" not in groups:
        found["memory"] = f"{_MEMORY_EACH}: no control group can be made here"
    if "pids" not in groups and is_root:
        found["forks"] = "no control group can be made here, and root has no other limit"
    return found
