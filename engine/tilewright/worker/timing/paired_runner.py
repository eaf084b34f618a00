"""The runner's side of timing: run two versions in one process by the coordinator's messages."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..inputs import tensor_files
from ..memcheck import poison
from ..protocol import JobError
from . import resampled_inputs
from .calibration import pace_of, repeats_for
from .clocks import AnyClock, clock_for
from .sampling import sampled
from .versions import InputSets, Side, bytes_of, keeps_wanted, sets_wanted

Function = Callable[..., Any]

_MAX_CALLS = 64
_WARM_BATCH_S = 0.004
_FLAT = 0.01
_FLAT_BATCHES = 3

_perf_counter = time.perf_counter


class Contest:
    """Original ("A") and candidate ("B") on the same inputs; answers the coordinator's messages.

    ``load``: makes both anew, (original, candidate); used at once where there are no ``versions``,
    and again for each ``time.prepare`` with ``reload``. Without a candidate "B" is the original.
    """

    def __init__(
        self,
        device: str,
        original: Function | None,
        candidate: Function | None,
        inputs: Mapping[str, Any],
        *,
        clock: AnyClock | None = None,
        load: Callable[[], tuple[Function, Function]] | None = None,
    ) -> None:
        self._device = device
        self._clock = clock
        self._load = load
        self._functions = None if original is None else (original, candidate or original)
        self._pristine = inputs
        self._inputs: InputSets | None = None
        self._sides: dict[str, Side] = {}
        self._changed: frozenset[str] = frozenset()
        self._host_s = 0.0
        self._repeats = 1

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one message; raises JobError for one that cannot be done."""
        answers = {
            "time.prepare": self._prepare,
            "time.warm": self._warm,
            "time.fresh": self._fresh,
            "time.block": self._block,
            "time.retained": self._retained,
            "time.batch": self._batch,
            "time.end": self._end,
        }
        what = str(message.get("do"))
        if what not in answers:
            raise JobError(f"a contest has no operation {what!r}; it has {', '.join(answers)}")
        if what != "time.prepare" and not self._sides:
            raise JobError(f"{what} before time.prepare")
        if self._clock is None:
            self._clock = clock_for(self._device, message.get("flush_bytes"))
        with torch.no_grad(), self._clock.here():
            return answers[what](message)

    def _prepare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        clock = self._ready
        functions = self._versions(bool(message.get("reload")))
        plan = message.get("plan") or resampled_inputs.plan_for(self._pristine)
        first = InputSets(self._pristine, plan, 1)
        returned = self._first_calls(functions, first)
        arguments = tuple(first.sets[0].values())
        paces = {
            name: pace_of(clock, function, arguments)
            for name, function in zip("AB", functions, strict=True)
        }
        self._host_s = max(pace.host_us for pace in paces.values()) / 1e6
        slowest = max(pace.rough_us for pace in paces.values())
        self._repeats = int(message.get("repeats") or repeats_for(slowest))
        count = sets_wanted(clock, self._pristine, self._repeats)
        if self._changed:
            self._repeats = min(self._repeats, count)
        # A graph writes its outputs where it wrote them before: one call a set is still there.
        most = min(count, _MAX_CALLS) if message.get("graphs") else _MAX_CALLS
        keeps = keeps_wanted(clock, returned, most)
        output_bytes = bytes_of(tensor_files.flatten(returned)[0])
        del first, returned, arguments
        self._inputs = InputSets(self._pristine, plan, count)
        self._sides = {
            name: Side(function, self._inputs, keeps)
            for name, function in zip("AB", functions, strict=True)
        }
        if message.get("graphs"):
            self._graph()
        return {
            "device": clock.device_name,
            "driver": clock.driver,
            "clock_note": clock.note,
            "repeats": self._repeats,
            "sets": count,
            "keeps": keeps,
            "output_bytes": output_bytes,
            "in_place": sorted(self._changed),
            "host_us": {name: pace.host_us for name, pace in paces.items()},
            "rough_us": {name: pace.rough_us for name, pace in paces.items()},
            "plan": plan,
            "not_refreshed": [name for name, how in plan.items() if how == resampled_inputs.KEEP],
        }

    def _versions(self, again: bool) -> tuple[Function, Function]:
        if self._functions is None or again:
            if self._load is None:
                raise JobError("this contest cannot load its versions again")
            self._functions = self._load()
        return self._functions

    def _first_calls(self, functions: tuple[Function, Function], inputs: InputSets) -> Any:
        """Call both once; notes the inputs that either of them changes."""
        changed: set[str] = set()
        returned = None
        for function in functions:
            inputs.restore(1, 0, frozenset(self._pristine))
            values = inputs.sets[0]
            returned = function(*values.values())
            self._ready.synchronize()
            changed |= {name for name in values if not _same(inputs.fed(0, name), values[name])}
        self._changed = frozenset(changed)
        return returned

    def _graph(self) -> None:
        try:
            for side in self._sides.values():
                side.through_graphs(self._ready)
        except RuntimeError as error:
            reason = " ".join(str(error).split())[:200]
            raise JobError(f"a call could not be made a graph: {reason}") from error

    def _warm(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Run both until times stop changing: the last batches' medians within 1 % of another."""
        began = _perf_counter()
        limit, order = float(message["limit_s"]), str(message.get("order", "ABBA"))
        medians: list[float] = []
        while True:
            batch: list[float] = []
            started = _perf_counter()
            while not batch or _perf_counter() - started < _WARM_BATCH_S:
                batch += self._run(order).us
                self._restart()
            medians.append(statistics.median(batch))
            last = medians[-_FLAT_BATCHES:]
            flat = len(last) == _FLAT_BATCHES and max(last) <= min(last) * (1 + _FLAT)
            seconds = _perf_counter() - began
            if flat or seconds > limit:
                return {"seconds": seconds, "flat": flat}

    def _fresh(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._restart()
        self._sets.refresh(int(message["turn"]))
        self._ready.synchronize()
        if not self._sets.changes:
            # Else a result that is let go of comes back as memory that holds the very next one.
            poison.free_memory(self._device)
        return {"sets": len(self._sets.sets)}

    def _block(self, message: Mapping[str, Any]) -> dict[str, Any]:
        order = str(message["order"])
        self._restart()
        laps = self._run(order)
        return {
            "us": laps.us,
            "gaps_us": laps.gaps_us,
            "span_us": laps.span_us,
            "wall_us": laps.wall_us,
            "kept": self._kept_outputs(order),
        }

    def _run(self, order: str) -> Any:
        sides = [self._sides[letter] for letter in order]
        before = self._restoring(order) if self._changed else None
        return self._ready.laps(sides, self._repeats, self._host_s, before)

    def _restoring(self, order: str) -> Callable[[], None]:
        """What puts the inputs back that the next calls of a block will change."""
        upcoming = iter(order)

        def restore() -> None:
            side = self._sides[next(upcoming)]
            first = side.count % len(self._sets.sets)
            self._sets.restore(self._repeats, first, self._changed)

        return restore

    def _kept_outputs(self, order: str) -> list[int]:
        """Calls of B whose outputs are still there: of those that change inputs, the last few."""
        kept = [at for at, _ in self._sides["B"].kept]
        if not self._changed:
            return kept
        return kept[-self._repeats :] if order.endswith("B") else []

    def _retained(self, message: Mapping[str, Any]) -> dict[str, Any]:
        wanted = int(message["call"])
        found = [value for at, value in self._sides["B"].kept if at == wanted]
        if not found:
            raise JobError(f"the outputs of call {wanted} are not kept")
        which = wanted % len(self._sets.sets)
        leaves, tree = tensor_files.flatten(found[0])
        changed = {name: self._sets.sets[which][name] for name in sorted(self._changed)}
        if (seed := message.get("sample")) is not None:
            leaves = {name: sampled(value, seed) for name, value in leaves.items()}
            changed = {name: sampled(value, seed) for name, value in changed.items()}
        out = str(message["out"])
        saved = [
            *tensor_files.save(leaves, out, "timed"),
            *tensor_files.save(changed, out, "changed"),
        ]
        return {"outputs": saved, "output_tree": tree}

    def _batch(self, message: Mapping[str, Any]) -> dict[str, Any]:
        side, calls = self._sides[str(message["which"])], int(message["calls"])
        delay = None
        if message.get("delayed"):
            delay = self._host_s * int(message.get("as_for", calls))
        self._restart()
        stretch = self._ready.stretch(side.dropping, calls, delay)
        self._restart()
        return {"event_us": stretch.event_us, "wall_us": stretch.wall_us, "calls": calls}

    def _end(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._sides, self._inputs = {}, None
        return {}

    def _restart(self) -> None:
        for side in self._sides.values():
            side.restart()

    @property
    def _ready(self) -> AnyClock:
        assert self._clock is not None
        return self._clock

    @property
    def _sets(self) -> InputSets:
        assert self._inputs is not None
        return self._inputs


def _same(one: Any, other: Any) -> bool:
    if not isinstance(one, torch.Tensor):
        return True
    flat = [value.contiguous().reshape(-1).view(torch.uint8) for value in (one, other)]
    return torch.equal(*flat)
