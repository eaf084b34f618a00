"""Folders that the tools may read: which paths lie in them, and what is refused."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tilewright.textfile import one_line
from tilewright_server.mcp.arguments import LONGEST_TEXT
from tilewright_server.mcp.refusal import RefusedError

_PLACEHOLDER = "untitled.py"


@dataclass(frozen=True)
class Place:
    """A file or folder inside a root; ``root`` is the working directory for it."""

    root: str
    path: str

    @property
    def shown(self) -> str:
        """The path from the root, as messages name it; never like an option."""
        relative = os.path.relpath(self.path, self.root)
        return f"./{relative}" if relative.startswith("-") else relative


@dataclass(frozen=True)
class Roots:
    """Real paths of folders; what is not in one of them is not read."""

    folders: tuple[str, ...]

    def meet(self, others: Iterable[str]) -> "Roots":
        """The folders that lie in these roots and in the others."""
        inner = {
            inside
            for ours in self.folders
            for theirs in others
            for inside in _smaller(ours, theirs)
        }
        return Roots(tuple(sorted(inner)))

    def root_of(self, real: str) -> str | None:
        """The root that a real path lies in."""
        return next((root for root in self.folders if _is_in(real, root)), None)

    def file(self, path: str) -> Place:
        """A regular file of limited size.

        Raises:
            RefusedError: it is outside, not there, not a file, or too large.
        """
        place = self.find(path)
        state = _state(place, path)
        if not stat.S_ISREG(state.st_mode):
            raise RefusedError(f"{_quoted(path)} is {_kind(state.st_mode)}; name a file")
        if state.st_size > LONGEST_TEXT:
            limit = LONGEST_TEXT >> 20
            raise RefusedError(f"{_quoted(path)} is larger than {limit} MiB, and is not read")
        return place

    def file_or_folder(self, path: str) -> Place:
        """A file as ``file`` takes it, or a folder."""
        place = self.find(path)
        return place if stat.S_ISDIR(_state(place, path).st_mode) else self.file(path)

    def name(self, path: str | None) -> Place:
        """The name of a text: a file that may be missing, in a folder that is there."""
        place = self.find(path or _PLACEHOLDER)
        if os.path.lexists(place.path):
            return self.file(place.path)
        if not Path(place.path).parent.is_dir():
            raise RefusedError(f"{_quoted(path or '')} is in a folder that does not exist")
        return place

    def find(self, path: str) -> Place:
        """The place of a path with all links followed.

        Raises:
            RefusedError: it is outside of the roots.
        """
        if not self.folders:
            raise RefusedError(
                "no folder may be read: the client's roots and those of the server have none in "
                "common; open a folder in the client, or start `tilewright mcp --root DIR`"
            )
        if "\0" in path:
            raise RefusedError("the path has a null byte; name a file")
        # A relative path is of the first root that has it, else of the first.
        found = [_real(os.path.join(root, path)) for root in self.folders]  # noqa: PTH118
        inside = [real for real in found if real and self.root_of(real)]
        real = next(filter(os.path.lexists, inside), inside[0] if inside else None)
        root = self.root_of(real) if real else None
        if real is None or root is None:
            raise RefusedError(
                f"{_quoted(path)} is outside of the roots ({', '.join(self.folders)}); name a "
                "path inside, or start `tilewright mcp` with another --root"
            )
        return Place(root, real)

    def check_surroundings(self, place: Place) -> None:
        """Refuse to run a file whose imports may reach outside: its package, links next to it.

        Raises:
            RefusedError: code under test could read files outside of the roots.
        """
        for folder in _package_folders(Path(place.path)):
            if self.root_of(str(folder)) is None:
                raise RefusedError(
                    f"{place.shown} is in a package whose folder {folder} is outside of the "
                    f"roots; start `tilewright mcp --root {folder}`"
                )
            for link in _links(folder):
                if self.root_of(_real(link) or "/") is None:
                    raise RefusedError(
                        f"{_quoted(os.path.basename(link))} next to {place.shown} is a link out "  # noqa: PTH119
                        "of the roots, and code under test could read it; remove it, or add the "
                        "folder it leads to with --root"
                    )


def from_uris(uris: Iterable[str]) -> tuple[str, ...]:
    """The folders that a client's roots name; other schemes and other hosts name none."""
    found = []
    for uri in uris:
        parts = urlsplit(uri)
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            real = _real(unquote(parts.path))
            if real is not None:
                found.append(real)
    return tuple(found)


def named_roots(named: Sequence[Path]) -> Roots:
    """The roots of the command line; by default the working directory.

    Raises:
        RefusedError: one is no folder, or the default would be a home or all of the disk.
    """
    folders = [os.path.realpath(path) for path in named]
    missing = next((one for one in folders if not Path(one).is_dir()), None)
    if missing is not None:
        raise RefusedError(f"--root {missing} is not a folder; name one that exists")
    if not folders:
        here = os.path.realpath(Path.cwd())
        if here == "/" or here == os.path.realpath(Path.home()):
            raise RefusedError(f"the working directory is {here}; name the project: --root DIR")
        folders = [here]
    return Roots(tuple(dict.fromkeys(folders)))


def _smaller(one: str, other: str) -> Iterator[str]:
    if _is_in(one, other):
        yield one
    elif _is_in(other, one):
        yield other


def _is_in(real: str, root: str) -> bool:
    return real == root or real.startswith(root.rstrip("/") + "/")


def _real(path: str) -> str | None:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # a name that no system call takes
        return None


def _state(place: Place, path: str) -> os.stat_result:
    try:
        return os.stat(place.path)  # noqa: PTH116  Path.stat hides nothing more
    except OSError as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)
        raise RefusedError(f"{_quoted(path)}: {why}; check the path") from None


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe (FIFO)" if stat.S_ISFIFO(mode) else "a device or a socket"


def _package_folders(file: Path) -> Iterator[Path]:
    """The file's folder, and those above it up to the one that holds its outermost package."""
    folder = file.parent
    yield folder
    while (folder / "__init__.py").is_file():
        folder = folder.parent
        yield folder


def _links(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from (e.path for e in entries if e.is_symlink() and not e.name.startswith("."))
    except OSError:
        return


def _quoted(path: str) -> str:
    shown = one_line(path)
    return f"`{shown[:200]}`"
