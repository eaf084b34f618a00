"""What the files around a document say of it: its project's settings, its problem's spec.

Read off the event loop, and remembered until something says that a file changed.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from tilewright.analysis.model import EntryFacts
from tilewright.problems.model import Problem
from tilewright.targets.model import Target
from tilewright_server.diagnostics import SOURCE
from tilewright_server.fact_keys import forget_stamps, spec_stamp
from tilewright_server.wording import sentence

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fault:
    """A configuration or a spec that cannot be used: which file, which 1-based line, why."""

    path: str
    line: int
    message: str
    until: str = "Until it is fixed, the defaults are used."
    code: str = "configuration"


@dataclass(frozen=True)
class Project:
    """What holds for one file.

    Attributes:
        silenced: issues the project does not want to hear of here.
        target: the chip that it assumes.
        problem: what its spec says; None where there is none, or none that can be used.
        captured: the chips that its captured launches were compiled for.
        triton: (major, minor) that its code is written for.
        fault: why its settings are not in force; the defaults are.
        spec_fault: why its spec is not used.
    """

    silenced: frozenset[str] = frozenset()
    target: Target | None = None
    triton: tuple[int, int] | None = None
    problem: Problem | None = None
    captured: tuple[Target, ...] = ()
    fault: Fault | None = field(default=None, compare=False)
    spec_fault: Fault | None = field(default=None, compare=False)

    @property
    def entry(self) -> EntryFacts | None:
        """What the problem's spec says of the host function."""
        from tilewright.checking.entry import entry_facts

        return None if self.problem is None else entry_facts(self.problem)


_NOWHERE = Project()


class Projects:
    """Projects by file, each with the mark of the spec next to it."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._known: dict[str, tuple[str, Project]] = {}

    async def project_of(self, path: str | None) -> Project:
        """Settings of a file; the defaults for a document that is not on disk."""
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
        """The configurations and specs that cannot be used, each once."""
        projects = [project for _, project in self._known.values()]
        found = (fault for one in projects for fault in (one.fault, one.spec_fault))
        return tuple(dict.fromkeys(fault for fault in found if fault is not None))

    async def read_again(self, paths: Iterable[str]) -> bool:
        """Read what holds for these files anew and forget the others; whether anything changed."""
        forget_stamps()
        before, self._known = self._known, {}
        for path in paths:
            await self.project_of(path)
        return any(before.get(path) != now for path, now in self._known.items())


def read_project(path: Path, has_spec: bool) -> Project:
    """Read the nearest configuration and the spec next to a file."""
    from tilewright.checking import ConfigurationError, configuration_for
    from tilewright.knowledge.base import taxonomy

    problem, wrong = _problem(path) if has_spec else (None, None)
    captured = _captured(path)
    try:
        configuration = configuration_for(path)
    except ConfigurationError as error:
        fault = Fault(error.path or str(path), error.line or 1, error.message)
        return Project(problem=problem, captured=captured, fault=fault, spec_fault=wrong)
    rules = configuration.rules_for(path)
    wanted = frozenset() if configuration.excludes(path) else rules.issues
    silenced = frozenset(taxonomy()) - wanted
    return Project(silenced, rules.target, rules.triton, problem, captured, spec_fault=wrong)


def _problem(path: Path) -> tuple[Problem | None, Fault | None]:
    """What the spec says, or why it cannot be used."""
    from tilewright.problems.loading import problem_or_flaw

    problem, flaw = problem_or_flaw(path)
    if flaw is None:
        return problem, None
    way_out = "Until it is fixed, its kernels are checked without it."
    return None, Fault(flaw.path or str(path), flaw.line or 1, flaw.message, way_out, "spec")


def _captured(path: Path) -> tuple[Target, ...]:
    from tilewright.captures.model import CaptureError
    from tilewright.captures.problem import captured_on

    try:
        return captured_on(path)
    except CaptureError as error:
        # Who compiles the file says so to the person; reading it goes on without them.
        logger.info("no target from captured launches: %s", error)
        return ()


class ProjectFaults:
    """The faults that are shown now."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._shown: frozenset[Fault] = frozenset()

    def show(self, faults: Sequence[Fault]) -> None:
        """Show these and no others; a message for each that is new."""
        now = frozenset(faults)
        for fault in faults:
            if fault not in self._shown:
                where = f"{fault.path}:{fault.line}"
                text = f"Tilewright: {where}: {sentence(fault.message)} {fault.until}"
                warning = types.ShowMessageParams(type=types.MessageType.Warning, message=text)
                self._server.window_show_message(warning)
        for path in {f.path for f in self._shown ^ now}:
            self._publish(path, [f for f in faults if f.path == path])
        self._shown = now

    def _publish(self, path: str, faults: Sequence[Fault]) -> None:
        uri = uris.from_fs_path(path)
        if uri is not None:
            found = [_diagnostic(fault) for fault in faults]
            params = types.PublishDiagnosticsParams(uri=uri, diagnostics=found)
            self._server.text_document_publish_diagnostics(params)


def _diagnostic(fault: Fault) -> types.Diagnostic:
    # The whole line: past its end means its end.
    line = fault.line - 1
    return types.Diagnostic(
        range=types.Range(types.Position(line, 0), types.Position(line, 1000)),
        message=f"{sentence(fault.message)} {fault.until}",
        severity=types.DiagnosticSeverity.Error,
        code=fault.code,
        source=SOURCE,
    )
