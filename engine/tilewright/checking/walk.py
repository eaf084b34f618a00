"""The files below folders that are to be checked. No entry, whatever it is, ends or delays it."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tilewright.checking.configuration import ConfigurationError, configuration_for
from tilewright.errors import InputError
from tilewright.textfile import UnreadableError

SKIPPED_FOLDERS = frozenset(
    {".git", ".venv", "venv", "node_modules", "__pycache__", "site-packages", ".ipynb_checkpoints"}
)
_SUFFIXES = (".py", ".ipynb")
_LOCK = ".#"


def files_to_check(paths: Iterable[Path], *, isolated: bool) -> Iterator[Path | InputError]:
    """The files to check: those named, and those in folders that the project does not exclude.

    Folders are walked in a stable order. What cannot be looked into is given as an error.
    """
    for path in paths:
        # Not Path.is_dir, which raises where a folder above may not be entered.
        if not os.path.isdir(path):  # noqa: PTH112
            yield path
            continue
        found, errors = _files_below(path)
        yield from errors
        for file in found:
            if isolated or not _is_excluded(file):
                yield file


def is_walked(file: Path, root: Path) -> bool:
    """Whether a walk below a folder comes to a file that is there."""
    inner = file.relative_to(root).parts if file.is_relative_to(root) else ()
    if not inner or file.suffix not in _SUFFIXES or file.name.startswith(_LOCK):
        return False
    return not SKIPPED_FOLDERS.intersection(inner[:-1]) and not _is_excluded(file)


def _is_excluded(file: Path) -> bool:
    try:
        return configuration_for(file).excludes(file)
    except ConfigurationError:
        # Told when the file is checked.
        return False


def _files_below(root: Path) -> tuple[list[Path], list[InputError]]:
    """Python files and notebooks below a folder, and why other folders were not looked into."""
    found: list[Path] = []
    errors: list[InputError] = []
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name in SKIPPED_FOLDERS:
                        continue
                    if _is_folder(entry):
                        pending.append(folder / entry.name)
                    elif entry.name.endswith(_SUFFIXES) and not _is_lock(entry):
                        found.append(folder / entry.name)
        except OSError as error:
            why = f"cannot be looked into: {error.strerror}"
            errors.append(UnreadableError(why, str(folder)))
    return sorted(found), errors


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether to look inside; a link to a folder is left alone, as it may lead in a circle."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_lock(entry: os.DirEntry[str]) -> bool:
    """Emacs marks a file that is being edited by a link that leads nowhere."""
    return entry.name.startswith(_LOCK) and entry.is_symlink()
