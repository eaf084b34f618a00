"""One block of the user's code watched from all sides, and what was seen as JSON."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import torch

from ..operator_names import is_plumbing
from .audit_events import Events
from .function_caches import RESULTS
from .global_settings import changed, settings
from .host_reads import Reading
from .launch_log import Launches
from .operator_log import Operators
from .patched_functions import identities, replaced
from .retained_state import Kept, kept_by, know_libraries
from .streams_graphs import Making
from .user_frames import inside

if TYPE_CHECKING:
    from ..messages.trial import Facts

_MOST = 32
_MISSING = object()
_JUDGED = (
    "aside", "made", "events", "settings", "replaced", "threads", "native_threads", "kept",
    "state", "unseen",
)  # fmt: skip
_ADDRESS = re.compile("<[0-9a-f]+>")


class Seen:
    """What one block did; ``facts`` when it has ended.

    Args:
        module_file: the file under test.
        model: the instance that is called, where the entry point is a torch module.
    """

    def __init__(self, module_file: str, model: Any = None) -> None:
        self._file = module_file
        self._model = model
        self._stack = contextlib.ExitStack()
        self._facts: Facts = {}

    def facts(self) -> Facts:
        """JSON: see ``merged`` for the fields."""
        return self._facts

    def _enter(self) -> None:
        self._stack.enter_context(inside())
        self._kept = kept_by(self._file, self._model)
        self._launches = self._stack.enter_context(Launches(self._file))
        self._made = self._stack.enter_context(Making())
        self._reading = self._stack.enter_context(Reading())
        self._settings = settings(self._file)
        self._threads = _threads()
        self._identities = identities()
        self._events = self._stack.enter_context(Events())
        self._operators = self._stack.enter_context(Operators())

    def _leave(self) -> None:
        operators = self._operators.seen | self._reading.seen
        events = self._events.seen
        after = identities()
        threads = _threads()
        self._facts = {
            "launches": self._launches.seen,
            "aside": self._launches.aside,
            "operators": operators,
            "made": dict(self._made.seen),
            "events": events,
            "settings": changed(self._settings, settings(self._file)),
            "replaced": replaced(self._identities, after)[:_MOST],
            "threads": max(0, threads[0] - self._threads[0]),
            "native_threads": max(0, threads[1] - self._threads[1]),
        }
        self._stack.close()
        self._facts |= _kept_facts(self._kept, kept_by(self._file, self._model))


def _kept_facts(before: Kept, after: Kept) -> Facts:
    moved = [
        name
        for name, value in after.values.items()
        if name.partition(".")[0] in before.modules
        and not (_equal(before.values[name], value) if name in before.values else RESULTS in name)
    ]
    told = list(dict.fromkeys(_ADDRESS.sub("", name) for name in moved))
    return {
        "kept": dict(list(after.tensors.items())[:_MOST]), "state": told[:_MOST],
        "unseen": sorted(after.unseen),
    }  # fmt: skip


def _equal(one: Any, other: Any) -> bool:
    """Equal, or both not a number."""
    return bool(type(one) is type(other) and (one == other or (one != one and other != other)))


def _threads() -> tuple[int, int]:
    """(threads that run Python, threads the system knows)."""
    return len(sys._current_frames()), len(os.listdir("/proc/self/task"))  # noqa: PTH208


@contextlib.contextmanager
def observed(module_file: str, model: Any = None) -> Iterator[Seen]:
    """Watch a block: the import of the file under test, or one call of its entry point.

    Costs a few milliseconds, and some microseconds for each tensor operator and launch: not for a
    call that is timed.
    """
    seen = Seen(module_file, model)
    seen._enter()
    try:
        yield seen
    finally:
        seen._leave()


def warm_up() -> None:
    """Do once in the parent of runners what each runner would repeat: deferred imports of torch,
    names to look up."""
    with observed(os.devnull):
        torch.zeros(1)
    know_libraries()


def merged(facts: Iterable[Facts]) -> Facts:
    """What several blocks did, as one.

    Fields:
        launches: by kernel ``count``, ``programs`` (most of one launch), ``file``, ``line``.
        aside: launches on another stream than the caller's.
        operators: by ``namespace.name`` ``calls``, ``bytes`` (most of one call), ``where``.
        made: streams, graphs and the like that were constructed, by name with the first place.
        events: what was done outside of tensors, with the first place.
        settings: names of process-wide settings that changed.
        replaced: functions of torch, Triton, the standard library that are others now.
        threads, native_threads: that were there after and not before.
        kept: bytes of tensors that the modules reach after the block, by the way to them.
        state: plain values in modules that were there already, which the block changed.
        unseen: modules that reach more than was looked through for either.
        packed, unpacked: of the kept tensors, those that are the same whatever the inputs of the
            first call are, and those that are not (``workspaces``).
        steady: what of ``state`` calls changed that were not the first ones.
    """
    whole: dict[str, Any] = {}
    for one in facts:
        for name, value in one.items():
            whole[name] = value if name not in whole else _joined(whole[name], value)
    return cast("Facts", whole)


def exceeds(facts: Facts, known: Facts) -> bool:
    """Whether facts of a version hold anything that those of another one lack, but for kernels of
    the same files: only such can speak against it, and only more facts of the other excuse it."""
    launches = facts.get("launches", {}).values()
    files = {one["file"] for one in known.get("launches", {}).values()}
    if not launches or any(one["file"] not in files or not one["programs"] for one in launches):
        return True
    work = [name for name in facts.get("operators", ()) if not is_plumbing(name)]
    before: Mapping[str, object] = known
    return any(name not in known.get("operators", ()) for name in work) or any(
        _is_more(value, before.get(name)) for name, value in facts.items() if name in _JUDGED
    )


def _is_more(value: Any, known: Any) -> bool:
    if known is _MISSING:
        return True
    if isinstance(value, dict):
        return any(_is_more(one, (known or {}).get(name, _MISSING)) for name, one in value.items())
    if isinstance(value, list):
        return any(one not in (known or ()) for one in value)
    return isinstance(value, int) and value > (known or 0)


def _joined(one: Any, other: Any) -> Any:
    if isinstance(one, dict):
        joined = dict(one)
        for key, value in other.items():
            joined[key] = value if key not in joined else _joined(joined[key], value)
        return joined
    if isinstance(one, list):
        return [*one, *(item for item in other if item not in one)]
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other)
    return one
