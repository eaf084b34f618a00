"""``service status`` and ``service stop``: the workers that stay between commands."""

import typer

from tilewright.cli.output import OUT, AsFormat, Format, emit_json
from tilewright.devices.service.places import enabled
from tilewright.devices.service.status import ServiceStatus, running_services, stop_services
from tilewright.serialize import dump

app = typer.Typer(
    help="List and stop the worker services.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def status(form: AsFormat = Format.TEXT) -> None:
    """List this user's worker services.

    A service starts with the first command that compiles or runs a kernel and
    ends when it is idle.
    """
    found = running_services()
    if form is Format.JSON:
        emit_json({"enabled": enabled(), "services": [dump(one) for one in found]})
        return
    if not enabled():
        OUT.print("turned off by TILEWRIGHT_SERVICE=0")
    if not found:
        OUT.print("no worker service runs")
    for one in found:
        OUT.print(line(one))


@app.command()
def stop(form: AsFormat = Format.TEXT) -> None:
    """Stop this user's worker services and their jobs."""
    stopped = stop_services()
    if form is Format.JSON:
        emit_json({"stopped": [dump(one) for one in stopped]})
        return
    for one in stopped:
        OUT.print(f"stopped process {one.pid}")
    if not stopped:
        OUT.print("no worker service runs")


def line(one: ServiceStatus) -> str:
    """One service: what it is, what it does and holds, and when it ends."""
    if not one.answers:
        return f"process {one.pid} does not answer at {one.socket}: `tilewright service stop`"
    versions = f"triton {one.triton}" + (f", torch {one.torch}" if one.torch else "")
    return (
        f"process {one.pid}: {versions}; {one.clients - 1} clients, {one.running} jobs running, "
        f"{one.waiting} waiting, {one.jobs} since it started {one.up_s:.0f} s ago; holds "
        f"{', '.join(one.devices) or 'no device'}; ends after "
        f"{one.idle_s:.0f} s without one"
    )
