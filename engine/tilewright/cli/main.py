"""The ``tilewright`` command: its options are those of its commands."""

import typer

from tilewright.cli.boundary import run
from tilewright.cli.commands import Commands
from tilewright.cli.output import write_anything
from tilewright.collection import collect_seldom

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
    write_anything()
    run(app)
