"""``toolchain list`` and ``toolchain install``: the compilers for chips that are not here."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from tilewright.cli.output import ERR, OUT, AsFormat, Format, emit_json
from tilewright.devices.discovery import chosen_python
from tilewright.devices.service.status import ServiceStatus, running_services
from tilewright.serialize import dump
from tilewright.targets.ocloc.install import install_ocloc, planned
from tilewright.targets.registry import all_targets
from tilewright.targets.toolchain_list import ToolStatus, all_toolchains, compiled_targets
from tilewright.targets.xpu_install import install_xpu, planned_xpu

app = typer.Typer(
    help="List and install the compilers of each backend.",
    no_args_is_help=True,
    add_completion=False,
)
_COLUMNS = 79
_INDENT: Mapping[str, Any] = {
    "initial_indent": " " * 6,
    "subsequent_indent": " " * 8,
    "break_long_words": False,
    "break_on_hyphens": False,
}


class Installable(StrEnum):
    """What ``toolchain install`` can bring."""

    XPU = "xpu"


@app.command("list")
def list_toolchains(form: AsFormat = Format.TEXT) -> None:
    """List compilers, the chips each one knows, and how to install missing ones."""
    found = all_toolchains(chosen_python())
    compiled = compiled_targets(found)
    if form is Format.JSON:
        told = {"toolchains": [dump(status) for status in found], "targets": list(compiled)}
        emit_json({**told, "services": [dump(one) for one in running_services()]})
        return
    for status in found:
        _show(status)
    _show_targets(compiled)
    _show_services(running_services())


def _show(status: ToolStatus) -> None:
    what = status.version if status.found else "not found"
    OUT.print(f"{status.backend:<6}{status.part:<17}{status.purpose}: {what}")
    told = (
        status.where.replace(str(Path.home()), "~", 1),
        f"knows {' '.join(status.targets)}" if status.targets else "",
        status.missing,
        f"get it: {status.command}" if status.command else "",
    )
    for line in filter(None, told):
        OUT.print(fill(line, _COLUMNS, **_INDENT))


def _show_targets(compiled: Sequence[str]) -> None:
    every = [str(target) for target in all_targets()]
    OUT.print(f"\nto machine code: {len(compiled)} of {len(every)} targets")
    lacking = [target for target in every if target not in compiled]
    if lacking:
        OUT.print(fill(f"not for: {' '.join(lacking)}", _COLUMNS, **_INDENT))


def _show_services(running: Sequence[ServiceStatus]) -> None:
    """One line each; ``tilewright service status`` tells more."""
    for one in running:
        said = f"triton {one.triton}" if one.answers else "does not answer"
        OUT.print(f"worker service: process {one.pid}, {said}")


@app.command()
def install(
    backend: Annotated[
        Installable,
        typer.Argument(help="xpu: Triton for Intel GPUs, and ocloc on Debian and Ubuntu."),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the steps; change nothing.")
    ] = False,
    form: AsFormat = Format.TEXT,
) -> None:
    """Install a backend's compilers into Tilewright's home.

    Does nothing if they are installed.
    """
    del backend  # there is one
    if dry_run:
        _say_plan(form)
        return

    def say(line: str) -> None:
        ERR.print(line)

    found = install_xpu(say)
    if form is Format.TEXT:
        OUT.print(f"xpu: {found.distribution} {found.version} ({found.python})")
    offline = install_ocloc(say)
    if form is Format.JSON:
        emit_json(
            {
                "toolchain": dump(found),
                "ocloc": {**dump(offline), "devices": sorted(offline.devices)},
            }
        )
    else:
        OUT.print(f"xpu: ocloc {offline.version} ({offline.path})")


def _say_plan(form: Format) -> None:
    steps = [*planned_xpu(), *planned()]
    if form is Format.JSON:
        emit_json({"steps": steps})
        return
    for step in steps:
        OUT.print(f"- {step}")
