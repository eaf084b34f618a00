"""The ``tilewright`` command: options, exit codes and the last line of defence for errors."""

import errno
import sys
import traceback

import typer

from tilewright.cli.commands import Commands
from tilewright.cli.output import ERR, Exit, emit_event
from tilewright.collection import collect_seldom
from tilewright.errors import InputError, Stopped, TilewrightError

_NOWHERE_TO_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)

app = typer.Typer(
    name="tilewright",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _about() -> None:
    """Find, fix and prove optimizations of tile kernels. No edit without evidence."""


def main() -> None:
    """Run the command line; every way out has an exit code of ``Exit``."""
    collect_seldom()
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
            _report(TilewrightError(f"cannot write: {error}; make room, or write elsewhere"))
            sys.exit(Exit.USAGE)
        traceback.print_exc()
        ERR.print("tilewright: this is a fault in Tilewright; the lines above say where")
        sys.exit(Exit.INTERNAL)


def _report(error: TilewrightError) -> None:
    if "events" in sys.argv:
        place = (error.path, error.line) if isinstance(error, InputError) else (None, None)
        message = error.message if isinstance(error, InputError) else str(error)
        emit_event("error", message=message, path=place[0], line=place[1])
    ERR.print(f"tilewright: {error}", markup=False)
