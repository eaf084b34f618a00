"""The commands that only answer a question: targets, certificates, the state of the server."""

import platform
import sys
from importlib import metadata
from typing import Any

from tilewright import __version__
from tilewright_server.commands.arguments import (
    FileArguments,
    RunTextArguments,
    read_arguments,
)
from tilewright_server.consent import model_use
from tilewright_server.server import TilewrightServer
from tilewright_server.target_figures import target_figures


async def target_command(server: TilewrightServer, *arguments: Any) -> dict[str, Any] | None:
    """The chip a document is for, and why; None where no kernel of a file is compiled.

    ``figures`` has what is known of the kernels on each chip.
    """
    wanted = read_arguments(FileArguments, arguments)
    read = await server.read(wanted.uri)
    if read is None:
        return None
    snapshot, analysis = read
    if snapshot.cell is not None or not analysis.module.kernels:
        return None
    chosen = await server.chip.target_of(snapshot)
    return {
        "target": str(chosen.target),
        "origin": str(chosen.origin),
        "why": chosen.why,
        "followed": str((await server.chip.target_of(snapshot, follow=True)).target),
        "figures": target_figures(
            [
                (
                    kernel.name,
                    server.facts.compiled(analysis, snapshot, kernel.name),
                    server.facts.profiled(analysis, snapshot, kernel.name),
                )
                for kernel in analysis.module.entry_kernels()
            ]
        ),
    }


async def models_command(server: TilewrightServer, *arguments: Any) -> dict[str, Any] | None:
    """The models of the settings, their endpoint, and where its key comes from."""
    wanted = read_arguments(FileArguments, arguments) if arguments else None
    use = await model_use(server, server.snapshot(wanted.uri) if wanted else None)
    if use is None:
        return None
    return {
        "names": list(use.settings.names),
        "endpoint": use.endpoint,
        "places": [list(place) for place in use.places],
        "limits": use.limits,
        "key": server.model_keys.origin(use.endpoint),
    }


async def list_runs(server: TilewrightServer, *_: Any) -> list[dict[str, Any]]:
    """The optimizations of this window, each with its tree of candidates, the oldest first."""
    return [record.view.to_json() for record in server.runs.all()]


async def run_text(server: TilewrightServer, *arguments: Any) -> dict[str, Any] | None:
    """A candidate's whole text; None for a run or a candidate that is not known here."""
    wanted = read_arguments(RunTextArguments, arguments)
    record = server.runs.get(wanted.run)
    if record is None:
        return None
    text = record.sent if wanted.candidate is None else record.text(wanted.candidate)
    return None if text is None else {"uri": record.head.uri, "text": text}


async def debug_info(server: TilewrightServer, *_: Any) -> dict[str, Any]:
    """Versions, settings, open documents, jobs and the last 50 timings."""
    return {
        "tilewright": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "pygls": metadata.version("pygls"),
        "triton": server.triton,
        "settings": server.settings.model_dump(mode="json"),
        "models": await models_command(server),
        "encoding": str(server.workspace.position_encoding),
        "documents": [
            {
                "uri": s.uri,
                "version": s.version,
                "characters": len(s.text),
                "hash": s.hash,
            }
            for s in server.snapshots()
        ],
        "engine": {"pid": server.host.pid},
        "jobs": [job.to_json() for job in server.jobs.all()],
        "timings": server.timings.to_json(),
    }
