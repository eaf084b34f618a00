"""Call hierarchy between files: from a kernel to launches elsewhere and back, over the wire."""

from pathlib import Path

from conversation import Conversation
from lsprotocol import types
from pygls import uris

KERNELS = """\
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1)
"""
OPS = '''\
import torch

from .kernels import scale as launched


def double(x):
    """🎉"""
    launched[(1,)](x, BLOCK=32); launched[(1,)](x, BLOCK=64)


def unrelated(x):
    return torch.relu(x)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        double(x)
        return x
'''
USER = """\
from package import double
from package.ops import Twice, unrelated


def run(x):
    double(x)
    unrelated(x)
    return Twice.apply(x)


def main():
    run(3)
"""
OTHER = """\
def scale(x):
    return 2 * x


def run():
    scale[(1,)](4)
"""


def _write(folder: Path) -> dict[str, Path]:
    texts = {
        "package/__init__.py": "from .ops import double\n",
        "package/kernels.py": KERNELS,
        "package/ops.py": OPS,
        "user.py": USER,
        "other.py": OTHER,
    }
    (folder / "package").mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: folder / name for name in texts}


async def _prepare(talk: Conversation, path: Path, what: str) -> types.CallHierarchyItem | None:
    text = path.read_text()
    before = text[: text.index(what)].split("\n")
    position = types.Position(len(before) - 1, len(before[-1]))
    document = types.TextDocumentIdentifier(str(uris.from_fs_path(str(path))))
    params = types.CallHierarchyPrepareParams(document, position)
    found = await talk.client.text_document_prepare_call_hierarchy_async(params)
    return found[0] if found else None


async def _incoming(
    talk: Conversation, item: types.CallHierarchyItem
) -> dict[str, types.CallHierarchyIncomingCall]:
    params = types.CallHierarchyIncomingCallsParams(item)
    found = await talk.client.call_hierarchy_incoming_calls_async(params)
    return {one.from_.name: one for one in found or ()}


async def _outgoing(
    talk: Conversation, item: types.CallHierarchyItem
) -> dict[str, types.CallHierarchyOutgoingCall]:
    params = types.CallHierarchyOutgoingCallsParams(item)
    found = await talk.client.call_hierarchy_outgoing_calls_async(params)
    return {one.to.name: one for one in found or ()}


def _open(talk: Conversation, path: Path) -> None:
    talk.open(text=path.read_text(), name=str(path.relative_to(talk.folder)))


async def test_from_a_kernel_up_to_the_launches_of_other_files(talk: Conversation) -> None:
    files = _write(talk.folder)
    await talk.begin()
    _open(talk, files["package/kernels.py"])
    kernel = await _prepare(talk, files["package/kernels.py"], "scale(x_ptr")
    assert kernel is not None
    above = await _incoming(talk, kernel)
    assert list(above) == ["double"], "other.py has a function of that name, which is another"
    double = above["double"]
    assert double.from_.uri.endswith("/package/ops.py")
    assert [(p.start.line, p.start.character) for p in double.from_ranges] == [(7, 4), (7, 33)]
    higher = await _incoming(talk, double.from_)
    assert set(higher) == {"Twice.forward", "run"}
    assert higher["run"].from_.uri.endswith("/user.py")
    forward = await _incoming(talk, higher["Twice.forward"].from_)
    assert set(forward) == {"run"}, "autograd runs forward where apply is called"
    assert set(await _incoming(talk, higher["run"].from_)) == {"main"}


async def test_from_host_code_down_to_a_kernel_that_it_imports(talk: Conversation) -> None:
    files = _write(talk.folder)
    await talk.begin()
    _open(talk, files["user.py"])
    main = await _prepare(talk, files["user.py"], "main()")
    assert main is not None
    below = await _outgoing(talk, main)
    assert set(below) == {"run"}
    lower = await _outgoing(talk, below["run"].to)
    assert set(lower) == {"double", "Twice.forward"}, "unrelated comes to no launch"
    last = await _outgoing(talk, lower["double"].to)
    assert last["scale"].to.detail == "kernel"
    assert last["scale"].to.uri.endswith("/package/kernels.py")
    assert len(last["scale"].from_ranges) == 2


async def test_a_launch_leads_to_the_kernel_of_another_file(talk: Conversation) -> None:
    files = _write(talk.folder)
    await talk.begin()
    _open(talk, files["package/ops.py"])
    found = await _prepare(talk, files["package/ops.py"], "launched[(1,)]")
    assert found is not None
    assert (found.name, found.detail) == ("scale", "kernel")
    assert found.uri.endswith("/package/kernels.py")
    assert found.selection_range.start == types.Position(5, 4)


async def test_what_comes_to_no_launch_has_no_hierarchy(talk: Conversation) -> None:
    files = _write(talk.folder)
    await talk.begin()
    _open(talk, files["package/ops.py"])
    assert await _prepare(talk, files["package/ops.py"], "unrelated(x)") is None


async def test_the_text_in_the_editor_counts_where_it_is_not_saved(talk: Conversation) -> None:
    files = _write(talk.folder)
    await talk.begin()
    _open(talk, files["package/kernels.py"])
    kernel = await _prepare(talk, files["package/kernels.py"], "scale(x_ptr")
    assert kernel is not None
    talk.open(text=OPS, name="package/ops.py")
    talk.replace("# above\n" + OPS)
    moved = (await _incoming(talk, kernel))["double"]
    assert {place.start.line for place in moved.from_ranges} == {8}
