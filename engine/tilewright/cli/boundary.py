"""Where unexpected errors end: of one file among many, and of the whole command line."""

import errno
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tilewright.cli.output import ERR, Exit, emit_event, write_anything
from tilewright.errors import InputError, Stopped, TilewrightError

_NOWHERE_TO_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class OwnFaultError(InputError):
    """A file on which Tilewright itself failed."""


class Faults:
    """What was wrong with single files while others went on; each is kept once."""

    def __init__(self) -> None:
        self._found: dict[str, InputError] = {}

    def add(self, error: InputError) -> None:
        self._found.setdefault(str(error), error)

    @property
    def all(self) -> tuple[InputError, ...]:
        """In the order in which they were met."""
        return tuple(self._found.values())

    @contextmanager
    def collect_from(self, path: Path) -> Iterator[None]:
        """Keep what goes wrong with one file, so that it ends nothing else."""
        try:
            yield
        except InputError as error:
            self.add(error)
        except TilewrightError as error:
            self.add(InputError(str(error), str(path)))
        except OSError as error:
            if error.errno in _NOWHERE_TO_WRITE:
                raise
            self.add(_own_fault(error, path))
        except Exception as error:  # noqa: BLE001  one file is such a boundary
            self.add(_own_fault(error, path))


def _own_fault(error: Exception, path: Path) -> OwnFaultError:
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(last.filename)}:{last.lineno}"  # noqa: PTH119
    what = f"{type(error).__name__}: {error}"
    why = f"a fault in Tilewright ({what}, {where}); the file is left out, please report it"
    return OwnFaultError(why, str(path))


def run(app: Callable[..., object]) -> None:
    """Run the command line; every way out has an exit code of ``Exit``."""
    write_anything()
    try:
        app(standalone_mode=True)
    except TilewrightError as error:
        _report(error)
        sys.exit(Exit.USAGE)
    except Stopped as stop:
        _report(TilewrightError(f"stopped by {stop} before there was a result"))
        sys.exit(Exit.STOPPED)
    except Exception as error:  # noqa: BLE001  the command line is one of the three boundaries
        if isinstance(error, OSError) and error.errno in _NOWHERE_TO_WRITE:
            _report(TilewrightError(f"cannot write: {error}; free space, or write to another path"))
            sys.exit(Exit.USAGE)
        traceback.print_exc()
        ERR.print("tilewright: this is a fault in Tilewright; the traceback above shows where")
        sys.exit(Exit.INTERNAL)


def _report(error: TilewrightError) -> None:
    if "events" in sys.argv:
        place = (error.path, error.line) if isinstance(error, InputError) else (None, None)
        message = error.message if isinstance(error, InputError) else str(error)
        emit_event("error", message=message, path=place[0], line=place[1])
    ERR.print(f"tilewright: {error}")
