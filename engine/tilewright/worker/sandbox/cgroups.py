"""A control group for each job, where the system lets this user make one: all of a job's processes
share one limit of memory and one of their number, and can be found by it.

Both layouts are known: one tree of version 2, and trees of version 1 for memory and for processes.
A group is named after the process that forked the job and after the job's own, so that either can
find it again, and what a killed worker left is distinguished from what is in use.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PREFIX = "tilewright-"
_ended: set[Path] = set()
_out_of_memory: dict[int, bool] = {}


@dataclass(frozen=True)
class Tree:
    """A hierarchy that groups can be made in.

    Attributes:
        folder: where a job's group is made.
        controls: "memory", "pids" or both.
        version: 1 or 2.
    """

    folder: Path
    controls: frozenset[str]
    version: int


def enter(memory_bytes: int | None, processes: int) -> frozenset[str]:
    """Put this process into a group of its own; what is limited by it: "memory", "pids"."""
    name = f"{_PREFIX}{os.getppid()}-{os.getpid()}"
    held: set[str] = set()
    for tree in trees():
        with contextlib.suppress(OSError):
            held |= _enter(tree, tree.folder / name, memory_bytes, processes)
    return frozenset(held)


def _enter(tree: Tree, group: Path, memory_bytes: int | None, processes: int) -> set[str]:
    group.mkdir(exist_ok=True)
    try:
        if "pids" in tree.controls:
            (group / "pids.max").write_text(str(processes))
        if "memory" in tree.controls and memory_bytes is not None:
            _limit_memory(tree, group, memory_bytes)
        (group / "cgroup.procs").write_text("0")
    except OSError:
        with contextlib.suppress(OSError):
            group.rmdir()
        raise
    return set(tree.controls) - (set() if memory_bytes is not None else {"memory"})


def _limit_memory(tree: Tree, group: Path, limit: int) -> None:
    if tree.version == 1:
        (group / "memory.limit_in_bytes").write_text(str(limit))
        with contextlib.suppress(OSError):  # where swap is not counted
            (group / "memory.memsw.limit_in_bytes").write_text(str(limit))
        return
    (group / "memory.max").write_text(str(limit))
    with contextlib.suppress(OSError):
        (group / "memory.swap.max").write_text("0")
    (group / "memory.oom.group").write_text("1")


def kill(process: int) -> None:
    """Kill all that is in the group of a job that this process forked."""
    for tree in trees():
        group = tree.folder / f"{_PREFIX}{os.getpid()}-{process}"
        if group.is_dir():
            if "memory" in tree.controls:
                _out_of_memory[process] = _oom_kills(group) > 0
            _ended.add(group)
            _kill(group)


def out_of_memory(process: int) -> bool | None:
    """Whether the system killed something of a job for memory, told once after ``kill``.

    None where the job's memory was not limited by a group.
    """
    return _out_of_memory.pop(process, None)


def _oom_kills(group: Path) -> int:
    """Processes of a group that were killed for memory."""
    for name in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError, ValueError):
            for line in (group / name).read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    return 0


def _kill(group: Path) -> None:
    with contextlib.suppress(OSError):
        (group / "pids.max").write_text("0")  # nothing more can be forked meanwhile
    with contextlib.suppress(OSError):
        (group / "cgroup.kill").write_text("1")
        return
    with contextlib.suppress(OSError):
        for process in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                os.kill(int(process), signal.SIGKILL)


def remove_ended() -> bool:
    """Remove the groups of jobs that were killed; whether something is in one of them still.

    A process whose first thread has ended may have others that have not: of a device's driver.
    """
    for group in list(_ended):
        try:
            group.rmdir()
        except FileNotFoundError:
            _ended.discard(group)
        except OSError:
            _kill(group)
        else:
            _ended.discard(group)
    return bool(_ended)


def remove_left() -> None:
    """Remove the groups of workers that were killed themselves."""
    for tree in trees():
        with contextlib.suppress(OSError):
            for group in list(tree.folder.glob(f"{_PREFIX}*-*")):
                numbers = group.name.removeprefix(_PREFIX).split("-")
                if not any(Path("/proc", number).exists() for number in numbers):
                    with contextlib.suppress(OSError):
                        group.rmdir()


@cache
def trees() -> tuple[Tree, ...]:
    """Hierarchies in which this process may make groups that limit something, tried once."""
    found = []
    with contextlib.suppress(OSError, ValueError):
        mounts = _mounts()
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            wanted = frozenset(controllers.split(",")) & {"memory", "pids"}
            if not controllers and "" in mounts:
                found += _unified(mounts[""], path)
            elif wanted:
                where = next(mounts[name] for name in wanted if name in mounts)
                found += _usable_trees(Tree(where / path.lstrip("/"), wanted, 1))
    return tuple(found)


def _mounts() -> dict[str, Path]:
    """Where each controller of version 1 is mounted, and under "" version 2."""
    found: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2":
            found.setdefault("", Path(before.split()[4]))
        elif kind == "cgroup":
            for name in options.split(","):
                found.setdefault(name, Path(before.split()[4]))
    return found


def _unified(mount: Path, path: str) -> list[Tree]:
    """Version 2: beside this process's own group, as one with processes has no limited ones."""
    own = mount / path.lstrip("/")
    is_root = not (own / "cgroup.type").exists()
    for folder in (own,) if is_root else (own.parent,):
        with contextlib.suppress(OSError):
            given = frozenset((folder / "cgroup.subtree_control").read_text().split())
            if wanted := given & {"memory", "pids"}:
                return _usable_trees(Tree(folder, wanted, 2))
    return []


def _usable_trees(tree: Tree) -> list[Tree]:
    """The tree, if a group can be made in it and entered by this user's processes."""
    trial = tree.folder / f"{_PREFIX}{os.getpid()}-trial"
    try:
        trial.mkdir(exist_ok=True)
        writable = os.access(trial / "cgroup.procs", os.W_OK) and (
            tree.version == 1 or os.access(tree.folder / "cgroup.procs", os.W_OK)
        )
        trial.rmdir()
    except OSError:
        return []
    return [tree] if writable else []
