"""The HTML page of a run, written to the path that ``--report`` names."""

from pathlib import Path

from tilewright.cli.output import ERR
from tilewright.cli.runs import records
from tilewright.errors import InputError
from tilewright.report.view import write_report
from tilewright.strategies.recorded import detail


def check_report(path: Path | None) -> None:
    """Refuse a path that cannot become a file, before a long command starts."""
    if path is not None and path.is_dir():
        raise InputError("this is a folder; name a file, such as report.html", str(path))


def keep_report(run: str, path: Path | None) -> None:
    """Write the page of a run on record; nothing where no path was named."""
    if path is None:
        return
    with records() as found:
        value = detail(found, found.named(run))
    try:
        write_report([value], path)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(
            f"the report cannot be written ({why}); `tilewright show {run} --report FILE` writes "
            "it elsewhere",
            str(path),
        ) from error
    ERR.print(f"report: {path}")
