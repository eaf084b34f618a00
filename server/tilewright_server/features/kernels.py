"""``tilewright/kernels``, our own request: the kernels of folders or files, in a list."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lsprotocol import types
from pydantic import BaseModel, ConfigDict, ValidationError
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from tilewright_server.features.assembly import plain_params
from tilewright_server.jobs.engine_job import environment
from tilewright_server.jobs.local_gpu import ask_engine
from tilewright_server.kernel_list import (
    KernelRow,
    KernelTime,
    compiled_time,
    estimated_time,
    kernel_rows,
    profiled_time,
    roots_of,
)
from tilewright_server.nki_estimates import kernel_estimates
from tilewright_server.server import TilewrightServer
from tilewright_server.snapshot import Snapshot

_PATIENCE_S = 300.0
logger = logging.getLogger(__name__)


class KernelsParams(BaseModel):
    """Folders and files to list the kernels of, as paths of this machine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    paths: tuple[str, ...]


async def kernels(server: TilewrightServer, params: Any) -> list[dict[str, Any]]:
    """A row for each launched kernel, as ``KernelRow`` has it.

    Raises:
        JsonRpcException: the engine did not answer.
    """
    try:
        wanted = KernelsParams.model_validate(plain_params(params))
    except ValidationError as error:
        raise JsonRpcInvalidParams(f"paths: {error.errors()[0]['msg']}") from error
    roots = await server.in_pool(roots_of, wanted.paths)
    if not roots:
        return []
    try:
        # One after the other: the editor is in use meanwhile.
        checked = await _ask(server, "check", roots)
        rows = list(kernel_rows(checked, await _ask(server, "certificates", roots)))
    except (KeyError, TypeError, ValueError) as error:
        logger.warning("the engine's list of kernels cannot be read: %s", error)
        reason = "the engine did not answer; see the log"
        raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed.value) from error
    times = {key: time async for key, time in _times(server)}
    return [_with_time(row, times).to_json() for row in rows]


async def kernel_times(server: TilewrightServer, *_: Any) -> list[dict[str, Any]]:
    """The times that are known of the kernels of open documents; no process is started."""
    return [
        {"path": path, "kernel": kernel, "time": asdict(time)}
        async for (path, kernel), time in _times(server)
    ]


async def _ask(server: TilewrightServer, command: str, roots: tuple[str, ...]) -> Any:
    words = (*server.engine_command, command, *roots)
    return await ask_engine(words, environment(server.settings), _PATIENCE_S)


def _with_time(row: KernelRow, times: dict[tuple[str, str], KernelTime]) -> KernelRow:
    """A measured time goes before an estimate, and one of this session before a certificate's."""
    seen = times.get((str(Path(row.path).resolve()), row.kernel))
    if seen is None or (row.time is not None and seen.kind != row.time.kind):
        return row
    return replace(row, time=seen)


async def _times(
    server: TilewrightServer,
) -> AsyncIterator[tuple[tuple[str, str], KernelTime]]:
    """What is known of the kernels of open documents."""
    for snapshot in server.snapshots():
        if snapshot.path is None or snapshot.cell is not None or not snapshot.is_python:
            continue
        parsed = await server.parse(snapshot)
        project = await server.project(snapshot)
        for kernel in parsed.module.kernels:
            time = profiled_time(server.facts.profiled(parsed, snapshot, kernel.name))
            time = time or compiled_time(server.facts.compiled(parsed, snapshot, kernel.name))
            if time is None:
                found = await server.in_pool(
                    kernel_estimates, parsed.module, kernel, project.problem
                )
                time = estimated_time(found)
            if time is not None:
                yield (_place(snapshot), kernel.name), time
        await asyncio.sleep(0)


def _place(snapshot: Snapshot) -> str:
    return str(Path(snapshot.path or "").resolve())
