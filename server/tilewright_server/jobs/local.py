"""Which chip this machine has, asked of the engine once."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping, Sequence

logger = logging.getLogger(__name__)

_PATIENCE_S = 60.0


async def local_target(command: Sequence[str], env: Mapping[str, str]) -> str | None:
    """The target of the first device that can time a kernel; None if there is none."""
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    arguments = (*command, "devices", "--format", "json")
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments, stdin=null, stdout=pipe, stderr=null, env=dict(env), start_new_session=True
        )
    except OSError as error:
        logger.warning("devices cannot be listed: %s", error)
        return None
    try:
        said, _ = await asyncio.wait_for(process.communicate(), _PATIENCE_S)
    except TimeoutError:
        logger.warning("listing devices took more than %s s", _PATIENCE_S)
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    return _first_target(said)


def _first_target(said: bytes) -> str | None:
    try:
        devices = json.loads(said)["devices"]
        targets = [device["target"] for device in devices if device["can_time"]]
        return next((f"{t['backend']}:{t['arch']}" for t in targets if t), None)
    except (ValueError, KeyError, TypeError) as error:
        logger.warning("the engine's list of devices is not one: %s", error)
        return None
