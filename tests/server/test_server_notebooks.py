"""Kernels in a notebook: every finding lies in its own cell, every edit too."""

from typing import Any

from conversation import Conversation, apply_edits, capabilities, pulling, until
from lsprotocol import types
from pygls import uris

from tilewright_server.snapshot import Cell, Snapshot

IMPORTS = "%load_ext autoreload\nimport triton\nimport triton.language as tl"
KERNEL = """\
# 🎉
@triton.jit
def dot_kernel(a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    a = tl.load(a_ptr + offs[:, None] * BLOCK + offs[None, :])
    b = tl.load(b_ptr + offs[:, None] * BLOCK + offs[None, :])
    acc += tl.dot(a, b)"""
LAUNCH = "!nvidia-smi\ndot_kernel[(1,)](a, b, c, 64)"


class Notebook:
    """A notebook that is open in the client."""

    def __init__(self, talk: Conversation, *cells: str) -> None:
        self.talk = talk
        self.uri = str(uris.from_fs_path(str(talk.folder / "kernels.ipynb")))
        self.cells = [f"vscode-notebook-cell:{self.uri[5:]}#W{n}sZmlsZQ%3D%3D" for n in range(9)]
        self.texts = dict(zip(self.cells, cells, strict=False))
        kinds = types.NotebookCellKind
        markup = types.NotebookCell(kinds.Markup, f"{self.uri}#markup")
        code = [types.NotebookCell(kinds.Code, uri) for uri in self.texts]
        talk.client.notebook_document_did_open(
            types.DidOpenNotebookDocumentParams(
                types.NotebookDocument(self.uri, "jupyter-notebook", 1, [markup, *code]),
                [types.TextDocumentItem(u, "python", 1, t) for u, t in self.texts.items()],
            )
        )

    def type(self, cell: int, text: str, version: int = 2) -> None:
        """Replace the text of a cell."""
        uri = self.cells[cell]
        self.texts[uri] = text
        content = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(version, uri),
            [types.TextDocumentContentChangeWholeDocument(text)],
        )
        self.talk.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(version, self.uri),
                types.NotebookDocumentChangeEvent(
                    cells=types.NotebookDocumentCellChanges(text_content=[content])
                ),
            )
        )

    def found(self, cell: int) -> list[types.Diagnostic]:
        return list(self.talk.client.diagnostics.get(self.cells[cell], ()))


def _client(made: types.ClientCapabilities) -> types.ClientCapabilities:
    made.notebook_document = types.NotebookDocumentClientCapabilities(
        synchronization=types.NotebookDocumentSyncClientCapabilities()
    )
    return made


async def _open(talk: Conversation, *cells: str) -> Notebook:
    await talk.begin(_client(capabilities()))
    book = Notebook(talk, *cells)
    talk.uri, talk.version = book.cells[1], 1
    return book


async def test_finding_is_in_its_own_cell_at_its_own_place(talk: Conversation) -> None:
    book = await _open(talk, IMPORTS, KERNEL, LAUNCH)
    await until(lambda: book.found(1))
    (issue,) = book.found(1)
    assert issue.code == "dot_accumulator"
    assert (issue.range.start, issue.range.end) == (types.Position(7, 4), types.Position(7, 23))
    assert not issue.related_information, "the launch is another cell's"
    await until(lambda: book.cells[2] in talk.client.diagnostics)
    assert not book.found(0)
    assert not book.found(2)


async def test_change_of_one_cell_counts_in_the_others(talk: Conversation) -> None:
    book = await _open(talk, IMPORTS, KERNEL, LAUNCH)
    await until(lambda: book.found(1))
    book.type(0, "import numpy as triton\nimport numpy as tl")
    await until(lambda: not book.found(1))
    book.type(0, IMPORTS + "\nx = 1\n", version=3)
    await until(lambda: book.found(1))
    assert book.found(1)[0].range.start == types.Position(7, 4)


async def test_hovers_and_hints_of_a_cell(talk: Conversation) -> None:
    await _open(talk, IMPORTS, KERNEL, LAUNCH)
    assert "second accumulator" in (await talk.hover(7, 6) or "")
    assert "tile `[BLOCK, BLOCK]` `fp32`" in (await talk.hover(4, 5) or "")
    everything = types.Range(types.Position(0, 0), types.Position(99, 0))
    hints = await talk.client.text_document_inlay_hint_async(
        types.InlayHintParams(types.TextDocumentIdentifier(talk.uri), everything)
    )
    assert [h.position for h in hints or ()][:2] == [types.Position(3, 8), types.Position(4, 7)]
    (lens,) = await talk.lenses()
    assert lens == "1 issue, launched in this notebook; not compiled"


async def _edit(talk: Conversation, title: str, line: int = 7) -> Any:
    found = {a.title: a for a in await talk.actions(line, 6)}
    assert not any(name.startswith("Optimize") for name in found)
    return await talk.client.code_action_resolve_async(found[title])


async def test_fix_edits_the_cell(talk: Conversation) -> None:
    await _open(talk, IMPORTS, KERNEL, LAUNCH)
    action = await _edit(talk, "Accumulate inside tl.dot (exact, not measured)")
    (change,) = action.edit.document_changes
    assert change.text_document.uri == talk.uri
    assert change.text_document.version == 1
    new = apply_edits(KERNEL, list(change.edits))
    assert new == KERNEL.replace("acc += tl.dot(a, b)", "acc = tl.dot(a, b, acc)")


async def test_comment_goes_into_the_cell(talk: Conversation) -> None:
    await _open(talk, IMPORTS, KERNEL + "\n", LAUNCH)
    action = await _edit(talk, "Ignore dot_accumulator in this kernel")
    (change,) = action.edit.document_changes
    new = apply_edits(KERNEL + "\n", list(change.edits))
    assert "@triton.jit  # tilewright: ignore[dot_accumulator]\n" in new
    assert new.endswith("acc += tl.dot(a, b)\n")


async def test_client_that_pulls_asks_for_each_cell(talk: Conversation) -> None:
    await talk.begin(_client(pulling()))
    book = Notebook(talk, IMPORTS, KERNEL, LAUNCH)
    codes = []
    for cell in book.cells[:3]:
        report = await talk.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(types.TextDocumentIdentifier(cell))
        )
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        codes.append([d.code for d in report.items])
    assert codes == [[], ["dot_accumulator"], []]


async def test_cell_that_closes_takes_its_findings_along(talk: Conversation) -> None:
    book = await _open(talk, IMPORTS, KERNEL, LAUNCH)
    await until(lambda: book.found(1))
    documents = [types.TextDocumentIdentifier(uri) for uri in book.texts]
    talk.client.notebook_document_did_close(
        types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier(book.uri), documents)
    )
    await until(lambda: not book.found(1))


async def test_kernel_of_a_notebook_is_not_run(talk: Conversation) -> None:
    await _open(talk, IMPORTS, KERNEL, LAUNCH)
    answer = await talk.execute("tilewright.profile", {"uri": talk.uri})
    assert answer["job"] is None
    assert "move them to a Python file" in answer["reason"]


def test_lines_in_a_message_are_those_of_its_cell() -> None:
    cells = (Cell("a", 1, 0, 3, ""), Cell("b", 1, 3, 5, ""))
    text = "\n" * 7
    shown = Snapshot("b", None, 1, "python", text, "utf-16", cells[1], cells)
    assert (
        shown.with_own_lines("The load on line 7 masks these", 8)
        == "The load on line 4 masks these"
    )
    assert shown.with_own_lines("As on line 2", 8) == "As on line 2 of an earlier cell"
    whole = Snapshot("c", None, 1, "python", text, "utf-16")
    assert whole.with_own_lines("The load on line 7", 8) == "The load on line 7"
