"""The ``tilewright`` command with all its commands; its options are theirs."""

from typing import Annotated

import typer

from tilewright import __version__
from tilewright.cli.commands import Commands

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
def _main_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Find, apply and verify optimizations for Triton and NKI kernels. No edit without evidence."""
