"""The protocol of behaviours: in which cell a text lies, and how an idea would move it."""

from collections.abc import Sequence
from typing import Protocol

from tilewright.evaluation.model import Evaluation
from tilewright.search.node import Idea, Node


class Behaviour(Protocol):
    """Says statically how a text works, not how fast it is."""

    def cell(self, text: str, evaluation: Evaluation) -> tuple[int, ...]:
        """The cell of an evaluated text."""
        ...

    def change(self, node: Node, idea: Idea) -> Sequence[int] | None:
        """How an idea would move a node along each axis; None where that is not known."""
        ...

    def hints(self, direction: Sequence[float]) -> tuple[str, ...]:
        """A direction that promises gains, in sentences for the author of a candidate."""
        ...
