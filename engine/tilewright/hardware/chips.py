"""The chips of the knowledge base, by target."""

import difflib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.hardware.model import Chip, HardwareError, HardwareFile
from tilewright.knowledge.files import knowledge_root, read_folder

if TYPE_CHECKING:  # tilewright.targets reads this package, so it is not imported at run time
    from tilewright.targets.model import Target


def all_chips() -> tuple[Chip, ...]:
    """Every chip, NVIDIA first, then AMD, then Intel."""
    return tuple(_chips(knowledge_root()).values())


def chip(target: "Target | str") -> Chip:
    """The chip of a target such as ``cuda:90``; raises HardwareError naming the nearest ones."""
    known = _chips(knowledge_root())
    name = str(target)
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, 3, 0.5) or list(known)
    raise HardwareError(f"unknown target '{name}'; the nearest are {', '.join(close)}")


@cache
def _chips(root: Path) -> Mapping[str, Chip]:
    files = read_folder(root, "hardware", HardwareFile)
    order = {"cuda": 0, "hip": 1, "xpu": 2}
    found = [chip for file in files for chip in file.chips]
    found.sort(key=lambda chip: order.get(chip.backend, len(order)))
    return {chip.id: chip for chip in found}
