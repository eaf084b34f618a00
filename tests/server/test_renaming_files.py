"""A constexpr's other name in several files of a workspace, and through decorators of a project."""

from pathlib import Path

import pytest
from conversation import Conversation, apply_edits
from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException

KERNEL = """\
import triton
import triton.language as tl
{above}

{decorator}
@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, 0.0, mask=offs < n)
"""
CALLER = """\
import triton
import triton.language as tl
from {module} import scale


def run(x, n):
    "🎉"; scale[lambda META: (triton.cdiv(n, META["BLOCK"]),)](x, n, BLOCK=64)
"""
ALIASED = """\
import triton
import triton.language as tl


@triton.jit
def slow(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0.0)


fast = triton.heuristics({})(slow)


def run(x):
    fast[(1,)](x, BLOCK=32)
"""
ALIASED_BLOCK = types.Position(5, len("def slow(x_ptr, "))


def kernel(above: str = "", decorator: str = "") -> str:
    return KERNEL.format(above=above, decorator=decorator).replace("\n\n\n\n", "\n\n\n")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def block_of(text: str) -> types.Position:
    row = next(n for n, line in enumerate(text.split("\n")) if "BLOCK: tl" in line)
    return types.Position(row, text.split("\n")[row].index("BLOCK"))


async def rename(
    talk: Conversation, where: types.Position, new: str = "TILE"
) -> dict[str, types.TextDocumentEdit]:
    found = await talk.client.text_document_rename_async(
        types.RenameParams(types.TextDocumentIdentifier(talk.uri), where, new)
    )
    assert found is not None
    changes = found.document_changes or ()
    assert all(isinstance(each, types.TextDocumentEdit) for each in changes)
    return {Path(each.text_document.uri).name: each for each in changes}  # type: ignore[union-attr]


async def refusal(talk: Conversation, where: types.Position) -> str:
    with pytest.raises(JsonRpcException) as refused:
        await rename(talk, where)
    return refused.value.message


async def test_another_name_of_the_kernel_in_another_file_stops_a_rename(
    talk: Conversation,
) -> None:
    await talk.begin()
    talk.open(text=ALIASED)
    other = write(
        talk.folder / "caller.py", "from kernel import fast\n\nfast[(1,)](None, BLOCK=64)\n"
    )
    said = await refusal(talk, ALIASED_BLOCK)
    assert said.endswith("caller.py:1: slow has several names there")
    talk.client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            types.TextDocumentItem(str(uris.from_fs_path(str(other))), "python", 1, "")
        )
    )
    assert list(await rename(talk, ALIASED_BLOCK)) == ["kernel.py"], "it is empty in the editor"


async def test_a_file_outside_the_workspace_is_renamed_with_a_look_around_it(
    talk: Conversation, tmp_path_factory: pytest.TempPathFactory
) -> None:
    await talk.begin()
    talk.folder = tmp_path_factory.mktemp("outside")
    talk.open(text=kernel())
    write(talk.folder / "caller.py", "from kernel import scale\nB = 'BLOCK'\n")
    said = await refusal(talk, block_of(talk.text))
    assert said.endswith("caller.py, line 2: the string 'BLOCK' may name it")


@pytest.mark.parametrize("is_open", [False, True])
async def test_launches_of_other_files_are_renamed_with_it(
    talk: Conversation, is_open: bool
) -> None:
    await talk.begin()
    caller = write(talk.folder / "package" / "caller.py", CALLER.format(module="package.kernels"))
    write(talk.folder / "package" / "__init__.py", "from .kernels import *\n")
    through = write(talk.folder / "test_it.py", CALLER.format(module="package"))
    write(talk.folder / "own.py", kernel() + "\n\nscale[(1,)](None, 1, BLOCK=8)\n")
    if is_open:
        talk.open(text=caller.read_text(), name="package/caller.py")
    talk.open(text=kernel(), name="package/kernels.py")
    edits = await rename(talk, block_of(talk.text))
    assert sorted(edits) == ["caller.py", "kernels.py", "test_it.py"], "own.py has its own scale"
    assert (edits["caller.py"].text_document.version is not None) is is_open
    row = CALLER.split("\n").index(next(li for li in CALLER.split("\n") if "🎉" in li))
    line = CALLER.split("\n")[row].encode("utf-16-le")
    for path in (caller, through):
        places = [each.range for each in edits[path.name].edits]
        assert [place.start.line for place in places] == [row, row]
        for place in places:
            start, end = 2 * place.start.character, 2 * place.end.character
            assert line[start:end].decode("utf-16-le") == "BLOCK"
    assert "TILE: tl.constexpr" in _changed(talk.text, edits["kernels.py"])


async def test_references_reach_other_files(talk: Conversation) -> None:
    await talk.begin()
    write(talk.folder / "caller.py", CALLER.format(module="kernel"))
    talk.open(text=kernel())
    row = next(n for n, line in enumerate(talk.text.split("\n")) if "def scale" in line)
    for where, count in ((types.Position(row, 5), 1), (block_of(talk.text), 2)):
        found = await talk.client.text_document_references_async(
            types.ReferenceParams(
                types.ReferenceContext(include_declaration=False),
                types.TextDocumentIdentifier(talk.uri),
                where,
            )
        )
        elsewhere = [one for one in found or () if one.uri.endswith("caller.py")]
        assert len(elsewhere) == count


def _changed(text: str, edit: types.TextDocumentEdit) -> str:
    whole = [
        types.TextEdit(
            types.Range(types.Position(row, 0), types.Position(row, len(line))),
            line.replace("BLOCK", "TILE"),
        )
        for row, line in enumerate(text.split("\n"))
        if any(each.range.start.line == row for each in edit.edits)
    ]
    return apply_edits(text, whole)


@pytest.mark.parametrize(
    ("caller", "why"),
    [
        ("from package.kernels import scale\n\nrun(scale, 1)\n", "used there in a way"),
        (
            "from package.kernels import scale\n\nscale[(1,)](**{'n': 1})\n",
            "arguments that are not",
        ),
        ("import package.kernels as k\n\nk.scale[(1,)](None, 1, BLOCK=8)\n", ".scale may be it"),
        ("from package.missing import scale\n", "where scale comes from is not known"),
        (
            "from package.kernels import scale\n\nTILE = 1\nscale[(1,)](0, 1, BLOCK=8, TILE=2)\n",
            "TILE",
        ),
    ],
)
async def test_a_use_that_is_not_certain_in_another_file_stops_a_rename(
    talk: Conversation, caller: str, why: str
) -> None:
    await talk.begin()
    write(talk.folder / "caller.py", caller)
    talk.open(text=kernel(), name=_in_package(talk))
    said = await refusal(talk, block_of(talk.text))
    assert "caller.py" in said
    assert why in said


def _in_package(talk: Conversation) -> str:
    write(talk.folder / "package" / "__init__.py", "")
    return "package/kernels.py"


ENTRY = """\
class Entry:
    def __init__(self, fn):
        self.fn = fn
        self.names = fn.arg_names

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.fn[grid](*args, **kwargs)
{more}

def entry():
    return Entry
"""


@pytest.mark.parametrize(
    ("more", "decorator", "why"),
    [
        ("", "@entry()", None),
        ("", "@entry(['BLOCK'])", "line 6 gives it the string 'BLOCK'"),
        ("\n    SIZES = ('BLOCK', 'n')\n", "@entry()", "entry.py:9 has BLOCK"),
        (
            "\n    def sizes(self):\n        return [n for n in self.names if n.isupper()]\n",
            "@entry()",
            "entry.py:10 asks how a name is spelled",
        ),
    ],
)
async def test_a_decorator_of_the_project_is_followed(
    talk: Conversation, more: str, decorator: str, why: str | None
) -> None:
    await talk.begin()
    write(talk.folder / "package" / "utils" / "__init__.py", "from .entry import entry\n")
    write(talk.folder / "package" / "utils" / "entry.py", ENTRY.format(more=more))
    text = kernel("from package.utils import entry\n", decorator)
    text += "\n\nscale[(1,)](None, 1, BLOCK=8)\n"
    talk.open(text=text, name=_in_package(talk))
    if why is None:
        (edit,) = (await rename(talk, block_of(talk.text))).values()
        assert len(edit.edits) == 4
    else:
        assert why in await refusal(talk, block_of(talk.text))


async def test_a_decorator_that_is_not_found_stops_a_rename(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=kernel("from somewhere import entry\n", "@entry()"))
    assert "its definition is not found" in await refusal(talk, block_of(talk.text))
