"""Which Triton the user's interpreter has, from its metadata; nothing of it is imported."""

import asyncio
import contextlib
import re
from importlib import metadata

_ASK = "from importlib.metadata import version; print(version('triton'))"
_PATIENCE_S = 10.0


async def triton_version(python: str | None) -> tuple[int, int] | None:
    """(major, minor) of Triton in an interpreter; in this one if none is named; None if unknown."""
    if python is None:
        try:
            return _parse(metadata.version("triton"))
        except metadata.PackageNotFoundError:
            return None
    return _parse(await _ask(python))


async def _ask(python: str) -> str:
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            python, "-I", "-c", _ASK, stdin=null, stdout=pipe, stderr=null
        )
    except OSError:
        return ""
    try:
        said, _ = await asyncio.wait_for(process.communicate(), _PATIENCE_S)
    except TimeoutError:
        return ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    return said.decode(errors="replace")


def _parse(text: str) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", text.strip())
    return (int(found[1]), int(found[2])) if found else None
