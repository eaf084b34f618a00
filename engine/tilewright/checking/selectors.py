"""Which issues a list such as ``["autotuning", "nki_*", "missing_tma"]`` means."""

from collections.abc import Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase

from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.stages import Stage

ALL = "all"


class UnknownSelectorError(ValueError):
    """A selector that means no issue; ``selector`` is the text that was given."""

    def __init__(self, selector: str) -> None:
        self.selector = selector
        near = get_close_matches(selector, [*taxonomy(), *Stage, ALL], n=1)
        hint = f"; did you mean {near[0]}?" if near else "; `tilewright explain` lists them"
        super().__init__(f"no issue or stage is called {selector}{hint}")


def issues_meant(selectors: Iterable[str]) -> frozenset[str]:
    """Issue ids that selectors name: an id, a stage, a pattern such as ``nki_*``, or ``all``.

    Raises:
        UnknownSelectorError: one means no issue at all.
    """
    return frozenset(issue for selector in selectors for issue in _meant(selector))


def _meant(selector: str) -> frozenset[str]:
    known = taxonomy()
    if selector == ALL:
        return frozenset(known)
    found = frozenset(
        issue.id
        for issue in known.values()
        if selector == issue.stage.value or fnmatchcase(issue.id, selector)
    )
    if not found:
        raise UnknownSelectorError(selector)
    return found
