"""Finding the configuration of a file: the nearest pyproject.toml that has one."""

import os
from functools import lru_cache
from pathlib import Path

from tilewright.checking.configuration import (
    Configuration,
    ConfigurationError,
    default_configuration,
    read_configuration,
)
from tilewright.errors import InputError
from tilewright.textfile import in_roots, utf8_text

FILE_NAME = "pyproject.toml"
_LARGEST = 4 * 1024 * 1024


def configuration_for(file: Path) -> Configuration:
    """The configuration that holds for a file or folder; the defaults if there is none.

    Raises:
        ConfigurationError: there is one, and it cannot be used.
    """
    # Not Path.resolve, which raises at a link that leads to itself.
    start = Path(os.path.realpath(file))
    for folder in (start, *start.parents):
        found = _of_folder(folder) if in_roots(folder) else None
        if found is not None:
            return found
    return default_configuration()


def _of_folder(folder: Path) -> Configuration | None:
    path = folder / FILE_NAME
    try:
        state = path.stat()
    except OSError:
        return None
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _read(path: Path, changed_ns: int, size: int) -> Configuration | None:
    # The time and the size are there to read a changed file anew.
    try:
        text = utf8_text(path, _LARGEST)
    except InputError as error:
        raise ConfigurationError(error.message, str(path), error.line) from None
    return read_configuration(text, path)
