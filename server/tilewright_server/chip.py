"""Which chip a document is for, and which chips there are to choose from."""

import asyncio

from tilewright.checking.target import Around, ChosenTarget, Origin, chosen_target
from tilewright.targets.registry import neuron_targets
from tilewright_server.analysis_cache import Parsed
from tilewright_server.context import ServerContext
from tilewright_server.jobs.engine_job import environment
from tilewright_server.jobs.local_gpu import local_target
from tilewright_server.projects import Project
from tilewright_server.settings import split_target
from tilewright_server.snapshot import Snapshot

_SETTING = "the setting tilewright.target"
_PROJECTS = "the project's [tool.tilewright]"
_CHOSEN = "chosen for this file"


class ChipChoice:
    """Chooses by what a person chose, the text, the settings and this machine, asked once."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._asked: asyncio.Task[str | None] | None = None

    def now(
        self, snapshot: Snapshot, parsed: Parsed, project: Project, *, follow: bool = False
    ) -> ChosenTarget:
        """The chip by what is known at this moment; this machine may not have answered yet.

        Args:
            follow: whatever a person chose for this document.
        """
        settings = self._server.settings_of(snapshot.uri)
        picked = None if follow else settings.file_targets.get(snapshot.uri)
        named = [(split_target(settings.target), _SETTING)] if settings.target else []
        named += [(project.target, _PROJECTS)] if project.target else []
        around = Around(
            project.problem,
            project.captured,
            tuple(named),
            split_target(here) if (here := self._known()) else None,
            split_target(settings.default_target),
            tuple(map(split_target, settings.targets)),
        )
        asked = (split_target(picked), _CHOSEN) if picked else None
        return chosen_target(parsed.device_names, around, asked)

    async def target_of(self, snapshot: Snapshot, *, follow: bool = False) -> ChosenTarget:
        """The chip; this machine is asked where its answer can matter."""
        server, settings = self._server, self._server.settings_of(snapshot.uri)
        project = await server.project(snapshot)
        picked = snapshot.uri in settings.file_targets and not follow
        if not (picked or settings.target or project.target):
            await self.machine()
        return self.now(snapshot, await server.parse(snapshot), project, follow=follow)

    def offered(self, snapshot: Snapshot, parsed: Parsed, project: Project) -> tuple[str, ...]:
        """The chips to optimize for: the document's own first, where something names it."""
        chosen = self.now(snapshot, parsed, project)
        if chosen.target is not None and chosen.target.backend == "neuron":
            return tuple(dict.fromkeys(map(str, (chosen.target, *neuron_targets()))))
        own = () if chosen.origin is Origin.DEFAULT else (str(chosen.target),)
        return tuple(dict.fromkeys((*own, *self._server.settings_of(snapshot.uri).targets)))

    async def machine(self) -> str | None:
        """This machine's chip; it is not asked where kernels run in the interpreter anyway."""
        server, settings = self._server, self._server.settings
        if settings.device == "interpreter" or not settings.trusted:
            return None
        if self._asked is None:
            ask = local_target(server.engine_command, environment(settings))
            self._asked = asyncio.get_running_loop().create_task(ask)
            self._asked.add_done_callback(self._answered)
        return await asyncio.shield(self._asked)

    def forget_machine(self) -> None:
        """Ask again at the next need: another interpreter may see other devices."""
        self._asked = None

    def _known(self) -> str | None:
        """This machine's chip, if it was asked and has answered."""
        done = self._asked is not None and self._asked.done() and not self._asked.cancelled()
        return self._asked.result() if done and self._asked else None

    def _answered(self, task: "asyncio.Task[str | None]") -> None:
        """Findings may be for another chip from now on."""
        if not task.cancelled() and task.exception() is None and task.result() is not None:
            self._server.revision += 1
            self._server.refresh()
