"""Reading what a compiler made: registers, spills, shared memory."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import triton

if TYPE_CHECKING:
    from ..messages.jobs import Compiled
    from ..messages.parts import Details

_TOOL_SECONDS = 60

# Shared memory a program may use, by compute capability: CUDA C++ Programming Guide, table
# "Technical Specifications per Compute Capability" (maximum per thread block, opt-in).
_CUDA_SHARED = {
    "70": 98_304, "72": 98_304, "75": 65_536, "80": 166_912, "86": 101_376, "87": 166_912,
    "89": 101_376, "90": 232_448, "100": 232_448, "103": 232_448, "120": 101_376, "121": 101_376,
}  # fmt: skip
# Local data share a work group may use: AMD's ISA documents.
_HIP_SHARED = {"gfx950": 163_840}
_HIP_SHARED_DEFAULT = 65_536
_TENSOR_MEMORY_COLUMNS = 512

_RESOURCE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
_SPILL = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")


def shared_limit(backend: str, arch: str) -> int | None:
    """Bytes of shared memory a program may use; None where it is not known."""
    if backend == "cuda":
        return _CUDA_SHARED.get(arch)
    return _HIP_SHARED.get(arch, _HIP_SHARED_DEFAULT) if backend == "hip" else None


def nvidia(asm: Mapping[str, Any], ptxas_log: str) -> Compiled:
    """Figures of a cubin, and what ptxas said with -v while it made it.

    ``local_bytes`` is a thread's local memory: four times what Triton calls ``n_spills``.
    """
    usage = _resource_usage(asm["cubin"])
    spill = _SPILL.search(ptxas_log)
    used = _USED.search(ptxas_log)
    found: Compiled = {
        "registers": usage["registers"] if usage else int(used[1]) if used else None,
        "spill_bytes": _spilled(spill, usage),
        "code_bytes": code_bytes(asm["cubin"]),
    }
    details: Details = {}
    if usage:
        details["stack_bytes"] = usage["stack"]
        details["local_bytes"] = usage["stack"] + usage["local"]
    if spill:
        details.update(spill_store_bytes=int(spill[1]), spill_load_bytes=int(spill[2]))
    return {**found, "details": details}


def amd(asm: Mapping[str, Any]) -> Compiled:
    """Figures out of the metadata at the end of an amdgcn text."""
    text = asm["amdgcn"]
    vector, scalar = _yaml_number(text, "vgpr_count"), _yaml_number(text, "sgpr_count")
    spilled = _yaml_number(text, "vgpr_spill_count")
    details: Details = {}
    for name, value in (
        ("agprs", _yaml_number(text, "agpr_count")),
        ("sgprs", scalar),
        ("sgpr_spills", _yaml_number(text, "sgpr_spill_count")),
        ("scratch_bytes", _yaml_number(text, "private_segment_fixed_size")),
    ):
        if value is not None:
            details[name] = value
    return {
        "registers": vector,
        "spill_bytes": None if spilled is None else spilled * 4,
        "shared_bytes": _yaml_number(text, "group_segment_fixed_size"),
        "code_bytes": code_bytes(asm["hsaco"]),
        "details": details,
    }


def too_much_tensor_memory(metadata: Any) -> int | None:
    """Columns of Blackwell's tensor memory asked for, if that is more than there are."""
    columns = getattr(metadata, "tmem_size", None)
    return columns if columns and columns > _TENSOR_MEMORY_COLUMNS else None


def toolchain(backend: str, arch: str) -> str:
    """The compilers at work, with versions."""
    said = f"triton {triton.__version__}"
    if backend != "cuda":
        return said
    version = re.search(r"release [\d.]+, V([\d.]+)", _run(_ptxas(arch), "--version"))
    return f"{said}, ptxas {version[1]}" if version else said


def _ptxas(arch: str) -> str | None:
    """The assembler that Triton itself uses for an architecture: it ships two."""
    from triton.backends.nvidia.compiler import get_ptxas

    path = get_ptxas(int(re.sub(r"\D", "", arch))).path
    return str(path) if path else None


def code_bytes(binary: bytes) -> int | None:
    """Bytes of machine code in an ELF file: the executable sections' sizes added up."""
    if binary[:5] != b"\x7fELF\x02":
        return None
    (offset,) = struct.unpack_from("<Q", binary, 0x28)
    size, count = struct.unpack_from("<HH", binary, 0x3A)
    total = 0
    for at in range(offset, offset + size * count, size):
        (flags,) = struct.unpack_from("<Q", binary, at + 8)
        (length,) = struct.unpack_from("<Q", binary, at + 32)
        total += length if flags & 0x4 else 0
    return total


def _resource_usage(cubin: bytes) -> dict[str, int] | None:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        match = _RESOURCE.search(tool("cuobjdump", "-res-usage", file.name))
    if match is None:
        return None
    names = ("registers", "stack", "shared", "local")
    return dict(zip(names, map(int, match.groups()), strict=True))


def _spilled(spill: re.Match[str] | None, usage: Mapping[str, int] | None) -> int | None:
    """Spilled bytes; without ptxas's word, none only where no local memory is used at all."""
    if spill is not None:
        return int(spill[1]) + int(spill[2])
    return 0 if usage and not usage["stack"] and not usage["local"] else None


def tool(name: str, *arguments: str) -> str:
    """What a CUDA tool that Triton ships, or the machine has, printed; empty if it is not there."""
    shipped = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name
    return _run(str(shipped) if shipped.exists() else shutil.which(name), *arguments)


def _run(path: str | None, *arguments: str) -> str:
    if path is None:
        return ""
    done = subprocess.run(
        [path, *arguments], capture_output=True, text=True, timeout=_TOOL_SECONDS, check=False
    )
    return done.stdout + done.stderr


def _yaml_number(text: str, name: str) -> int | None:
    match = re.search(rf"\.{name}:\s+(\d+)", text)
    return int(match[1]) if match else None
