"""The kernels of the workspace's files, and files that mention a name; read in a thread of its own.

What is known of a file is kept by its time and size. Files open in the editor are read as they
stand there.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pygls.uris import to_fs_path

from tilewright.errors import InputError
from tilewright.lru import LruDict
from tilewright.navigation.imports import Sources, package_root
from tilewright.navigation.outline import Symbol, SymbolKind, outline
from tilewright.source import parse_module
from tilewright.source.languages import may_hold_kernels
from tilewright.textfile import utf8_text, utf8_text_or_none
from tilewright_server.context import ServerContext

Result = TypeVar("Result")

_MOST_FILES = 20_000
_LARGEST = 4 * 1024 * 1024
_REMEMBERED = 4096


@dataclass(frozen=True)
class FoundKernel:
    """A kernel of a file; ``line_text`` is the line of its name, to count columns in."""

    path: str
    symbol: Symbol
    line_text: str


class WorkspaceIndex:
    """Reads the files below the client's folders when someone asks."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        # Apart from the threads that typing waits for.
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tilewright-index")
        self._known: LruDict[str, tuple[tuple[int, int], tuple[FoundKernel, ...]]]
        self._known = LruDict(_REMEMBERED)
        self._closing = False

    async def kernels(self) -> list[FoundKernel]:
        """The kernels of all files."""
        return await self._run(lambda: list(self._kernels(self.roots(), self._texts())))

    async def files_named(self, name: str) -> tuple[Path, ...]:
        """The files of a name."""
        return await self._run(
            lambda: tuple(
                path for path in islice(self._files(self.roots()), _MOST_FILES) if path.name == name
            )
        )

    async def search(
        self, path: Path, names: Collection[str], work: Callable[[Sources, list[Path]], Result]
    ) -> Result:
        """What ``work`` makes of the other files that mention one of some names; of none without.

        Looked for in the client's folders, and in the file's own where it lies in none of them.

        Raises:
            InputError: there are more files than are searched.
        """
        roots, texts = self.roots(), self._texts()
        if not any(root in path.parents for root in roots):
            roots = (*roots, path.parent)

        def searched() -> Result:
            found = naming(self._files(roots), texts, names, path) if names else []
            sources = Sources(lambda file: _text(file, texts), (*roots, package_root(path)))
            return work(sources, found)

        return await self._run(searched)

    def close(self) -> None:
        """Stop reading."""
        self._closing = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def roots(self) -> tuple[Path, ...]:
        """The client's folders on this machine."""
        workspace = self._server.workspace
        uris = list(workspace.folders) or [workspace.root_uri]
        paths = (to_fs_path(uri) for uri in uris if uri and uri.startswith("file:"))
        return tuple(Path(path) for path in paths if path)

    def _texts(self) -> dict[str, str]:
        opened = self._server.snapshots()
        return {s.path: s.text for s in opened if s.path is not None and s.cell is None}

    def _files(self, roots: Sequence[Path]) -> Iterator[Path]:
        from tilewright.checking.walk import files_to_check  # brings every detector along

        seen: set[Path] = set()
        for found in files_to_check(roots, isolated=True):
            if self._closing:
                return
            if isinstance(found, Path) and found not in seen:
                seen.add(found)
                yield found

    def _kernels(self, roots: Sequence[Path], texts: Mapping[str, str]) -> Iterator[FoundKernel]:
        for path in islice(self._files(roots), _MOST_FILES):
            text = texts.get(str(path))
            yield from self._on_disk(path) if text is None else _kernels(str(path), text)

    def _on_disk(self, path: Path) -> tuple[FoundKernel, ...]:
        try:
            state = path.stat()
            stamp = (state.st_mtime_ns, state.st_size)
            known = self._known.get(str(path))
            if known is not None and known[0] == stamp:
                return known[1]
            found = tuple(_kernels(str(path), utf8_text(path, _LARGEST)))
        except (InputError, OSError):
            return ()  # it is gone, or no text: then it has no kernels either
        self._known.put(str(path), (stamp, found))
        return found


def naming(
    files: Iterable[Path], texts: Mapping[str, str], names: Collection[str], path: Path
) -> list[Path]:
    """The files but ``path`` that mention one of the names.

    Raises:
        InputError: there are more files than are searched.
    """
    named = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")
    found = []
    for count, file in enumerate(files):
        if count >= _MOST_FILES:
            raise InputError(f"the workspace has more than {_MOST_FILES} files")
        text = None if file == path else _text(file, texts)
        if text is not None and named.search(text):
            found.append(file)
    return found


def _text(path: Path, texts: Mapping[str, str]) -> str | None:
    """A file's text in the editor, else on disk."""
    opened = texts.get(str(path))
    return utf8_text_or_none(path, _LARGEST) if opened is None else opened


def _kernels(path: str, text: str) -> Iterator[FoundKernel]:
    if not path.endswith(".py") or not may_hold_kernels(text):
        return
    module = parse_module(text, path)
    for symbol in outline(module):
        if symbol.kind is SymbolKind.KERNEL:
            yield FoundKernel(path, symbol, module.index.lines[symbol.name_range.line - 1])
