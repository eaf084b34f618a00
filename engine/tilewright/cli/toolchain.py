"""``toolchain list`` and ``toolchain install``: the compilers for chips that are not here."""

from enum import StrEnum
from typing import Annotated

import typer

from tilewright.cli.output import ERR, OUT, Format, emit_json
from tilewright.devices.discovery import chosen_python
from tilewright.serialize import dump
from tilewright.targets.installing import install_xpu
from tilewright.targets.toolchains import ToolStatus, all_toolchains

app = typer.Typer(
    help="See and install the compilers of each backend.",
    no_args_is_help=True,
    add_completion=False,
)


class Installable(StrEnum):
    """What ``toolchain install`` can bring."""

    XPU = "xpu"


@app.command("list")
def list_toolchains(
    form: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.TEXT,
) -> None:
    """Say for each backend which compilers are here, and how to get those that are missing."""
    found = all_toolchains(chosen_python())
    if form is Format.JSON:
        emit_json({"toolchains": [dump(status) for status in found]})
        return
    for status in found:
        OUT.print(_line(status), markup=False)
        if status.missing:
            OUT.print(f"              {status.missing}", markup=False)
        if status.command:
            OUT.print(f"              get it: {status.command}", markup=False)


def _line(status: ToolStatus) -> str:
    what = f"{status.version} ({status.where})" if status.found else "not found"
    return f"{status.backend:<6}{status.part:<8}{what}"


@app.command()
def install(
    backend: Annotated[Installable, typer.Argument(help="xpu: Triton for Intel GPUs.")],
    form: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.TEXT,
) -> None:
    """Install a backend's compiler into Tilewright's home. Does nothing if it is there."""
    del backend  # there is one

    def say(line: str) -> None:
        ERR.print(line, markup=False)

    found = install_xpu(say)
    if form is Format.JSON:
        emit_json({"toolchain": dump(found)})
    else:
        OUT.print(f"xpu: {found.distribution} {found.version} ({found.python})", markup=False)
