"""``service status`` and ``service stop``: the processes that keep compilers warm."""

from typing import Annotated

import typer

from tilewright.cli.output import OUT, Format, emit_json
from tilewright.devices import service
from tilewright.serialize import dump

app = typer.Typer(
    help="List and stop the compile services.",
    no_args_is_help=True,
    add_completion=False,
)
_Form = Annotated[Format, typer.Option("--format", help="text or json.")]


@app.command()
def status(form: _Form = Format.TEXT) -> None:
    """List this user's compile services.

    A service starts when a kernel is compiled and ends when it is idle.
    """
    found = service.running_services()
    if form is Format.JSON:
        emit_json({"enabled": service.enabled(), "services": [dump(one) for one in found]})
        return
    if not service.enabled():
        OUT.print("turned off by TILEWRIGHT_SERVICE=0")
    if not found:
        OUT.print("no compile service runs")
    for one in found:
        OUT.print(_line(one), markup=False)


@app.command()
def stop(form: _Form = Format.TEXT) -> None:
    """Stop this user's compile services and their jobs."""
    stopped = service.stop_services()
    if form is Format.JSON:
        emit_json({"stopped": [dump(one) for one in stopped]})
        return
    for one in stopped:
        OUT.print(f"stopped process {one.pid}", markup=False)
    if not stopped:
        OUT.print("no compile service runs")


def _line(one: service.ServiceStatus) -> str:
    if not one.answers:
        return f"process {one.pid} does not answer at {one.socket}: `tilewright service stop`"
    versions = f"triton {one.triton}" + (f", torch {one.torch}" if one.torch else "")
    return (
        f"process {one.pid}: {versions}; {one.clients - 1} clients, {one.running} jobs running, "
        f"{one.waiting} waiting, {one.jobs} since it started {one.up_s:.0f} s ago; ends after "
        f"{one.idle_s:.0f} s without one"
    )
