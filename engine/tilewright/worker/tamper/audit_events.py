"""Python's audit events that the user's code raises: files, processes, sockets, threads, frames.

A hook cannot be taken out again (``sys.addaudithook``), so there is one a process, which is idle
while they are not watched. Native code raises no events.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .user_frames import USER, kind_of, place, user_frame

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MOST = 64
_WHAT = {
    "subprocess.": "starts a process",
    "os.system": "starts a process",
    "os.exec": "starts a process",
    "os.fork": "starts a process",
    "os.forkpty": "starts a process",
    "os.posix_spawn": "starts a process",
    "os.spawn": "starts a process",
    "pty.spawn": "starts a process",
    "socket.": "uses the network",
    "ctypes.": "uses ctypes",
    "os.kill": "sends a signal",
    "os.killpg": "sends a signal",
    "signal.": "sends a signal",
    "_thread.start_": "starts a thread",
    "gc.get_": "searches the process's objects",
    "sys._getframe": "looks at stack frames",
    "sys._current_": "looks at stack frames",
    "sys.setprofile": "traces the process",
    "sys.settrace": "traces the process",
    "sys.addaudithook": "traces the process",
    "sys.unraisablehook": "traces the process",
    "object.__setattr__": "replaces code objects",
    "object.__delattr__": "replaces code objects",
    "object.__getattr__": "reads code objects",
    "code.__new__": "makes code objects",
    "function.__new__": "makes functions from code objects",
    "exec": "runs code made at run time",
    "compile": "compiles code at run time",
    "marshal.": "loads marshalled code",
    "pickle.find_class": "loads pickles",
    "mmap.__new__": "maps memory",
    "os.putenv": "changes the environment",
    "os.unsetenv": "changes the environment",
    "os.remove": "changes files",
    "os.rename": "changes files",
    "os.link": "changes files",
    "os.symlink": "changes files",
    "os.truncate": "changes files",
    "os.mkdir": "changes files",
    "os.rmdir": "changes files",
    "os.chmod": "changes files",
    "shutil.": "changes files",
    "tempfile.": "changes files",
    "os.listdir": "lists files",
    "os.scandir": "lists files",
    "os.walk": "lists files",
    "glob.": "lists files",
    "os.chdir": "changes the working folder",
    "time.sleep": "sleeps",
}
# A library raises these for purposes of its own in code that the user calls.
_ITS_OWN = (
    "exec", "compile", "sys._getframe", "gc.get_", "object.__getattr__", "object.__setattr__",
    "code.__new__", "function.__new__",
)  # fmt: skip
_LOOKING = ("inspect.py", "traceback.py", "pdb.py")

Note = Callable[[str, str], None]
_watchers: list[Note] = []
_installed: list[bool] = []
_busy: list[bool] = []


def watch(note: Note) -> None:
    """Have ``note(what, where)`` called for each event of the user's code, until ``unwatch``."""
    if not _installed:
        _installed.append(True)
        sys.addaudithook(_hook)
    _watchers.append(note)


def unwatch(note: Note) -> None:
    """Stop calling ``note``."""
    _watchers[:] = [one for one in _watchers if one != note]


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watchers or _busy:
        return
    what = _meaning(event, arguments)
    if what is None:
        return
    _busy.append(True)
    try:
        where = _raised_by_user(event)
        if where is not None:
            for note in _watchers:
                note(what, where)
    finally:
        _busy.pop()


def _meaning(event: str, arguments: tuple[Any, ...]) -> str | None:
    return _opening(arguments) if event == "open" else _named(event)


@functools.cache
def _named(event: str) -> str | None:
    return next((what for prefix, what in _WHAT.items() if event.startswith(prefix)), None)


def _opening(arguments: tuple[Any, ...]) -> str | None:
    path, mode, flags = (*arguments, None, None)[:3]
    if not isinstance(path, str | bytes | os.PathLike):
        return None
    name = os.fsdecode(path)
    writing = bool(flags & _WRITING) if isinstance(flags, int) else False
    writing = writing or (isinstance(mode, str) and bool(set(mode) & set("wax+")))
    if not writing and name.endswith((".py", ".pyc")):
        return None
    return f"opens {name} for {'writing' if writing else 'reading'}"


def _raised_by_user(event: str) -> str | None:
    """Where in the user's code an event comes from; None for what a library does by itself."""
    frame = sys._getframe(2)
    if event.startswith(_ITS_OWN):
        asking: FrameType | None = frame
        while asking is not None and asking.f_code.co_filename.endswith(_LOOKING):
            asking = asking.f_back
        if asking is None or kind_of(asking.f_code.co_filename) != USER:
            return None
    found = user_frame(frame)
    return None if found is None else place(found)


class Events:
    """The events of one block, each kind once with the first place it came from."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}

    def note(self, what: str, where: str) -> None:
        """Keep an event."""
        if len(self.seen) < _MOST:
            self.seen.setdefault(what, where)

    def __enter__(self) -> Events:
        watch(self.note)
        return self

    def __exit__(self, *_: object) -> None:
        if self.note not in _watchers or _busy:
            self.seen["takes away what watches it"] = "an unknown line"
            _busy.clear()
        unwatch(self.note)
