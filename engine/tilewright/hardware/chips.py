"""The chips of the knowledge base, by target."""

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tilewright.hardware.model import Chip, HardwareError, HardwareFile
from tilewright.hardware.neuron import NeuronChip
from tilewright.knowledge.files import knowledge_root, read_folder

if TYPE_CHECKING:  # tilewright.targets reads this package, so it is not imported at run time
    from tilewright.targets.model import Target

Found = TypeVar("Found")


def all_chips() -> tuple[Chip, ...]:
    """Every GPU, NVIDIA first, then AMD, then Intel."""
    return tuple(_chips(knowledge_root()).values())


def neuron_chips() -> tuple[NeuronChip, ...]:
    """Every NeuronCore, older ones first."""
    return tuple(_neuron_chips(knowledge_root()).values())


def chip(target: "Target | str") -> Chip:
    """The GPU of a target such as ``cuda:90``.

    Raises:
        HardwareError: there is no such target, or it is a NeuronCore.
    """
    gpus, cores = _chips(knowledge_root()), _neuron_chips(knowledge_root())
    return _find(
        str(target), gpus, cores, "is a NeuronCore, which runs NKI kernels; this needs a GPU"
    )


def neuron_chip(target: "Target | str") -> NeuronChip:
    """The NeuronCore of a target such as ``neuron:trn2``.

    Raises:
        HardwareError: there is no such target, or it is a GPU.
    """
    gpus, cores = _chips(knowledge_root()), _neuron_chips(knowledge_root())
    return _find(
        str(target), cores, gpus, f"is a GPU, which runs no NKI kernel; {_listed(cores)} do"
    )


def _find(name: str, known: Mapping[str, Found], others: Iterable[str], other: str) -> Found:
    """A chip by its target; ``other`` says what is wrong with one of the others."""
    if name in known:
        return known[name]
    if name in others:
        raise HardwareError(f"{name} {other}")
    close = difflib.get_close_matches(name, known, 3, 0.5) or list(known)
    raise HardwareError(f"unknown target '{name}'; the nearest are {_listed(close)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


@cache
def _chips(root: Path) -> Mapping[str, Chip]:
    order = {"cuda": 0, "hip": 1, "xpu": 2}
    found = [chip for file in _files(root) for chip in file.chips]
    found.sort(key=lambda chip: order.get(chip.backend, len(order)))
    return {chip.id: chip for chip in found}


@cache
def _neuron_chips(root: Path) -> Mapping[str, NeuronChip]:
    return {chip.id: chip for file in _files(root) for chip in file.neuron_chips}


@cache
def _files(root: Path) -> tuple[HardwareFile, ...]:
    return read_folder(root, "hardware", HardwareFile)
