"""Which chip this machine has, and which it compiles for, asked of the engine."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright_server.jobs.engine_host import launched

logger = logging.getLogger(__name__)

_PATIENCE_S = 60.0


async def local_target(command: Sequence[str], env: Mapping[str, str]) -> str | None:
    """The target of the first device that can time a kernel; None if there is none."""
    try:
        devices = (await ask_engine((*command, "devices"), env))["devices"]
        targets = [device["target"] for device in devices if device["can_time"]]
        return next((f"{t['backend']}:{t['arch']}" for t in targets if t), None)
    except (ValueError, KeyError, TypeError) as error:
        logger.warning("the engine's list of devices is not one: %s", error)
        return None


@dataclass(frozen=True)
class Toolchains:
    """What this machine compiles for.

    Attributes:
        compiled: targets that a Triton of this machine compiles for.
        missing: of each backend without one, what to do about it.
    """

    compiled: frozenset[str] = frozenset()
    missing: Mapping[str, str] = field(default_factory=dict)


async def toolchains_here(command: Sequence[str], env: Mapping[str, str]) -> Toolchains:
    """The compilers of this machine; none where the engine does not answer."""
    try:
        tools = (await ask_engine((*command, "toolchain", "list"), env))["toolchains"]
        tritons = [one for one in tools if one["part"] == "triton"]
        found = (one for one in tritons if one["found"])
        return Toolchains(
            frozenset(f"{one['backend']}:{arch}" for one in found for arch in one["targets"]),
            {one["backend"]: str(one.get("missing") or "") for one in tritons if not one["found"]},
        )
    except (ValueError, KeyError, TypeError) as error:
        logger.warning("the engine's list of toolchains is not one: %s", error)
        return Toolchains()


async def device_ids(command: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """The devices that kernels can run on: "cuda:0", "interpreter", "neuron-sim"."""
    try:
        devices = (await ask_engine((*command, "devices"), env))["devices"]
        return tuple(str(device["id"]) for device in devices if device.get("can_run", True))
    except (ValueError, KeyError, TypeError) as error:
        logger.warning("the engine's list of devices is not one: %s", error)
        return ()


async def ask_engine(
    command: Sequence[str], env: Mapping[str, str], patience_s: float = _PATIENCE_S
) -> Any:
    """What a command of the engine answers as JSON; an empty mapping where it does not answer.

    Raises:
        ValueError: the answer is not JSON.
    """
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    words = (*command, "--format", "json")
    what = " ".join(words[-3:])
    try:
        process = await asyncio.create_subprocess_exec(
            *launched(words),
            stdin=null,
            stdout=pipe,
            stderr=null,
            env=dict(env),
            process_group=0,
        )
    except OSError as error:
        logger.warning("%s cannot be asked: %s", what, error)
        return {}
    try:
        said, _ = await asyncio.wait_for(process.communicate(), patience_s)
    except TimeoutError:
        logger.warning("%s took more than %s s", what, patience_s)
        return {}
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    return json.loads(said)
