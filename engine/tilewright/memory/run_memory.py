"""The memory of one run: a snapshot of the bank, and over it what the run learned itself."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tilewright.memory.bank import Learned, Snapshot, Use
from tilewright.memory.evidence import LocalEvidence
from tilewright.memory.model import (
    Experience,
    Query,
    Recalled,
    Schedule,
    Transition,
    key_of,
)
from tilewright.memory.pairs import Thresholds, curated
from tilewright.memory.retrieval import Retrieval
from tilewright.memory.schedules import fitting
from tilewright.serialize import dump, load

Record = Callable[[str, Callable[[], Any]], Any]
"""The JSON value of some work by its key, from the run's record where it was done before."""


def unrecorded(key: str, work: Callable[[], Any]) -> Any:
    """Do the work: for runs without a record."""
    del key
    return work()


class RunMemory:
    """Recalls and learns; nothing reaches the bank before the run has finished.

    Two runs at once do not see each other. A run that is resumed sees what it saw, as each
    recall is on its record.

    Args:
        project, kernel: who asks; the kernel's name is the same for all texts of the run.
        record: of the run (``Ledger.once``).
        shared: whether other projects may see the code of what is learned.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        project: str,
        kernel: str,
        run: str = "",
        limits: Thresholds | None = None,
        record: Record = unrecorded,
        *,
        shared: bool = False,
    ) -> None:
        self.evidence = LocalEvidence(dict(snapshot.misses))
        self._snapshot = snapshot
        self._project = project
        self._kernel = kernel
        self._run = run
        self._limits = limits or Thresholds()
        self._record = record
        self._shared = shared
        self._transitions: list[Transition] = []
        self._uses: list[Use] = []
        self._retrieval: tuple[int, Retrieval] | None = None

    def version(self) -> str:
        """The snapshot and what was learned since, as a hash."""
        learned = [one.id for one in self._learned()]
        parts = json.dumps([self._snapshot.number, learned, sorted(self.evidence.hidden)])
        return hashlib.sha256(parts.encode()).hexdigest()[:16]

    def recall(self, query: Query, k: int) -> Sequence[Recalled]:
        """The ``k`` best entries of each outcome; nothing where nothing fits."""
        parts = json.dumps([dump(query), k, self.version()])
        key = f"recall:{hashlib.sha256(parts.encode()).hexdigest()[:32]}"

        def found() -> Any:
            return [dump(one) for one in self._ranked().recall(query, k, self.evidence.hidden)]

        return tuple(load(Recalled, one) for one in self._record(key, found))

    def _ranked(self) -> Retrieval:
        """What ranks all entries; made anew once something was learned."""
        count = len(self._transitions)
        if self._retrieval is None or self._retrieval[0] != count:
            known = (*self._snapshot.experiences, *self._learned())
            self._retrieval = (count, Retrieval(known))
        return self._retrieval[1]

    def _learned(self) -> list[Experience]:
        return curated(self._transitions, self._limits)

    def schedules(self, query: Query) -> Sequence[Schedule]:
        """Schedules of related problems, the one with the largest gain first."""
        key = (
            f"recall:schedules:{hashlib.sha256(json.dumps(dump(query)).encode()).hexdigest()[:32]}"
        )

        def found() -> Any:
            return [dump(one) for one in fitting(self._snapshot.schedules, query)]

        return tuple(load(Schedule, one) for one in self._record(key, found))

    def learn(self, transition: Transition) -> None:
        """Take in what became of a step; the steps have to come in the order of their slots."""
        self._transitions.append(transition)
        if transition.idea is None:
            return
        key = key_of(transition.idea)
        self.evidence.note(key, transition.evaluation, transition.shown)
        speedup = transition.evaluation.speedup
        helped = speedup is not None and speedup.is_faster
        self._uses += [
            Use(entry, self._project, self._kernel, self._run, helped) for entry in transition.shown
        ]

    def learned(self, created: str, schedule: Schedule | None = None) -> Learned:
        """What the bank is to get when the run has finished."""
        pairs = curated(self._transitions, self._limits, created)
        return Learned(
            [replace(one, shared=self._shared) for one in pairs],
            [schedule] if schedule is not None else [],
            self._uses,
        )
