"""Reading what a person names on the command line: files, targets, problems."""

import codecs
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tilewright.errors import InputError
from tilewright.problems import find_problem, load_problem
from tilewright.problems.model import Problem
from tilewright.targets import parse_target
from tilewright.targets.model import Target

SKIPPED_FOLDERS = frozenset(
    {".git", ".venv", "venv", "node_modules", "__pycache__", "site-packages", ".ipynb_checkpoints"}
)


def read_source(path: Path, *, from_stdin: bool = False) -> str:
    """The text of a Python file, or of standard input standing for it.

    Raises:
        InputError: no such file, a folder, or not UTF-8.
    """
    if from_stdin:
        return sys.stdin.read()
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError("no such file; check the path", str(path)) from None
    except IsADirectoryError:
        raise InputError("is a folder; name a Python file", str(path)) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 text (byte {error.start}); is it a Python file?", str(path)
        ) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", str(path)) from None


def python_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Each file named, and every Python file and notebook below each folder, in a stable order."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for found in sorted([*path.rglob("*.py"), *path.rglob("*.ipynb")]):
            if not SKIPPED_FOLDERS & set(found.relative_to(path).parts):
                yield found


def checked_files(paths: Iterable[Path], *, isolated: bool) -> Iterator[Path]:
    """The files to check: those named, and those in folders that the project does not exclude."""
    from tilewright.checking import configuration_for  # brings every detector along

    named = list(paths)
    for path in python_files(named):
        if path in named or isolated or not configuration_for(path).excludes(path):
            yield path


def read_sources(
    paths: Iterable[Path], *, isolated: bool
) -> tuple[list[tuple[Path, str]], tuple[InputError, ...]]:
    """The texts of the files to check, and why some found in folders cannot be read.

    Raises:
        InputError: a file that was named cannot be read.
    """
    named = list(paths)
    texts: list[tuple[Path, str]] = []
    unread: list[InputError] = []
    for path in checked_files(named, isolated=isolated):
        try:
            texts.append((path, read_source(path)))
        except InputError as error:
            if path in named:
                raise
            unread.append(error)
    return texts, tuple(unread)


def write_source(path: Path, text: str) -> None:
    """Replace a file's text at once or not at all, keeping a byte order mark it had.

    Raises:
        InputError: it cannot be written.
    """
    try:
        mark = codecs.BOM_UTF8 if path.read_bytes().startswith(codecs.BOM_UTF8) else b""
        beside = path.with_name(f".{path.name}.tilewright")
        beside.write_bytes(mark + text.encode())
        shutil.copymode(path, beside)
        beside.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(path)) from None


def target_of(text: str | None) -> Target | None:
    return parse_target(text) if text else None


def problem_of(spec: Path | None, source: Path) -> Problem | None:
    """The problem that was named, else the one that stands beside the source."""
    return load_problem(spec, source) if spec else find_problem(source)
