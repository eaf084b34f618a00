"""``doctor``: tests of this machine's sandbox; a list of GPUs, compilers and profilers."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from tilewright.cli.output import OUT, AsFormat, Exit, Format, emit_json, working
from tilewright.cli.service import line
from tilewright.devices.discovery import chosen_python, list_devices
from tilewright.devices.model import DeviceError
from tilewright.devices.opening import open_device
from tilewright.devices.protections import Checkup, Protection, check_up, known_secret
from tilewright.devices.service.status import running_services
from tilewright.home import home
from tilewright.serialize import dump
from tilewright.targets.toolchain_list import ToolStatus, all_toolchains
from tilewright.worker.sandbox.isolation import STRONG
from tilewright.worker.sandbox.read_paths import MORE as MORE_FILES

_COLUMNS = 79
_BELOW: Mapping[str, Any] = {"initial_indent": " " * 16, "subsequent_indent": " " * 18}
_WORDS = {True: "holds", False: "does not hold", None: "not tested"}
_MEANING = {
    "strong": "code under test can change, read and reach nothing but its own",
    "partial": "code under test can change nothing outside and reach no network, but see above",
    "weak": "code under test could change this user's files or reach a network: see above",
}


def doctor(
    device: Annotated[
        str,
        typer.Option(
            help="Device id, as `tilewright devices` lists it; auto: a GPU if there is one."
        ),
    ] = "auto",
    python: Annotated[
        str | None, typer.Option(help="Python interpreter with torch and triton.")
    ] = None,
    form: AsFormat = Format.TEXT,
) -> None:
    """Test the sandbox; list GPUs, compilers and profilers.

    Each protection is tested on this machine. Exits with 0 if isolation is
    strong, 1 if it is weaker, 2 if no interpreter can run kernels.
    """
    with known_secret() as secret, working("trying what protects this machine ..."):
        try:
            checkup = check_up(open_device(device, python), secret)
        except DeviceError as error:
            raise _nothing_to_try(error) from error
        devices = list_devices(python, fresh=True)
        compilers = all_toolchains(chosen_python(python))
    if form is Format.JSON:
        told = {**dump(checkup), "devices": [dump(info) for info in devices]}
        places = {name: str(path) for name, path in _places()}
        emit_json({**told, "compilers": [dump(one) for one in compilers], "places": places})
    else:
        _show(checkup)
        _show_rest(devices, compilers)
    raise typer.Exit(Exit.DONE if checkup.isolation == STRONG else Exit.FINDINGS)


def _nothing_to_try(error: DeviceError) -> DeviceError:
    return DeviceError(f"no protection was tested, because no kernel can be run: {error}")


def _show(checkup: Checkup) -> None:
    OUT.print(f"isolation on {checkup.device}: {checkup.isolation}\n")
    for one in checkup.protections:
        _show_protection(one)
    OUT.print(f"\n{checkup.isolation}: {_MEANING[checkup.isolation]}")
    if checkup.claimed != checkup.isolation:
        text = f"a job's own report says {checkup.claimed}: {'; '.join(checkup.reasons) or '-'}"
        OUT.print(fill(text, _COLUMNS))
    _show_remedies(checkup.protections)
    named = os.environ.get(MORE_FILES)
    if named:
        OUT.print(f"{MORE_FILES} lets candidates also read {named}")


def _show_protection(one: Protection) -> None:
    OUT.print(f"  {_WORDS[one.holds]:<14}{one.what}")
    if one.why:
        OUT.print(fill(one.why, _COLUMNS, **_BELOW))


def _show_remedies(protections: Sequence[Protection]) -> None:
    """Each way to get more, once, with what it is for."""
    wanting = [one for one in protections if one.remedy]
    for remedy in dict.fromkeys(one.remedy for one in wanting):
        names = ", ".join(one.name for one in wanting if one.remedy == remedy)
        OUT.print(fill(f"  for {names}: {remedy}", _COLUMNS, subsequent_indent=" " * 4))


def _show_rest(devices: Sequence[Any], compilers: Sequence[ToolStatus]) -> None:
    OUT.print("\nplaces to run kernels")
    for info in devices:
        versions = f"Python {info.python}, torch {info.torch}, triton {info.triton}"
        OUT.print(f"  {info.id:<14}{info.name}; {versions}")
    OUT.print("\ncompilers")
    for one in compilers:
        what = one.version if one.found else f"not found ({one.command or one.missing})"
        OUT.print(f"  {one.backend:<6}{one.part:<17}{what}")
    for service in running_services():
        OUT.print(f"\nworker service\n  {line(service)}")
    OUT.print("\nfolders")
    for name, path in _places():
        size = _size(path)
        OUT.print(f"  {name:<16}{path} ({size >> 20} MiB)")


def _places() -> list[tuple[str, Path]]:
    """Folders that grow, by what they hold."""
    triton = Path(os.environ.get("TRITON_CACHE_DIR") or home() / "triton")
    return [("home", home()), ("Triton's cache", triton)]


def _size(folder: Path) -> int:
    """Bytes of all files below a folder; 0 where there is none."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                total += Path(place, name).lstat().st_size
            except OSError:  # gone meanwhile
                continue
    return total
