"""The page of each rule as a file that any editor can open, written when its rule is first shown.

Pages lie in Tilewright's home, in a folder of the version; one that is older than the knowledge
it was made from is written again.
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from tilewright import __version__
from tilewright.errors import InputError
from tilewright.home import home
from tilewright.knowledge.explain import explain
from tilewright.knowledge.files import KnowledgeError, knowledge_root

logger = logging.getLogger(__name__)

_SOURCES = ("taxonomy", "patterns")


class RulePages:
    """Pages by rule; ``None`` as folder where nothing can be kept."""

    def __init__(self) -> None:
        self._written: set[str] = set()
        self._folder: Path | None = None
        self._is_known = False

    @property
    def folder(self) -> Path | None:
        """Where the pages lie; None where Tilewright's home cannot be made."""
        if not self._is_known:
            self._is_known = True
            try:
                self._folder = home() / "pages" / __version__
            except InputError as error:
                logger.warning("no pages of rules: %s", error)
        return self._folder

    @property
    def base(self) -> str | None:
        """The address of the folder."""
        return self.folder.as_uri() if self.folder is not None else None

    def lacking(self, rules: Iterable[str]) -> frozenset[str]:
        """The rules whose pages were not looked at yet."""
        return frozenset(rules) - self._written if self.folder is not None else frozenset()

    def write(self, rules: Iterable[str]) -> None:
        """Write the pages of rules; a rule without a page is left out."""
        folder = self.folder
        if folder is None:
            return
        newest = _newest()
        for rule in rules:
            self._written.add(rule)
            try:
                _write(folder / f"{rule}.md", rule, newest)
            except KnowledgeError:
                continue  # Not a rule: the code of a notice.
            except OSError as error:
                logger.warning("the page of %s cannot be written: %s", rule, error)


def _write(path: Path, rule: str, newest: float) -> None:
    if path.exists() and path.stat().st_mtime >= newest:
        return
    text = explain(rule)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _newest() -> float:
    """When the knowledge that pages are made from changed last."""
    files = (f for name in _SOURCES for f in (knowledge_root() / name).glob("*.yaml"))
    return max((file.stat().st_mtime for file in files), default=0.0)
