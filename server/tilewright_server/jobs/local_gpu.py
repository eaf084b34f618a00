"""Which chip this machine has, and which it compiles for, asked of the engine."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

logger = logging.getLogger(__name__)

_PATIENCE_S = 60.0


async def local_target(command: Sequence[str], env: Mapping[str, str]) -> str | None:
    """The target of the first device that can time a kernel; None if there is none."""
    try:
        devices = (await _asked((*command, "devices"), env))["devices"]
        targets = [device["target"] for device in devices if device["can_time"]]
        return next((f"{t['backend']}:{t['arch']}" for t in targets if t), None)
    except (ValueError, KeyError, TypeError) as error:
        logger.warning("the engine's list of devices is not one: %s", error)
        return None


async def compiled_here(command: Sequence[str], env: Mapping[str, str]) -> frozenset[str]:
    """The targets that a Triton of this machine compiles for."""
    try:
        tools = (await _asked((*command, "toolchain", "list"), env))["toolchains"]
        found = (one for one in tools if one["part"] == "triton" and one["found"])
        return frozenset(f"{one['backend']}:{arch}" for one in found for arch in one["targets"])
    except (ValueError, KeyError, TypeError) as error:
        logger.warning("the engine's list of toolchains is not one: %s", error)
        return frozenset()


async def _asked(command: Sequence[str], env: Mapping[str, str]) -> Any:
    """What a command of the engine answers as JSON; nothing where it does not answer."""
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    words = (*command, "--format", "json")
    what = " ".join(words[-3:])
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=null, stdout=pipe, stderr=null, env=dict(env), start_new_session=True
        )
    except OSError as error:
        logger.warning("%s cannot be asked: %s", what, error)
        return {}
    try:
        said, _ = await asyncio.wait_for(process.communicate(), _PATIENCE_S)
    except TimeoutError:
        logger.warning("%s took more than %s s", what, _PATIENCE_S)
        return {}
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    return json.loads(said)
