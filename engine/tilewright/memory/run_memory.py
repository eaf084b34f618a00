"""The memory of one run: a snapshot of the bank, and over it what the run learned itself."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tilewright.memory.bank import Learned, Snapshot, Use
from tilewright.memory.evidence import LocalEvidence
from tilewright.memory.model import (
    Experience,
    Outcome,
    Query,
    Recalled,
    Schedule,
    Transition,
    key_of,
)
from tilewright.memory.pairs import Thresholds, curated, newest
from tilewright.memory.retrieval import Retrieval
from tilewright.memory.schedules import fitting, path_to
from tilewright.serialize import dump, load

Record = Callable[[str, Callable[[], Any]], Any]
"""The JSON value of some work by its key, from the run's record where it was done before."""
T = TypeVar("T")


class RunMemory:
    """Recalls and learns; nothing reaches the bank before the run has finished.

    Two runs at once do not see each other. A run that is resumed sees what it saw, as each
    recall is on its record.

    Args:
        project, kernel: who asks; the kernel's name is the same for all texts of the run.
        record: of the run (``Ledger.once``); None: nothing is on record.
        shared: whether other projects may see the code of what is learned.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        project: str,
        kernel: str,
        run: str = "",
        limits: Thresholds | None = None,
        record: Record | None = None,
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
        self._open: list[Transition] = []
        self._closed: list[Experience] = []
        self._shown: dict[str, dict[str, Experience]] = {}
        self._uses: list[Use] = []
        self._retrieval: Retrieval | None = None

    def version(self) -> str:
        """The snapshot and what was learned since, as a hash."""
        learned = [one.id for one in self._learned()]
        parts = json.dumps([self._snapshot.number, learned, sorted(self.evidence.hidden)])
        return hashlib.sha256(parts.encode()).hexdigest()[:16]

    def recall(self, query: Query, k: int) -> Sequence[Recalled]:
        """The ``k`` best entries of each outcome; nothing where nothing fits."""

        def best_entries() -> Sequence[Recalled]:
            return self._ranked().recall(query, k, self.evidence.hidden)

        recalled = self._recorded(
            lambda: f"{query.text}:{k}:{self.version()}", Recalled, best_entries
        )
        # A text is asked about for its prompt and for the weights of its ideas.
        shown = self._shown.setdefault(query.text, {})
        shown |= {one.entry.id: one.entry for one in recalled}
        return recalled

    def schedules(self, query: Query) -> Sequence[Schedule]:
        """Schedules of related problems, the one with the largest gain first."""

        def fitting_schedules() -> Sequence[Schedule]:
            return fitting(self._snapshot.schedules, query)

        return self._recorded(lambda: f"schedules:{query.text}", Schedule, fitting_schedules)

    def _recorded(
        self, name: Callable[[], str], of: type[T], work: Callable[[], Sequence[T]]
    ) -> tuple[T, ...]:
        if self._record is None:
            return tuple(work())
        value = self._record(f"recall:{name()}", lambda: [dump(one) for one in work()])
        return tuple(load(of, one) for one in value)

    def _ranked(self) -> Retrieval:
        """What ranks all entries; made anew once something was learned."""
        if self._retrieval is None:
            self._retrieval = Retrieval((*self._snapshot.experiences, *self._learned()))
        return self._retrieval

    def _learned(self) -> list[Experience]:
        """The pairs so far: those of the generations before, and of the last one."""
        pairs = [*self._closed, *curated(self._open, self._limits)]
        return newest(pairs, self._limits)

    def learn(self, transition: Transition) -> None:
        """Take in what became of a step; the steps have to come in the order of their slots."""
        self._transitions.append(transition)
        if self._open and self._open[-1].source.generation != transition.source.generation:
            self._closed += curated(self._open, self._limits)
            self._open = []
        self._open.append(transition)
        self._retrieval = None
        if transition.idea is None:
            return
        key = key_of(transition.idea)
        shown = [
            name
            for name, entry in self._shown.get(transition.source.kernel, {}).items()
            if entry.key == key and entry.outcome is Outcome.HELPED
        ]
        self.evidence.note(key, transition.evaluation, shown)
        speedup = transition.evaluation.speedup
        if speedup is not None:
            self._uses += [
                Use(entry, self._project, self._kernel, self._run, speedup.is_faster)
                for entry in shown
            ]

    def learned(self, created: str, schedule: Schedule | None = None) -> Learned:
        """What the bank is to get when the run has finished."""
        pairs = curated(self._transitions, self._limits, created)
        return Learned(
            [replace(one, shared=self._shared) for one in pairs],
            [replace(schedule, shared=self._shared)] if schedule is not None else [],
            self._uses,
        )

    def path_to(self, text: str) -> list[Transition]:
        """The steps from the first text to the one of a hash."""
        return path_to(text, self._transitions)
