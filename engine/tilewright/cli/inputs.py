"""Reading what a person names on the command line: files and targets."""

import codecs
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tilewright.checking.configuration import configuration_for
from tilewright.cli.boundary import Faults
from tilewright.errors import InputError
from tilewright.problems.model import Problem
from tilewright.targets.model import Target
from tilewright.targets.registry import parse_target
from tilewright.textfile import decoded, encoded_python, python_text, read_bytes, utf8_text

_NOTEBOOK = ".ipynb"


def read_source(path: Path, *, from_stdin: bool = False) -> str:
    """The text of a Python file or a notebook, or of standard input (UTF-8) standing for it.

    Raises:
        InputError: no such file, no regular file, or not in the encoding it has to be in.
    """
    if from_stdin:
        return decoded(sys.stdin.buffer.read(), str(path), "utf-8")
    return utf8_text(path) if path.suffix == _NOTEBOOK else python_text(path)


def read_sources(
    paths: Iterable[Path], faults: Faults, *, isolated: bool
) -> Iterator[tuple[Path, str]]:
    """The files to check with their texts, one by one; what cannot be read is a fault."""
    from tilewright.checking.walk import files_to_check  # brings every detector along

    for found in files_to_check(paths, isolated=isolated):
        if isinstance(found, InputError):
            faults.add(found)
            continue
        text = None
        with faults.collect_from(found):
            text = read_source(found)
        if text is not None:
            yield found, text


def sources_of(
    paths: Sequence[Path], faults: Faults, *, isolated: bool, from_stdin: bool
) -> Iterator[tuple[Path, str]]:
    """The files with their texts, or the one path with the text of standard input."""
    if not from_stdin:
        yield from read_sources(paths, faults, isolated=isolated)
        return
    if len(paths) != 1:
        raise InputError("--stdin is one text; name one path for it")
    with faults.collect_from(paths[0]):
        yield paths[0], read_source(paths[0], from_stdin=True)


def write_source(path: Path, text: str) -> None:
    """Replace a file's text at once or not at all, in its encoding, keeping a byte order mark.

    Raises:
        InputError: it cannot be written.
    """
    try:
        mark = codecs.BOM_UTF8 if read_bytes(path).startswith(codecs.BOM_UTF8) else b""
        beside = path.with_name(f".{path.name}.tilewright")
        beside.write_bytes(mark + encoded_python(text, str(path)))
        shutil.copymode(path, beside)
        beside.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(path)) from None


def target_of(text: str | None) -> Target | None:
    return parse_target(text) if text else None


def with_permissions(problem: Problem | None, source: Path) -> Problem | None:
    """A problem with what the project of a file permits candidates to do."""
    if problem is None:
        return None
    return replace(problem, allow=configuration_for(source).rules_for(source).allow)
