"""The two versions under one roof: copies of the inputs they share, and what their calls gave."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..inputs import tensor_files
from . import resampled_inputs
from .clocks import AnyClock

_MEMORY_SHARE = 0.3
_CACHE_FACTOR = 3


class InputSets:
    """Copies of the inputs with contents and addresses of their own."""

    def __init__(self, pristine: Mapping[str, Any], plan: Mapping[str, str], count: int) -> None:
        self.pristine = pristine
        self.plan = plan
        self.sets = [
            {name: tensor_files.own(value) for name, value in pristine.items()}
            for _ in range(count)
        ]
        self.turn = 0

    @property
    def changes(self) -> bool:
        """Whether another turn brings other contents."""
        return any(
            self.plan.get(name, resampled_inputs.KEEP) != resampled_inputs.KEEP
            for name, value in self.pristine.items()
            if isinstance(value, torch.Tensor)
        )

    def refresh(self, turn: int) -> None:
        """The contents of a turn, in every set."""
        self.turn = turn
        for which in range(len(self.sets)):
            self._fill(which, range_of=None)

    def restore(self, count: int, first: int, changed: frozenset[str]) -> None:
        """Undo what calls changed in place, in ``count`` sets from ``first`` on."""
        for step in range(count):
            self._fill((first + step) % len(self.sets), range_of=changed)

    def fed(self, which: int, name: str) -> Any:
        """What one input of a set was before a call changed it, in a tensor of its own."""
        turn = resampled_inputs.turn_of(self.turn, which)
        return resampled_inputs.refreshed({name: self.pristine[name]}, turn, self.plan)[name]

    def _fill(self, which: int, range_of: frozenset[str] | None) -> None:
        turn = resampled_inputs.turn_of(self.turn, which)
        for name, source in self.pristine.items():
            how = self.plan.get(name, resampled_inputs.KEEP)
            wanted = how != resampled_inputs.KEEP if range_of is None else name in range_of
            if wanted and isinstance(source, torch.Tensor):
                resampled_inputs.refresh_into(self.sets[which][name], source, turn, name, how)


class Side:
    """One version: called on one set after another, it keeps what its last calls returned."""

    def __init__(self, function: Callable[..., Any], inputs: InputSets, keeps: int) -> None:
        self._calls = [_bound(function, tuple(values.values())) for values in inputs.sets]
        self.kept: deque[tuple[int, Any]] = deque(maxlen=keeps)
        self.count = 0

    def __call__(self) -> None:
        at = self.count
        self.count = at + 1
        self.kept.append((at, self._calls[at % len(self._calls)]()))

    def dropping(self) -> None:
        """Call on the next set and keep nothing."""
        at = self.count
        self.count = at + 1
        self._calls[at % len(self._calls)]()

    def restart(self) -> None:
        """Count calls from 0 again and let go of what they returned."""
        self.kept.clear()
        self.count = 0

    def through_graphs(self, clock: AnyClock) -> None:
        """From now on replay a graph of each call; raises RuntimeError where one cannot be made."""
        self._calls = [_replayed(clock, call) for call in self._calls]


def sets_wanted(clock: AnyClock, pristine: Mapping[str, Any], repeats: int) -> int:
    """How many sets: one for each call in a row, more than the cache holds, as memory allows."""
    size = max(bytes_of(pristine), 1)
    room = int(clock.free_bytes() * _MEMORY_SHARE / size)
    wanted = max(repeats, min(4, -(-_CACHE_FACTOR * clock.cache_bytes // size)), 2)
    return max(1, min(wanted, room, resampled_inputs.MAX_SETS))


def keeps_wanted(clock: AnyClock, returned: Any, calls: int) -> int:
    """How many calls' outputs to keep: all of a block's, as memory for both versions allows."""
    size = max(bytes_of(tensor_files.flatten(returned)[0]), 1)
    return max(1, min(calls, int(clock.free_bytes() * _MEMORY_SHARE / 2 / size)))


def bytes_of(values: Mapping[str, Any]) -> int:
    """Bytes of the storages of all tensors."""
    return sum(
        value.untyped_storage().nbytes()
        for value in values.values()
        if isinstance(value, torch.Tensor)
    )


def _bound(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[[], Any]:
    return lambda: function(*arguments)


def _replayed(clock: AnyClock, call: Callable[[], Any]) -> Callable[[], Any]:
    replay, returned = clock.graph(call)

    def run() -> Any:
        replay()
        return returned

    return run
