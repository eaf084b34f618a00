"""``tilewright/assembly``, our own request: a stage of a kernel's compilation, line by line."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from tilewright_server.analysis_cache import Analysis
from tilewright_server.background_compile import compilable, compile_targets
from tilewright_server.commands.jobs import why_not
from tilewright_server.compiled_cards import configuration, origin_in_words
from tilewright_server.jobs.engine_job import environment, inspect_command
from tilewright_server.jobs.process import EngineRun, Outcome
from tilewright_server.kernel_facts import read_launch
from tilewright_server.server import TilewrightServer
from tilewright_server.settings import TargetText
from tilewright_server.snapshot import Snapshot

_GRACE_S = 0.2
_TOP = types.Position(0, 0)


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True)

    uri: str


class AssemblyParams(BaseModel):
    """``kernel`` None is the one at ``line`` (0-based), else the document's first.

    ``target`` None is the first that the document is compiled for; ``stage`` None the chip's own
    code.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    document: _Document = Field(alias="textDocument")
    kernel: str | None = None
    line: int | None = Field(default=None, ge=0)
    target: TargetText | None = None
    stage: str | None = None


async def assembly(server: TilewrightServer, params: Any) -> dict[str, Any]:
    """The text, and for each line of the document (0-based) the lines of it, 0-based too.

    It is queued before background jobs, as other requested jobs are.

    Raises:
        JsonRpcException: there is no such text; the message says why.
    """
    wanted = _read(params)
    snapshot = server.snapshot(wanted.document.uri)
    reason = why_not(server, snapshot)
    if reason is not None or snapshot is None:
        raise _failed(str(reason))
    analysis = await server.analyze(snapshot)
    kernel = _kernel(analysis, snapshot, wanted)
    target = wanted.target or (await compile_targets(server, snapshot))[0]
    outcome = await _run(server, snapshot, f"{snapshot.path}::{kernel}", target, wanted.stage)
    if outcome.result is None:
        raise _failed(str(outcome.error))
    return _answer(analysis, snapshot, outcome.result)


def _failed(reason: str) -> JsonRpcException:
    return JsonRpcException(reason, types.LSPErrorCodes.RequestFailed.value)


def _read(params: Any) -> AssemblyParams:
    try:
        return AssemblyParams.model_validate(plain_params(params))
    except ValidationError as error:
        detail = error.errors()[0]
        field = ".".join(map(str, detail["loc"])) or "parameters"
        raise JsonRpcInvalidParams(f"{field}: {detail['msg']}") from error


def plain_params(value: Any) -> Any:
    """pygls hands over parameters of methods it does not know as nested named tuples."""
    if not hasattr(value, "_asdict"):
        return value
    return {key: plain_params(inner) for key, inner in value._asdict().items()}


def _kernel(analysis: Analysis, snapshot: Snapshot, wanted: AssemblyParams) -> str:
    known = compilable(analysis)
    if not known:
        raise _failed("there is no Triton kernel in this file")
    if wanted.kernel is not None:
        if wanted.kernel not in known:
            there = ", ".join(known)
            raise _failed(f"there is no kernel {wanted.kernel} to compile; there is {there}")
        return wanted.kernel
    if wanted.line is not None:
        here = types.Position(wanted.line, 0)
        near = analysis.kernel_near(snapshot.from_lsp(types.Range(here, here)))
        if near is not None and near.name in known:
            return near.name
    return known[0]


async def _run(
    server: TilewrightServer, snapshot: Snapshot, file: str, target: str, stage: str | None
) -> Outcome:
    """Ends the engine also where the client no longer wants the answer."""
    command = inspect_command(server, file, (target,), "--emit", stage or "native")
    folder = str(Path(snapshot.path or "").parent)
    run = EngineRun(command, folder, environment(server.settings), host=server.host)
    server.jobs.make_way()
    async with server.jobs.lane.turn(urgent=True):
        try:
            return await run.run(snapshot.text, lambda event: None)
        except asyncio.CancelledError:
            run.stop(_GRACE_S)
            raise


def _answer(analysis: Analysis, snapshot: Snapshot, result: Mapping[str, Any]) -> dict[str, Any]:
    name = str(result["kernel"])
    kernel = analysis.module.kernel(name)
    launch = read_launch(result.get("launch"))
    place = snapshot.to_lsp(kernel.range) if kernel else types.Range(_TOP, _TOP)
    return {
        "kernel": name,
        "target": result["target"],
        "stage": result["stage"],
        "stages": list(result["stages"]),
        "text": result["text"],
        "missing": result["missing"],
        "configuration": configuration(launch) if launch else "",
        "origin": origin_in_words(result.get("origin"), str(result.get("why") or "")),
        "notes": [str(note) for note in result.get("notes") or ()],
        "version": snapshot.version,
        "hash": kernel.content_hash[:7] if kernel else "",
        "range": {"start": place.start.line, "end": place.end.line},
        "lines": [
            {"source": int(line) - 1, "text": [int(at) - 1 for at in found]}
            for line, found in (result.get("lines") or {}).items()
        ],
    }
