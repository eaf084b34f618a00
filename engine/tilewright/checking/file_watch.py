"""Files below folders that change on disk, as watchdog reports them.

watchdog is imported when a watch starts: nothing else needs it.
"""

import errno
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import InputError

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

SETTLED_S = 0.25
"""Seconds without another change after which a file counts as saved: editors write in steps."""

_IGNORED = frozenset(("opened", "closed_no_write"))
_TOO_MANY = (errno.ENOSPC, errno.EMFILE)


class FileWatch:
    """Reports each change below some folders from another thread, until it is closed.

    Args:
        roots: folders; of a file, the folder that it is in is watched, without those below.
        report: called with the path of what was written, moved there, or is gone.
        poll_s: look at all files so often instead of asking the system, as network folders need.

    Raises:
        InputError: watchdog is missing, or the system allows no more watches.
    """

    def __init__(
        self, roots: Iterable[Path], report: Callable[[Path], None], poll_s: float | None = None
    ) -> None:
        try:
            from watchdog.events import FileSystemEventHandler
            from watchdog.observers import Observer
            from watchdog.observers.polling import PollingObserver
        except ImportError:
            raise InputError(
                "watching files needs the package watchdog: pip install 'tilewright[watch]'"
            ) from None

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: "FileSystemEvent") -> None:
                for path in _changed(event):
                    report(path)

        self._observer = Observer() if poll_s is None else PollingObserver(timeout=poll_s)
        self._observer.daemon = True  # nothing waits for it
        for root in dict.fromkeys(roots):
            folder = root if root.is_dir() else root.parent
            self._observer.schedule(Handler(), str(folder), recursive=root.is_dir())
        try:
            self._observer.start()
        except OSError as error:
            raise _refused(error) from None

    def close(self) -> None:
        """Report nothing more."""
        self._observer.stop()
        self._observer.join(timeout=1.0)


def _changed(event: "FileSystemEvent") -> Iterator[Path]:
    """The files that an event is about; an exchange by renaming is about both names."""
    if event.is_directory or event.event_type in _IGNORED:
        return
    for name in (event.src_path, event.dest_path):
        if name:
            yield Path(name if isinstance(name, str) else name.decode(errors="surrogateescape"))


def _refused(error: OSError) -> InputError:
    if error.errno in _TOO_MANY:
        return InputError(
            "the system allows no more watches of files; raise fs.inotify.max_user_watches, "
            "name a smaller folder, or look at the files in turns with --poll 2"
        )
    return InputError(f"the files cannot be watched: {error.strerror or error}")


class Settling:
    """Paths that changed a moment ago, until nothing happens to them any more. Pure."""

    def __init__(self, settled_s: float = SETTLED_S) -> None:
        self._settled_s = settled_s
        self._changed: dict[Path, float] = {}

    def add(self, path: Path, now: float) -> None:
        """A path changed at a time in seconds."""
        self._changed[path] = now

    def settled(self, now: float) -> list[Path]:
        """The paths that have been left alone long enough; they are reported once."""
        ready = [path for path, at in self._changed.items() if now - at >= self._settled_s]
        for path in ready:
            del self._changed[path]
        return sorted(ready)

    def __bool__(self) -> bool:
        return bool(self._changed)
