"""Which compilers are on this machine, where, and how to get those that are not.

Triton for Intel is another build of the package ``triton``, so it has an interpreter of its own:
``$TILEWRIGHT_XPU_PYTHON``, else ``toolchains/xpu`` in Tilewright's home. Intel's offline compiler
is ``$TILEWRIGHT_OCLOC``, else in that folder, else on the path.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.errors import TilewrightError
from tilewright.home import home
from tilewright.targets.xpu import TRAITS

XPU_PYTHON = "TILEWRIGHT_XPU_PYTHON"
OCLOC = "TILEWRIGHT_OCLOC"
INSTALL_XPU = "tilewright toolchain install xpu"
INSTALL_OCLOC = "apt-get install intel-ocloc"
INSTALL_LOCAL = "pip install torch triton"
_SECONDS = 60
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_BACKENDS = {"cuda": "nvidia", "hip": "amd", "xpu": "intel"}
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
print(json.dumps({"backends": backends, "versions": found}))
"""


class NoToolchainError(TilewrightError):
    """Nothing here compiles for the target: the kernel was not compiled, which is no verdict."""


@dataclass(frozen=True)
class Interpreter:
    """The Triton of an interpreter; empty strings and no backends where it has none."""

    python: str
    distribution: str
    version: str
    backends: tuple[str, ...]


@dataclass(frozen=True)
class Ocloc:
    """An offline compiler, and the names of the chips it knows."""

    path: str
    version: str
    devices: frozenset[str]


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


@dataclass(frozen=True)
class ToolStatus:
    """One compiler of one backend, there or not.

    Attributes:
        part: "triton" or "ocloc".
        missing: what cannot be done, or is not known, without more than there is; empty: nothing.
        command: gets what is missing; empty if nothing is.
    """

    backend: str
    part: str
    found: bool
    version: str = ""
    where: str = ""
    missing: str = ""
    command: str = ""


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
    return (
        f"no toolchain for xpu: run `{INSTALL_XPU}`, or set {XPU_PYTHON} to an interpreter that "
        "has Triton for Intel"
    )


@cache
def interpreter(python: str) -> Interpreter:
    """What Triton an interpreter has; raises OSError if it cannot be run."""
    said = _said([python, "-c", _ASK % (_DISTRIBUTIONS,)])
    try:
        answer = json.loads(said.splitlines()[-1])
    except (IndexError, ValueError):
        raise OSError(0, f"it gave no answer: {said.strip()[-200:]}") from None
    name = next((name for name in _DISTRIBUTIONS if name in answer["versions"]), "")
    version = answer["versions"].get(name, "")
    return Interpreter(python, name, version, tuple(answer["backends"]))


def ocloc() -> Ocloc | None:
    """Intel's offline compiler, if there is one that runs."""
    path = _ocloc_path()
    try:
        return _ocloc(path) if path else None
    except OSError:
        return None


def _ocloc_path() -> str | None:
    named = os.environ.get(OCLOC)
    own = xpu_folder() / "ocloc"
    return named or (str(own) if own.is_file() else shutil.which("ocloc"))


@cache
def _ocloc(path: str) -> Ocloc:
    version = _VERSION.search(_said([path, "--version"])) or _VERSION.search(_driver(path))
    known = set(re.findall(r"[\w-]+", _said([path, "compile", "--help"])))
    devices = frozenset(traits.device for traits in TRAITS.values()) & known
    return Ocloc(path, version[0] if version else "unknown", devices)


def _driver(path: str) -> str:
    """The version as compilers of 2022 tell it: in a file."""
    with tempfile.TemporaryDirectory() as folder:
        _said([path, "query", "OCL_DRIVER_VERSION"], folder)
        return "".join(found.read_text(errors="replace") for found in Path(folder).iterdir())


def _said(command: Sequence[str], folder: str | None = None) -> str:
    """What a short command prints; raises OSError if it cannot be run or does not end."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS,
            check=False, cwd=folder,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise OSError(0, f"it did not end within {_SECONDS} s") from None
    return done.stdout + ("" if done.stdout.strip() else done.stderr)


def all_toolchains(python: str) -> tuple[ToolStatus, ...]:
    """Every backend's compilers; ``python`` is the interpreter that kernels run in."""
    return (*(_triton(backend, python) for backend in ("cuda", "hip")), _intel(), _offline())


def _triton(backend: str, python: str) -> ToolStatus:
    try:
        found = interpreter(python)
    except OSError as error:
        return ToolStatus(
            backend, "triton", False, missing=f"{python}: {error.strerror}", command=INSTALL_LOCAL
        )
    if _BACKENDS[backend] not in found.backends:
        missing = f"{python} has no Triton that compiles for {backend}"
        return ToolStatus(backend, "triton", False, missing=missing, command=INSTALL_LOCAL)
    return ToolStatus(backend, "triton", True, f"{found.distribution} {found.version}", python)


def _intel() -> ToolStatus:
    try:
        found = xpu_toolchain()
    except NoToolchainError as error:
        return ToolStatus("xpu", "triton", False, missing=str(error), command=INSTALL_XPU)
    return ToolStatus("xpu", "triton", True, f"triton-xpu {found.version}", found.python)


def _offline() -> ToolStatus:
    found = ocloc()
    if found is None:
        named = os.environ.get(OCLOC)
        reason = f"{OCLOC} names {named}, which does not run. " if named else ""
        missing = (
            f"{reason}Kernels are compiled for Intel as far as SPIR-V; native code, registers and "
            "spills need ocloc, Intel's offline compiler (package intel-ocloc; in Debian 12 "
            f"intel-opencl-icd, which knows pvc and dg2 alone); {OCLOC} names one off the PATH"
        )
        return ToolStatus("xpu", "ocloc", False, missing=missing, command=INSTALL_OCLOC)
    unknown = [arch for arch, traits in TRAITS.items() if traits.device not in found.devices]
    missing = f"it does not know {', '.join(unknown)}: a newer ocloc does" if unknown else ""
    return ToolStatus("xpu", "ocloc", True, found.version, found.path, missing)
