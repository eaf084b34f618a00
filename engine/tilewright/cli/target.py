"""Which chip a command works for where ``--target`` does not say it."""

from pathlib import Path

from tilewright.captures import captured_on
from tilewright.checking import configuration_for
from tilewright.checking.target import Around, ChosenTarget, Origin, chosen_target
from tilewright.cli.inputs import target_of
from tilewright.cli.output import ERR
from tilewright.devices import list_devices
from tilewright.devices.model import INTERPRETER
from tilewright.problems.model import Problem
from tilewright.source import parse_module
from tilewright.source.device_names import device_names

AUTO = "auto"


def target_for(
    asked: str | None, device: str, path: Path, text: str, problem: Problem | None
) -> ChosenTarget:
    """``--target``, else the named device's own chip, else what file, project and machine say.

    Args:
        device: of ``--device``; one that is named and is a GPU decides itself.

    Raises:
        InputError: an unknown target, or settings that cannot be used.
    """
    wanted = target_of(asked)
    if wanted is not None:
        return ChosenTarget(wanted, Origin.ASKED, "--target")
    if device not in (AUTO, INTERPRETER):
        return ChosenTarget(None, Origin.MACHINE, f"--device {device}")
    gpus = [info.target for info in list_devices() if info.can_time] if device == AUTO else []
    named = configuration_for(path).rules_for(path).target
    around = Around(
        problem,
        captured_on(path),
        ((named, "the project's [tool.tilewright]"),) if named else (),
        next(filter(None, gpus), None),
    )
    chosen = chosen_target(device_names(parse_module(text, str(path))), around)
    if chosen.origin in (Origin.FILE, Origin.SETTINGS):
        ERR.print(f"target {chosen}", markup=False)
    return chosen
