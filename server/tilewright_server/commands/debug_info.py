"""``tilewright.debugInfo``: all that helps when something is slow or odd."""

import platform
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

from tilewright import __version__

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


async def debug_info(server: "TilewrightServer", *_: Any) -> dict[str, Any]:
    """Versions, settings, open documents, jobs and the last 50 timings."""
    return {
        "tilewright": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "pygls": metadata.version("pygls"),
        "triton": server.triton,
        "settings": server.settings.model_dump(mode="json"),
        "encoding": str(server.workspace.position_encoding),
        "documents": [
            {"uri": s.uri, "version": s.version, "characters": len(s.text)}
            for s in server.snapshots()
        ],
        "jobs": [job.to_json() for job in server.jobs.all()],
        "timings": server.timings.to_json(),
    }
