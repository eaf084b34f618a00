"""What the files around a document say of it: its project's settings, its problem's spec.

Read off the event loop, and remembered until something says that a file changed.
"""

import asyncio
import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.analysis.model import EntryFacts
from tilewright.errors import InputError
from tilewright.targets.model import Target
from tilewright_server.facts import spec_stamp

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fault:
    """A configuration that cannot be used: which file, which 1-based line, why."""

    path: str
    line: int
    message: str


@dataclass(frozen=True)
class Project:
    """What holds for one file.

    Attributes:
        silenced: issues the project does not want to hear of here.
        target: the chip that it assumes.
        triton: (major, minor) that its code is written for.
        entry: what the problem's spec says of the host function.
        fault: why its settings are not in force; the defaults are.
    """

    silenced: frozenset[str] = frozenset()
    target: Target | None = None
    triton: tuple[int, int] | None = None
    entry: EntryFacts | None = None
    fault: Fault | None = field(default=None, compare=False)


_NOWHERE = Project()


class Projects:
    """Projects by file, each with the mark of the spec beside it."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._known: dict[str, tuple[str, Project]] = {}

    async def of(self, path: str | None) -> Project:
        """What holds for a file; the defaults for a document that is nowhere on disk."""
        if path is None:
            return _NOWHERE
        stamp = spec_stamp(path)
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        loop = asyncio.get_running_loop()
        project = await loop.run_in_executor(self._pool, read_project, Path(path), bool(stamp))
        self._known[path] = (stamp, project)
        return project

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The configurations that cannot be used, each once."""
        found = (project.fault for _, project in self._known.values())
        return tuple(dict.fromkeys(fault for fault in found if fault is not None))

    async def read_again(self, paths: Iterable[str]) -> bool:
        """Read what holds for these files anew and forget the others; whether anything changed."""
        before, self._known = self._known, {}
        for path in paths:
            await self.of(path)
        return any(before.get(path) != now for path, now in self._known.items())


def read_project(path: Path, has_spec: bool) -> Project:
    """Read the nearest configuration and the spec beside a file."""
    from tilewright.checking import ConfigurationError, configuration_for
    from tilewright.knowledge import taxonomy

    entry = _entry(path) if has_spec else None
    try:
        configuration = configuration_for(path)
    except ConfigurationError as error:
        fault = Fault(error.path or str(path), error.line or 1, error.message)
        return Project(entry=entry, fault=fault)
    rules = configuration.rules_for(path)
    wanted = frozenset() if configuration.excludes(path) else rules.issues
    return Project(frozenset(taxonomy()) - wanted, rules.target, rules.triton, entry)


def _entry(path: Path) -> EntryFacts | None:
    from tilewright.checking.entry import entry_facts
    from tilewright.problems import find_problem

    try:
        problem = find_problem(path)
    except InputError as error:
        # A profile says so to the person; reading the source goes on without it.
        logger.info("no facts from the spec: %s", error)
        return None
    return None if problem is None else entry_facts(problem)
