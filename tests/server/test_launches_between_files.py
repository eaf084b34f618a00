"""Launches of kernels that other files define, in the editor."""

import asyncio
from pathlib import Path

from conversation import HANGS_S, Conversation, pulling, until
from lsprotocol import types
from pygls import uris

KERNELS = """\
import triton
import triton.language as tl


@triton.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, 0.0, mask=offs < n)
"""
HOST = """\
from kernels import fill


def zeros(x):
    fill[(1,)](x, BLOCK=64)
"""
FITTING = HOST.replace("(x, BLOCK", "(x, 64, BLOCK")


def _codes(talk: Conversation, uri: str) -> list[object]:
    return [found.code for found in talk.client.diagnostics.get(uri, ())]


def _kernels(talk: Conversation, text: str = KERNELS) -> Path:
    path = talk.folder / "kernels.py"
    path.write_text(text)
    return path


async def test_a_launch_that_does_not_fit_is_shown_until_it_is_mended(talk: Conversation) -> None:
    _kernels(talk)
    await talk.begin()
    uri = talk.open(text=HOST, name="host.py")
    await until(lambda: _codes(talk, uri) == ["launch_arguments"])
    (found,) = talk.client.diagnostics[uri]
    assert found.range == types.Range(types.Position(4, 4), types.Position(4, 14))
    assert found.message.endswith("fill is defined in kernels.py:6.")
    talk.replace(FITTING)
    await until(lambda: not _codes(talk, uri))
    talk.replace(HOST)
    await until(lambda: _codes(talk, uri) == ["launch_arguments"])


async def test_a_client_that_pulls_gets_it_too(talk: Conversation) -> None:
    _kernels(talk)
    await talk.begin(pulling())
    talk.open(text=HOST, name="host.py")

    async def pulled() -> list[object]:
        asked = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(talk.uri))
        report = await talk.client.text_document_diagnostic_async(asked)
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        return [item.code for item in report.items]

    async with asyncio.timeout(HANGS_S):
        while await pulled() != ["launch_arguments"]:
            await asyncio.sleep(0.01)


async def test_a_saved_kernel_is_compared_with_launches_in_open_files(talk: Conversation) -> None:
    path = _kernels(talk)
    await talk.begin()
    uri = talk.open(text=FITTING, name="host.py")
    path.write_text(KERNELS.replace("n, BLOCK", "n, value, BLOCK"))
    saved = types.TextDocumentIdentifier(uris.from_fs_path(str(path)) or "")
    talk.client.text_document_did_save(types.DidSaveTextDocumentParams(saved))
    await until(lambda: _codes(talk, uri) == ["launch_arguments"])
    assert "nothing for value" in talk.client.diagnostics[uri][0].message


async def test_a_project_that_silences_the_issue_sees_none(talk: Conversation) -> None:
    _kernels(talk)
    (talk.folder / "pyproject.toml").write_text(
        '[tool.tilewright]\nignore = ["launch_arguments"]\n'
    )
    await talk.begin()
    uri = talk.open(text=HOST, name="host.py")
    async with asyncio.timeout(HANGS_S):
        while "importedLaunches" not in await _done(talk):
            await asyncio.sleep(0.01)
    assert not _codes(talk, uri)


async def _done(talk: Conversation) -> set[str]:
    info = await talk.execute("tilewright.debugInfo")
    return {timing["method"] for timing in info["timings"]}
