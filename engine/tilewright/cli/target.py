"""Which chip a command works for where ``--target`` does not say it."""

from pathlib import Path

from tilewright.captures.problem import captured_on
from tilewright.checking import configuration_for
from tilewright.checking.target import Around, ChosenTarget, Origin, chosen_target
from tilewright.cli.inputs import target_of
from tilewright.cli.output import ERR
from tilewright.devices.discovery import list_devices
from tilewright.devices.model import INTERPRETER, NEURON_SIM, is_neuron_target
from tilewright.errors import InputError
from tilewright.problems.model import Problem
from tilewright.source import parse_module
from tilewright.source.device_names import device_names
from tilewright.source.model import Language, Module
from tilewright.targets.model import Target

AUTO = "auto"
USUAL_NEURON = Target("neuron", "trn2")
"""The NeuronCore that NKI kernels are estimated for where nothing names one."""


def target_for(
    asked: str | None, device: str, path: Path, text: str, problem: Problem | None
) -> ChosenTarget:
    """``--target``, else the named device's own chip, else what file, project and machine say.

    Args:
        device: of ``--device``; one that is named and is a GPU decides itself.

    Raises:
        InputError: an unknown target, one that does not run the file's kernels, or settings that
            cannot be used.
    """
    wanted = target_of(asked)
    module = parse_module(text, str(path))
    _check_language(module, wanted, device)
    if wanted is not None:
        return ChosenTarget(wanted, Origin.ASKED, "--target")
    named = configuration_for(path).rules_for(path).target
    if _is_nki(module):
        return _for_nki(named)
    if device not in (AUTO, INTERPRETER):
        return ChosenTarget(None, Origin.MACHINE, f"--device {device}")
    gpus = [info.target for info in list_devices() if info.can_time] if device == AUTO else []
    around = Around(
        problem,
        captured_on(path),
        ((named, "the project's [tool.tilewright]"),) if named else (),
        next(filter(None, gpus), None),
    )
    chosen = chosen_target(device_names(module), around)
    if chosen.origin in (Origin.FILE, Origin.SETTINGS):
        ERR.print(f"target {chosen}")
    return chosen


def _is_nki(module: Module) -> bool:
    """Whether a file's kernels are NKI's; some have no decorator, and only import it."""
    if module.kernels:
        return any(kernel.language is Language.NKI for kernel in module.kernels)
    return module.nki_flavour is not None


def _check_language(module: Module, wanted: Target | None, device: str) -> None:
    """Refuse a chip or a device that runs kernels of another language than the file's."""
    is_nki = _is_nki(module)
    if wanted is not None and module.kernels and is_neuron_target(wanted) is not is_nki:
        language, others = ("NKI", "neuron:trn2") if is_nki else ("Triton", "cuda:90")
        mixed = len({kernel.language is Language.NKI for kernel in module.kernels}) > 1
        way_out = f"name a target such as {others}"
        if mixed:
            way_out = "move those of the other language to a file of their own"
        raise InputError(
            f"it has {language} kernels, which {wanted} does not run; {way_out}", module.path
        )
    if device == NEURON_SIM and not is_nki:
        raise InputError(f"has no NKI kernel, and {NEURON_SIM} runs no others", module.path)


def _for_nki(named: Target | None) -> ChosenTarget:
    """The NeuronCore of a file with NKI kernels: of the project's settings, else the usual one."""
    if named is not None and is_neuron_target(named):
        return ChosenTarget(named, Origin.SETTINGS, "the project's [tool.tilewright]")
    return ChosenTarget(USUAL_NEURON, Origin.DEFAULT, "the file has NKI kernels")
