"""What the cascade found, in words for the next try."""

from tilewright.evaluation.model import Evaluation

MOST_CHARACTERS = 1200


def words(evaluation: Evaluation, text: str, before: Evaluation | None = None) -> str:
    """What became of the candidate ``text``, in at most ``MOST_CHARACTERS``.

    ``before``: the evaluation of the text that it was made from, to compare resources with.
    """
    raise NotImplementedError
