"""Finding the configuration of a file: the nearest pyproject.toml that has one."""

from functools import lru_cache
from pathlib import Path

from tilewright.checking.configuration import (
    Configuration,
    ConfigurationError,
    default_configuration,
    read_configuration,
)

FILE_NAME = "pyproject.toml"


def configuration_for(file: Path) -> Configuration:
    """The configuration that holds for a file or folder; the defaults if there is none.

    Raises:
        ConfigurationError: there is one, and it cannot be used.
    """
    start = file.resolve()
    for folder in (start, *start.parents):
        found = _of_folder(folder)
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
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot be read: {error}", str(path)) from None
    return read_configuration(text, path)
