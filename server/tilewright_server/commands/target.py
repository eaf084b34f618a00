"""``tilewright.target``: the chip that a document is for, and why. ``tilewright.listTargets``: the
chips to choose from. A choice for one document is the setting ``fileTargets``."""

from typing import TYPE_CHECKING, Any

from tilewright_server.commands.arguments import FileArguments, read_arguments
from tilewright_server.jobs.local import compiled_here
from tilewright_server.jobs.session import environment

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer

_HERE, _COMPILED, _ELSEWHERE = "gpu", "compiles", "none"


async def target_command(server: "TilewrightServer", *arguments: Any) -> dict[str, Any] | None:
    """None for what holds no kernel of a file: nothing of it is compiled."""
    wanted = read_arguments(FileArguments, arguments)
    read = await server.read(wanted.uri)
    if read is None:
        return None
    snapshot, analysis = read
    if snapshot.cell is not None or not analysis.module.kernels:
        return None
    chosen = await server.chip.of(snapshot)
    return {
        "target": str(chosen.target),
        "origin": str(chosen.origin),
        "why": chosen.why,
        "followed": str((await server.chip.of(snapshot, follow=True)).target),
    }


async def list_targets_command(server: "TilewrightServer", *_: Any) -> list[dict[str, Any]]:
    """Every chip, those that are here first; ``here`` says what this machine has for it."""
    from tilewright.hardware import all_chips

    machine = await server.chip.machine()
    trusted = server.settings.trusted
    command, env = server.engine_command, environment(server.settings)
    compiled = await compiled_here(command, env) if trusted else frozenset()
    told = []
    for chip in all_chips():
        known = _COMPILED if chip.id in compiled else _ELSEWHERE
        here = _HERE if chip.id == machine else known
        told.append({"target": chip.id, "label": chip.label, "here": here})
    return sorted(told, key=lambda one: (_HERE, _COMPILED, _ELSEWHERE).index(one["here"]))
