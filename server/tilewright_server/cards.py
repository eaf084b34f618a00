"""The two parts of a card in a hover."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """One subject of a hover.

    Attributes:
        brief: what is read first, a few lines.
        details: what stands below the briefs of all cards; empty for none.
    """

    brief: str
    details: str = ""
