"""Actions on the kernel under the cursor: optimize it, and give it what it is to be run on."""

from collections.abc import Mapping

from lsprotocol import types

from tilewright.source.model import Kernel
from tilewright_server import wording
from tilewright_server.analysis_cache import Analysis
from tilewright_server.capabilities import INPUTS_KIND, OPTIMIZE_KIND
from tilewright_server.commands.names import ADD_SPEC, CAPTURE, OPTIMIZE
from tilewright_server.projects import Project
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot


async def kernel_actions(
    server: TilewrightServer, snapshot: Snapshot, analysis: Analysis, place: types.Range
) -> list[types.CodeAction]:
    """Those of a range; each is a command, since none is an edit of the document."""
    kernel = analysis.kernel_near(snapshot.from_lsp(place))
    if kernel is None:
        return []
    project = await server.project(snapshot)
    found = []
    if server.settings.trusted:
        offered = server.chip.offered(snapshot, analysis, project)
        found += [_optimization(snapshot, kernel, target) for target in offered]
    return [*found, *_inputs(server, snapshot, kernel, project)]


def _optimization(snapshot: Snapshot, kernel: Kernel, target: str) -> types.CodeAction:
    subject = {"uri": snapshot.uri, "version": snapshot.version}
    return _command(
        f"Optimize for {wording.target_label(target)}",
        OPTIMIZE_KIND,
        OPTIMIZE,
        {**subject, "target": target, "kernel": kernel.name},
    )


def _inputs(
    server: TilewrightServer, snapshot: Snapshot, kernel: Kernel, project: Project
) -> list[types.CodeAction]:
    """What a file without a spec lacks: a spec, or launches that were captured."""
    if snapshot.path is None or project.problem is not None or project.spec_fault is not None:
        return []
    subject = {"uri": snapshot.uri}
    found = [
        _command("Add a spec", INPUTS_KIND, ADD_SPEC, {**subject, "kernel": kernel.name}),
    ]
    if server.settings.trusted:
        title = "Capture launches again" if project.captured else "Capture launches"
        found.append(_command(title, INPUTS_KIND, CAPTURE, subject))
    return found


def _command(title: str, kind: str, name: str, argument: Mapping[str, object]) -> types.CodeAction:
    command = types.Command(title=title, command=name, arguments=[argument])
    return types.CodeAction(title=title, kind=kind, command=command)
