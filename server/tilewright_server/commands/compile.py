"""``tilewright.compile``: compile a document's kernels now; answers ``{"job": id}`` at once."""

from typing import TYPE_CHECKING, Any

from tilewright_server.commands.arguments import ProfileArguments, read_arguments
from tilewright_server.commands.start import refuse, why_not
from tilewright_server.compiling import compilable, compile_targets, start_inspecting
from tilewright_server.jobs.inspect import stop_inspecting

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


async def compile_command(server: "TilewrightServer", *arguments: Any) -> dict[str, Any]:
    """Also where all is known already: what the document imports may have changed."""
    wanted = read_arguments(ProfileArguments, arguments)
    snapshot = server.snapshot(wanted.uri)
    reason = why_not(server, snapshot)
    if reason is not None or snapshot is None:
        return refuse(server, str(reason))
    if not compilable(await server.analyze(snapshot)):
        return refuse(server, "there is no Triton kernel in this file")
    targets = await compile_targets(server, snapshot)
    stop_inspecting(server, wanted.uri)
    chosen = (wanted.target,) if wanted.target else targets
    return {"job": start_inspecting(server, snapshot, chosen, quiet=False).id}
