"""The interpreters with a Triton on this machine, and what compiles for Intel GPUs.

Triton for Intel is another build of the package ``triton``, so it has an interpreter of its own:
``$TILEWRIGHT_XPU_PYTHON``, else ``toolchains/xpu`` in Tilewright's home.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.errors import TilewrightError
from tilewright.home import home
from tilewright.targets.ocloc.location import Ocloc, ocloc
from tilewright.targets.tool_version import command_output

XPU_PYTHON = "TILEWRIGHT_XPU_PYTHON"
INSTALL_XPU = "tilewright toolchain install xpu"
_DISTRIBUTIONS = ("triton-xpu", "pytorch-triton-xpu", "triton")
# Nothing is imported: importing Triton takes most of a second.
_ASK = """
import importlib.metadata as md, importlib.util as iu, json, os, sys
sys.path[:] = [p for p in sys.path if p]
spec = iu.find_spec("triton")
root = next(iter(spec.submodule_search_locations or ()), "") if spec else ""
folder = os.path.join(root, "backends")
backends = sorted(n for n in os.listdir(folder) if "." not in n and "_" not in n) \
    if root and os.path.isdir(folder) else []
found = {}
for name in %r:
    try:
        found[name] = md.version(name)
    except md.PackageNotFoundError:
        pass
print(json.dumps({"root": root, "backends": backends, "versions": found}))
"""


class NoToolchainError(TilewrightError):
    """Nothing here compiles for the target: the kernel was not compiled, which is no verdict."""


@dataclass(frozen=True)
class Interpreter:
    """The Triton of an interpreter, ``root`` its folder; empty where it has none."""

    python: str
    distribution: str
    version: str
    backends: tuple[str, ...]
    root: str = ""


@dataclass(frozen=True)
class XpuToolchain:
    """What compiles for Intel GPUs; without ``ocloc`` it ends at SPIR-V."""

    python: str
    version: str
    ocloc: Ocloc | None

    @property
    def identity(self) -> str:
        """The compilers' versions: part of the key of what they made."""
        native = self.ocloc.version if self.ocloc else "none"
        return f"triton-xpu {self.version}, ocloc {native}"


def xpu_folder() -> Path:
    """Where ``toolchain install xpu`` puts its environment."""
    return home() / "toolchains" / "xpu"


def xpu_python() -> str:
    """The interpreter that should have Triton for Intel; it need not exist."""
    return os.environ.get(XPU_PYTHON) or str(xpu_folder() / "bin" / "python")


def xpu_toolchain() -> XpuToolchain:
    """The compilers for Intel GPUs; raises NoToolchainError saying how to get them."""
    python = xpu_python()
    try:
        found = interpreter(python)
    except OSError as error:
        raise NoToolchainError(_absent(python, error.strerror or str(error))) from None
    if "intel" not in found.backends:
        raise NoToolchainError(_absent(python, "it has no Triton for Intel"))
    return XpuToolchain(python, found.version, ocloc())


def _absent(python: str, reason: str) -> str:
    if XPU_PYTHON in os.environ:
        return f"no toolchain for xpu: {XPU_PYTHON} names {python}: {reason}"
    if Path(python).exists():
        return f"no toolchain for xpu: {python}: {reason}; `{INSTALL_XPU}` installs it again"
    return (
        f"no toolchain for xpu: run `{INSTALL_XPU}`, or set {XPU_PYTHON} to an interpreter that "
        "has Triton for Intel"
    )


@cache
def interpreter(python: str) -> Interpreter:
    """What Triton an interpreter has; raises OSError if it cannot be run."""
    answered = command_output([python, "-c", _ASK % (_DISTRIBUTIONS,)])
    try:
        answer = json.loads(answered.splitlines()[-1])
    except (IndexError, ValueError):
        raise OSError(0, f"it gave no answer: {answered.strip()[-200:]}") from None
    name = next((name for name in _DISTRIBUTIONS if name in answer["versions"]), "")
    version = answer["versions"].get(name, "")
    return Interpreter(python, name, version, tuple(answer["backends"]), answer["root"])
