"""An idea, the slot of a generation that tries it, and the evaluated text that comes of it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tilewright.evaluation.model import Candidate, Evaluation
from tilewright.knowledge.stages import Stage


class IdeaKind(StrEnum):
    """Where an idea came from."""

    REWRITE = "rewrite"
    LAUNCH = "launch"
    PATTERN = "pattern"
    SCHEDULE = "schedule"
    MEMORY = "memory"
    MODEL = "model"
    BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Idea:
    """What to try on a text.

    Attributes:
        id: the same for equal ideas on one text: "rewrite:hoist_load@kernel:42", "launch:...".
        text: one paragraph for a person or a model.
        expects: facts that should move, such as "bytes_moved-".
        candidate: the text that it gives, where no model has to write it.
    """

    id: str
    text: str
    source: IdeaKind
    stage: Stage | None = None
    expects: tuple[str, ...] = ()
    candidate: Candidate | None = None


class State(StrEnum):
    """Whether a node may be a parent."""

    ALIVE = "alive"
    DEAD = "dead"


@dataclass(frozen=True)
class Node:
    """An evaluated text in the tree of a run.

    Attributes:
        hash: of the text; ``parent``: that of the text it was made from, None for the root.
        slot: of the tree, such as "3.12" for the twelfth of the third generation; "0" for the root.
        depth: steps from the root.
        evaluation: against the parent, or against the root where it was measured again.
        log_speed: natural logarithm of the speed-up over the root; an estimate where ``measured``
            is False.
        half_width: of the interval of ``log_speed``; grows along a chain of contests.
        cell: its behaviour (``axes``).
        may_return: the evidence allows it as a result, before the final measurement.
        measured: False where nothing was timed and ``log_speed`` is a static estimate.
    """

    hash: str
    text: str
    parent: str | None
    idea: Idea | None
    slot: str
    generation: int
    depth: int
    evaluation: Evaluation
    log_speed: float
    half_width: float
    cell: tuple[int, ...]
    state: State
    may_return: bool
    measured: bool = True

    @property
    def alive(self) -> bool:
        return self.state is State.ALIVE


@dataclass(frozen=True)
class Slot:
    """A place of a generation: which parent it works on, with which idea.

    Attributes:
        sample: 0, or the number of a further sample of the same idea.
        hints: sentences for the prompt that asks for the candidate.
    """

    generation: int
    number: int
    parent: Node
    idea: Idea
    sample: int = 0
    hints: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.generation}.{self.number}"


def dump_node(node: Node) -> Mapping[str, Any]:
    """A node as JSON, without its text and its evaluation."""
    return {
        "hash": node.hash,
        "parent": node.parent,
        "idea": node.idea.id if node.idea else None,
        "source": node.idea.source.value if node.idea else None,
        "slot": node.slot,
        "generation": node.generation,
        "depth": node.depth,
        "log_speed": node.log_speed if math.isfinite(node.log_speed) else None,
        "half_width": node.half_width,
        "measured": node.measured,
        "cell": list(node.cell),
        "state": node.state.value,
        "may_return": node.may_return,
    }
