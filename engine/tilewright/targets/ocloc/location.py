"""Which ocloc is on this machine, and which chips it knows."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.home import home
from tilewright.targets.tool_version import command_output
from tilewright.targets.xpu import TRAITS

OCLOC = "TILEWRIGHT_OCLOC"
_VERSION = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True)
class Ocloc:
    """An offline compiler, and the names of the chips it knows."""

    path: str
    version: str
    devices: frozenset[str]

    @property
    def lacking(self) -> tuple[str, ...]:
        """Architectures of ours that it does not know."""
        return tuple(arch for arch, traits in TRAITS.items() if traits.device not in self.devices)


def ocloc_folder() -> Path:
    """Where ``toolchain install xpu`` puts one."""
    return home() / "toolchains" / "ocloc"


def ocloc() -> Ocloc | None:
    """The offline compiler that is used, if there is one that runs.

    The one that ``$TILEWRIGHT_OCLOC`` names and no other; else our own; else the one on the path.
    """
    if os.environ.get(OCLOC):
        return ocloc_named()
    own = ocloc_folder() / "ocloc"
    return (_running(str(own)) if own.is_file() else None) or ocloc_on_path()


def ocloc_named() -> Ocloc | None:
    """The one that the environment names, if it runs."""
    return _running(os.environ.get(OCLOC))


def ocloc_on_path() -> Ocloc | None:
    """The one on the path, if it runs."""
    return _running(shutil.which("ocloc"))


def _running(path: str | None) -> Ocloc | None:
    try:
        return ocloc_at(path) if path else None
    except OSError:
        return None


@cache
def ocloc_at(path: str) -> Ocloc:
    """What the ocloc at a path is; raises OSError if it cannot be run or is none."""
    version = _VERSION.search(command_output([path, "--version"])) or _VERSION.search(_driver(path))
    if version is None:
        raise OSError(0, f"{path} does not print its version")
    known = set(re.findall(r"[\w-]+", command_output([path, "compile", "--help"])))
    devices = frozenset(traits.device for traits in TRAITS.values()) & known
    return Ocloc(path, version[0], devices)


def _driver(path: str) -> str:
    """The version as compilers of 2022 tell it: in a file."""
    with tempfile.TemporaryDirectory() as folder:
        command_output([path, "query", "OCL_DRIVER_VERSION"], folder)
        return "".join(found.read_text(errors="replace") for found in Path(folder).iterdir())
