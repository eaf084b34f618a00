"""Whether something has read the host code of a file: what has not is the same whatever that says.

Fields of a parsed file that say what host code says are *watched*: each time one is read, the mark
is another. What has the same mark before and after has read none of them. Reads of other threads
count as well, so that at worst too much is taken to depend on host code.
"""

from collections.abc import Iterable


class _Mark:
    """The last read; another object for each, so that threads need no lock."""

    last: object = object()


def host_reads() -> object:
    """Another object after each read of host code."""
    return _Mark.last


def note_host_read() -> None:
    """What goes on here follows from host code that was read before."""
    _Mark.last = object()


class _Watched:
    """A field of an object; it is looked up here first, as this can be set as well."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, one: object, owner: type[object]) -> object:
        if one is None:  # As for any field without a default.
            raise AttributeError(self._name)
        _Mark.last = object()
        return one.__dict__[self._name]

    def __set__(self, one: object, value: object) -> None:
        one.__dict__[self._name] = value


def watch_fields(owner: type[object], names: Iterable[str]) -> None:
    """Note each read of some fields of a class that have no defaults."""
    for name in names:
        setattr(owner, name, _Watched(name))
