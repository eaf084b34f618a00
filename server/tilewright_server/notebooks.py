"""Notebooks: each Python cell as a part of one text, so that cells know each other's names."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lsprotocol import types
from pygls.uris import to_fs_path

from tilewright.source.notebook import python_of_cell
from tilewright_server.lines import LineTable
from tilewright_server.positions import Encoding
from tilewright_server.snapshot import Cell, Snapshot

OPTIONS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithCells(cells=[types.NotebookCellLanguage(language="python")])
    ]
)


@dataclass(frozen=True)
class Source:
    """A cell's document as the client has it."""

    uri: str
    version: int | None
    language: str | None
    text: str


class Notebooks:
    """The cells' snapshots of each notebook, made anew when a cell changes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[Source, ...], dict[str, Snapshot]]] = {}

    def snapshot(
        self, uri: str, notebook: types.NotebookDocument, sources: Sequence[Source], kind: Encoding
    ) -> Snapshot | None:
        """The present state of a cell among the notebook's."""
        now = tuple(sources)
        known = self._known.get(notebook.uri)
        if known is None or known[0] != now:
            path = to_fs_path(notebook.uri) if notebook.uri.startswith("file:") else None
            made = {each.uri: each for each in _snapshots(path, now, kind)}
            known = self._known[notebook.uri] = (now, made)
        return known[1].get(uri)

    def forget(self, uri: str) -> None:
        """A notebook was closed."""
        self._known.pop(uri, None)


def code_cells(
    notebook: types.NotebookDocument, find: Callable[[str], Source | None]
) -> Iterator[Source]:
    """The Python cells of a notebook, in order."""
    for cell in notebook.cells:
        source = find(cell.document)
        if cell.kind is types.NotebookCellKind.Code and source and source.language == "python":
            yield source


def _snapshots(path: str | None, cells: Sequence[Source], kind: Encoding) -> Iterator[Snapshot]:
    parts = [_python(cell.text) for cell in cells]
    text = "\n".join(parts)
    places: list[Cell] = []
    first = 0
    for cell, part in zip(cells, parts, strict=True):
        count = LineTable(part).count
        places.append(Cell(cell.uri, cell.version, first, count, cell.text))
        first += count
    for cell, place in zip(cells, places, strict=True):
        beside = tuple(places)
        yield Snapshot(cell.uri, path, cell.version, cell.language, text, kind, place, beside)


_python = lru_cache(maxsize=512)(python_of_cell)
