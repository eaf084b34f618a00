"""What ``tilewright toolchain list`` tells: each compiler, and the chips that it knows."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.targets.model import Target
from tilewright.targets.ocloc.location import OCLOC, ocloc
from tilewright.targets.registry import all_targets
from tilewright.targets.tool_version import command_output
from tilewright.targets.toolchains import (
    INSTALL_XPU,
    NoToolchainError,
    interpreter,
    xpu_toolchain,
)
from tilewright.targets.xpu import TRAITS

INSTALL_LOCAL = "pip install torch triton"
INSTALL_SPIRV_DIS = "apt-get install spirv-tools"
_FOLDERS = {"cuda": "nvidia", "hip": "amd"}
_ASSEMBLERS = ("ptxas", "ptxas-blackwell")
# From which architecture on Triton takes its second assembler, where it does not tell.
_FIRST_BLACKWELL = 100
# Which of its assemblers Triton takes for an architecture differs between its versions.
_ASK_ASSEMBLER = """
import json, sys
sys.path[:] = [p for p in sys.path if p]
from triton import knobs
from triton.backends.nvidia.compiler import get_ptxas
second = knobs.nvidia.ptxas_blackwell.path
print(json.dumps([a for a in sys.argv[1:] if get_ptxas(int(a)).path == second]))
"""
_RELEASE = re.compile(r"\bV(\d+(?:\.\d+)+)")
# The LLVM in Triton takes any name of a chip and says on standard error that it does not know it.
# Loading its library alone takes a twentieth of a second, importing Triton most of one. The number
# of flags at the end of the call is another in each version.
_ASK_LLVM = """
import glob, importlib.util as iu, json, os, sys, tempfile
sys.path[:] = [p for p in sys.path if p]
root = next(iter(iu.find_spec("triton").submodule_search_locations))
path = glob.glob(os.path.join(root, "_C", "libtriton*"))[0]
spec = iu.spec_from_file_location("libtriton", path)
library = iu.module_from_spec(spec)
spec.loader.exec_module(library)
library.llvm.init_targets()
def knows(triple, chip):
    kept = os.dup(2)
    with tempfile.TemporaryFile() as stderr:
        os.dup2(stderr.fileno(), 2)
        try:
            for flags in range(2, 6):
                try:
                    library.llvm.translate_to_asm(
                        "define void @k() {\\n ret void\\n}\\n", triple, chip, "", [],
                        *[False] * flags)
                    break
                except TypeError:
                    continue
            else:
                return None
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        stderr.seek(0)
        return b"not a recognized processor" not in stderr.read()
print(json.dumps({"root": root, "known": [knows(*pair) for pair in json.loads(sys.argv[1])]}))
"""


@dataclass(frozen=True)
class ToolStatus:
    """One compiler or tool of one backend, there or not.

    Attributes:
        part: "triton", "ptxas", "ptxas-blackwell", "nvdisasm", "ocloc" or "spirv-dis".
        purpose: what it is for.
        targets: architectures of ours that it was found to know.
        lacking: those that it should know and does not.
        missing: what cannot be done, or is not known, without more than there is; empty: nothing.
        command: gets what is missing; empty if nothing is, or no command does.
    """

    backend: str
    part: str
    purpose: str
    found: bool
    version: str = ""
    where: str = ""
    targets: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    missing: str = ""
    command: str = ""


def all_toolchains(python: str) -> tuple[ToolStatus, ...]:
    """Every backend's compilers; ``python`` is the interpreter that kernels run in."""
    return (
        _triton("cuda", python),
        *_nvidia_tools(python),
        _triton("hip", python),
        _intel(),
        _offline(),
        _spirv_dis(),
    )


def compiled_targets(statuses: Iterable[ToolStatus]) -> tuple[str, ...]:
    """Targets whose kernels the compilers that are here take all the way to machine code."""
    known = {
        (status.part, f"{status.backend}:{arch}") for status in statuses for arch in status.targets
    }
    return tuple(
        target
        for target in map(str, all_targets())
        if ("triton", target) in known
        and any((maker, target) in known for maker in _last_makers(target))
    )


def _last_makers(target: str) -> tuple[str, ...]:
    backend = target.partition(":")[0]
    return {"cuda": _ASSEMBLERS, "xpu": ("ocloc",)}.get(backend, ("triton",))


def _archs(backend: str) -> tuple[str, ...]:
    return tuple(target.arch for target in all_targets() if target.backend == backend)


def _triton(backend: str, python: str) -> ToolStatus:
    purpose = "to machine code" if backend == "hip" else "to PTX"
    absent = ToolStatus(backend, "triton", purpose, False, command=INSTALL_LOCAL)
    try:
        found = interpreter(python)
    except OSError as error:
        return _changed_status(absent, missing=f"{python}: {error.strerror}")
    if _FOLDERS[backend] not in found.backends:
        return _changed_status(
            absent, missing=f"{python} has no Triton that compiles for {backend}"
        )
    known, lacking = _known_to_llvm(backend, python)
    missing = f"its LLVM does not know {', '.join(lacking)}: a newer Triton's does"
    if not known and not lacking:
        missing = "the chips that its LLVM supports are unknown"
    return ToolStatus(
        backend, "triton", purpose, True, f"{found.distribution} {found.version}", python,
        known, lacking, missing if lacking or not known else "",
    )  # fmt: skip


def _changed_status(status: ToolStatus, **changed: str) -> ToolStatus:
    return ToolStatus(**{**vars(status), **changed})


def _known_to_llvm(backend: str, python: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(architectures that the LLVM of a Triton knows, those it does not); both empty: unknown."""
    archs = _archs(backend)
    answers = _llvm(python)
    told = {arch: answers.get(f"{backend}:{arch}") for arch in archs}
    known = tuple(arch for arch in archs if told[arch])
    return known, tuple(arch for arch in archs if told[arch] is False)


@cache
def _llvm(python: str) -> dict[str, bool | None]:
    targets = [target for target in all_targets() if target.backend in _FOLDERS]
    asked = json.dumps([_llvm_name(target) for target in targets])
    try:
        answer = json.loads(command_output([python, "-c", _ASK_LLVM, asked]).splitlines()[-1])
    except (OSError, IndexError, ValueError):
        return {}
    return dict(zip(map(str, targets), answer["known"], strict=True))


def _llvm_name(target: Target) -> tuple[str, str]:
    if target.backend == "hip":
        return "amdgcn-amd-amdhsa", target.arch
    # Triton asks for the features of the architecture alone from Hopper on.
    specific = "a" if int(target.arch) >= 90 else ""
    return "nvptx64-nvidia-cuda", f"sm_{target.arch}{specific}"


def _nvidia_tools(python: str) -> tuple[ToolStatus, ...]:
    archs = _archs("cuda")
    new = _second_assemblers(python)
    old = tuple(arch for arch in archs if arch not in new)
    first, second = _ASSEMBLERS
    return (
        _nvidia_tool(first, python, "TRITON_PTXAS_PATH", old, "PTX to machine code"),
        _nvidia_tool(
            second, python, "TRITON_PTXAS_BLACKWELL_PATH", new, "the same for newer chips"
        ),
        _nvidia_tool("nvdisasm", python, "", archs, "machine code as text"),
    )


@cache
def _second_assemblers(python: str) -> tuple[str, ...]:
    """Architectures for which Triton takes ``ptxas-blackwell``."""
    archs = _archs("cuda")
    try:
        answer = json.loads(command_output([python, "-c", _ASK_ASSEMBLER, *archs]).splitlines()[-1])
    except (OSError, IndexError, ValueError):
        return tuple(arch for arch in archs if int(arch) >= _FIRST_BLACKWELL)
    return tuple(answer)


def _nvidia_tool(
    name: str, python: str, variable: str, archs: tuple[str, ...], purpose: str
) -> ToolStatus:
    path = (
        (os.environ.get(variable) if variable else "")
        or _shipped(name, python)
        or shutil.which(name)
    )
    absent = ToolStatus("cuda", name, purpose, False, command=INSTALL_LOCAL)
    if not path:
        return _changed_status(absent, missing="it comes with Triton, and is not on PATH either")
    try:
        version = _RELEASE.search(command_output([path, "--version"]))
        words = set(re.findall(r"\b(?:sm_|SM)(\d+)", command_output([path, "--help"])))
    except OSError as error:
        return _changed_status(absent, missing=f"{path}: {error.strerror}")
    lacking = tuple(arch for arch in archs if arch not in words)
    return ToolStatus(
        "cuda", name, purpose, True, version[1] if version else "unknown", path,
        tuple(arch for arch in archs if arch in words), lacking,
        f"it does not know {', '.join(lacking)}: a newer one does" if lacking else "",
    )  # fmt: skip


def _shipped(name: str, python: str) -> str:
    """A tool of the Triton of an interpreter; empty if it has none."""
    try:
        root = interpreter(python).root
    except OSError:
        return ""
    path = Path(root) / "backends" / "nvidia" / "bin" / name
    return str(path) if root and path.is_file() else ""


def _intel() -> ToolStatus:
    try:
        found = xpu_toolchain()
    except NoToolchainError as error:
        return ToolStatus(
            "xpu", "triton", "to SPIR-V", False, missing=str(error), command=INSTALL_XPU
        )
    return ToolStatus(
        "xpu", "triton", "to SPIR-V", True, f"triton-xpu {found.version}", found.python,
        _archs("xpu"),
    )  # fmt: skip


def _offline() -> ToolStatus:
    found, named = ocloc(), os.environ.get(OCLOC)
    purpose = "SPIR-V to machine code"
    if found is None:
        reason = f"{OCLOC} names {named}, which does not run. " if named else ""
        missing = f"{reason}without it nothing is known of registers and spills on Intel GPUs"
        return ToolStatus("xpu", "ocloc", purpose, False, missing=missing, command=INSTALL_XPU)
    lacking = found.lacking
    return ToolStatus(
        "xpu", "ocloc", purpose, True, found.version, found.path,
        tuple(arch for arch in TRAITS if arch not in lacking), lacking,
        f"it does not know {', '.join(lacking)}: a newer ocloc does" if lacking else "",
        INSTALL_XPU if lacking and not named else "",
    )  # fmt: skip


def _spirv_dis() -> ToolStatus:
    path, purpose = shutil.which("spirv-dis"), "SPIR-V as text"
    if path is None:
        missing = "`compile --emit spirv` has no text without it"
        return ToolStatus(
            "xpu", "spirv-dis", purpose, False, missing=missing, command=INSTALL_SPIRV_DIS
        )
    try:
        version = re.search(r"v(\d{4}\.\d+)", command_output([path, "--version"]))
    except OSError as error:
        return ToolStatus("xpu", "spirv-dis", purpose, False, missing=f"{path}: {error.strerror}")
    return ToolStatus("xpu", "spirv-dis", purpose, True, version[1] if version else "", path)
