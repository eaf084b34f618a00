"""What both job commands check before they start."""

from typing import TYPE_CHECKING, Any

from tilewright_server.snapshot import Snapshot

if TYPE_CHECKING:
    from tilewright_server.server import TilewrightServer


def refuse(server: "TilewrightServer", reason: str) -> dict[str, Any]:
    """The answer where no job was started; the person sees why."""
    server.warn(f"Tilewright: {reason}")
    return {"job": None, "reason": reason}


def why_not(server: "TilewrightServer", snapshot: Snapshot | None) -> str | None:
    """Why no engine may run on a document; None if one may."""
    if not server.settings.trusted:
        return "this workspace is not trusted, so none of its code is run"
    if snapshot is None:
        return "the document is not open"
    if snapshot.cell is not None:
        return "kernels of a notebook are read and not run; move them to a Python file"
    if snapshot.path is None:
        return "save the file first: the engine looks for a spec next to it"
    return None
