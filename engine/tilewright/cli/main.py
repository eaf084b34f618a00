"""The ``tilewright`` command: its options are those of its commands."""

from typing import Annotated

import typer

from tilewright import __version__
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


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"tilewright {__version__}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Find, apply and verify optimizations for Triton and NKI kernels. No edit without evidence."""


def main() -> None:
    """Run the command line; every way out has an exit code of ``Exit``."""
    collect_seldom()
    write_anything()
    run(app)
