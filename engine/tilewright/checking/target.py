"""The chip of a file: from the request, then the file, the settings, the machine."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tilewright.problems.model import Problem
from tilewright.source.device_names import DeviceName
from tilewright.targets.model import Target
from tilewright.targets.registry import all_targets

USUAL = (
    Target("xpu", "bmg-g31"),
    Target("cuda", "90"),
    Target("hip", "gfx942"),
    Target("neuron", "trn2"),
)
"""The chip that is meant where a vendor is named and no chip of it is known."""
_MAKERS = {
    "xpu": "xpu", "intel": "xpu", "cuda": "cuda", "nvidia": "cuda", "hip": "hip", "rocm": "hip",
    "amd": "hip",
}  # fmt: skip
_TORCHS = ("torch.cuda", ".cuda", ".is_cuda")


class Origin(StrEnum):
    """Who chose a target."""

    ASKED = "asked"
    FILE = "file"
    SETTINGS = "settings"
    MACHINE = "machine"
    DEFAULT = "default"


@dataclass(frozen=True)
class ChosenTarget:
    """A chip, who chose it and why, in words; no chip where nothing names one."""

    target: Target | None
    origin: Origin
    why: str

    def __str__(self) -> str:
        return f"{self.target}: {self.why}" if self.target else self.why


@dataclass(frozen=True)
class Around:
    """What decides the chip, other than a file's text.

    Attributes:
        problem: of the file; its spec may name a target, or variants for a vendor.
        captured: what the file's captured launches ran on.
        settings: the chips that settings name, each with the setting; the first goes first.
        machine: the GPU that is here.
        default: the chip that is assumed where nothing names one.
        usual: chips of vendors, the first of a vendor is meant where only that is named.
    """

    problem: Problem | None = None
    captured: tuple[Target, ...] = ()
    settings: tuple[tuple[Target, str], ...] = ()
    machine: Target | None = None
    default: Target | None = None
    usual: tuple[Target, ...] = USUAL


@dataclass(frozen=True)
class _Vendor:
    """Whose device a file is for: its backends, why, and the chip where the file names that."""

    backends: tuple[str, ...]
    why: str
    chip: Target | None = None


def chosen_target(
    names: Sequence[DeviceName], around: Around, asked: tuple[Target, str] | None = None
) -> ChosenTarget:
    """The chip that a file is for.

    Args:
        names: what its text names (``device_names``).
        asked: what a person asked for, for this file, and by what; nothing goes before it.
    """
    if asked is not None:
        return ChosenTarget(asked[0], Origin.ASKED, asked[1])
    vendor = _of_file(names, around)
    if vendor is not None and vendor.backends:
        return _chip_of(vendor, around)
    unsaid = f"; {vendor.why}" if vendor is not None else ""
    for target, setting in around.settings:
        return ChosenTarget(target, Origin.SETTINGS, f"{setting}{unsaid}")
    if around.machine is not None:
        return ChosenTarget(around.machine, Origin.MACHINE, f"this machine's GPU{unsaid}")
    told = unsaid or "; the file names no device"
    return ChosenTarget(around.default, Origin.DEFAULT, f"no setting and no GPU here{told}")


def _of_file(names: Sequence[DeviceName], around: Around) -> _Vendor | None:
    """What the file says, the plainest first; without backends where it says several things."""
    problem = around.problem
    if problem is not None and problem.target is not None:
        chip = problem.target
        return _Vendor((chip.backend,), "the problem's spec names it", chip)
    demands = [name for name in names if not name.asks]
    named = _named(demands or names)
    if named is not None and (named.backends or demands):
        return named
    categories = problem.cases if problem is not None else ()
    makers = {_MAKERS[word]: key for key in categories for word in _words(key) if word in _MAKERS}
    if len(makers) == 1:
        ((backend, key),) = makers.items()
        return _Vendor((backend,), f"the problem's spec has the variant {key}")
    if len(set(around.captured)) == 1:
        chip = around.captured[0]
        return _Vendor((chip.backend,), "its launches were captured on it", chip)
    return named


def _words(key: str) -> list[str]:
    return re.split(r"[^a-z]+", key.lower())


def _named(names: Sequence[DeviceName]) -> _Vendor | None:
    """The vendor that all of these names mean. What torch calls cuda may be AMD's as well."""
    first: dict[str, DeviceName] = {}
    for name in sorted(names, key=lambda one: one.is_option):
        first.setdefault(name.backend, name)
    if not first:
        return None
    if set(first) == {"cuda", "hip"} and _is_torchs(names):
        del first["cuda"]
    said = " and ".join(f"{name.words}, line {name.line}" for name in first.values())
    if len(first) > 1:
        return _Vendor((), f"the file names devices of several vendors: {said}")
    ((backend, name),) = first.items()
    either = ("cuda", "hip") if backend == "cuda" and _is_torchs(names) else (backend,)
    archs = {one.arch for one in names if one.arch} if backend == "hip" else set()
    chip = Target(backend, archs.pop()) if len(archs) == 1 else None
    known = chip if chip in all_targets() else None
    where = "a launch option of the file is" if name.is_option else "the file's host code names"
    where = "the file has" if backend == "neuron" else where
    return _Vendor(either, f"{where} {said}", known)


def _is_torchs(names: Iterable[DeviceName]) -> bool:
    """Whether all that names NVIDIA is a name that torch has for AMD's GPUs too."""
    mine = [name.words for name in names if name.backend == "cuda"]
    return all(words in _TORCHS or words.startswith('"cuda') for words in mine)


def _chip_of(vendor: _Vendor, around: Around) -> ChosenTarget:
    """The vendor's chip: the one that the file names, else the best known of that vendor."""
    here = ((around.machine, "this machine's GPU"),) if around.machine else ()
    others = (s for s in (*around.settings, *here) if s[0].backend not in vendor.backends)
    but = "".join(f"; {whose} is {target}" for target, whose in others)
    if vendor.chip is not None:
        return ChosenTarget(vendor.chip, Origin.FILE, f"{vendor.why}{but}")
    ways = [
        *((target, "that its launches were captured on") for target in around.captured),
        *((target, f"of {setting}") for target, setting in around.settings),
        *(((around.machine, "of this machine"),) if around.machine else ()),
    ]
    for target, whose in ways:
        if target.backend in vendor.backends:
            return ChosenTarget(
                target, Origin.FILE, f"{vendor.why}; the chip is the one {whose}{but}"
            )
    backend = vendor.backends[0]
    usual = next(t for t in (*around.usual, *USUAL) if t.backend == backend)
    return ChosenTarget(usual, Origin.FILE, f"{vendor.why}{but}")
