"""The protocol of evaluators: the cascade on a device, a table of verdicts, a landscape."""

from typing import Protocol

from tilewright.evaluation.model import Evaluation


class Judge(Protocol):
    """Says what a text is worth; called from several threads at once."""

    def judge(self, text: str, parent: str, thorough: bool) -> Evaluation:
        """The evaluation of ``text`` with its speed against ``parent``, another text.

        Args:
            thorough: whether every check is made even of what is not faster.
        """
        ...
