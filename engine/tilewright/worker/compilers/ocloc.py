"""Intel's offline compiler: native code from SPIR-V, and what it says about registers and spills.

Figures come from the kernel's entry in the binary's ``.ze_info`` section: ``grf_count`` registers a
hardware thread, ``spill_size`` bytes of scratch that one hardware thread (a sub-group) spills into.
A build of IGC may dump no assembly.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from . import metrics

SPILL_UNIT = "bytes of scratch a hardware thread, which runs one sub-group"
# Compilers of 2022 write an older format without it, which tells less.
_ELF = "-cl-intel-allow-zebin"
_UNKNOWN_DEVICE = re.compile(r"Could not determine device target|Cannot get HW Info")
_REGISTERS = re.compile(rb"\bgrf_count:\s+(\d+)")
_SPILLED_BYTES = re.compile(rb"\bspill_size:\s+(\d+)")
_SPILL_SIZE = re.compile(r"^//\.spill size (\d+)", re.MULTILINE)
_SPILLED = re.compile(r"allocated (\d+) regs and spilled around (\d+)")
_DECLARATION = re.compile(r"^//\.declare .*\n", re.MULTILINE)


class UnknownDeviceError(Exception):
    """This offline compiler is too old, or too new, for the chip."""


@dataclass(frozen=True)
class Native:
    """What became of one kernel.

    Attributes:
        error: what the compiler said when it gave no code; empty otherwise.
        registers: registers a hardware thread; 128 or 256 before Xe3. None if unknown.
        spill_bytes: see ``SPILL_UNIT``; None if unknown.
        spill_message: the compiler's warning that it spilled; empty if it gave none.
        seconds: it took.
        assembly: what was dumped, without the declarations before the code.
    """

    error: str = ""
    registers: int | None = None
    spill_bytes: int | None = None
    code_bytes: int | None = None
    spill_message: str = ""
    seconds: float = 0.0
    assembly: str = ""


def compile_native(
    ocloc: str, spirv: bytes, device: str, flags: str, register_bytes: int, folder: Path
) -> Native:
    """Build native code in ``folder``; raises UnknownDeviceError."""
    folder.mkdir(parents=True)
    source, dump = folder / "kernel.spv", folder / "dump"
    source.write_bytes(spirv)
    dump.mkdir()
    command = [
        ocloc, "compile", "-spirv_input", "-file", str(source), "-device", device,
        "-options", flags, "-internal_options", _ELF, "-output", "kernel", "-out_dir", str(folder),
    ]  # fmt: skip
    dumping = {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCustomDir": f"{dump}/"}
    start = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, cwd=folder,
        env={**os.environ, **dumping},
    )  # fmt: skip
    said = done.stdout + done.stderr
    if _UNKNOWN_DEVICE.search(said):
        raise UnknownDeviceError(device)
    binary = next(iter(folder.glob("*.bin")), None)
    if done.returncode != 0 or binary is None:
        return Native(error=_error(said) or f"ocloc ended with {done.returncode}")
    native = _read(binary.read_bytes(), said, register_bytes, dump)
    return replace(native, seconds=round(time.perf_counter() - start, 4))


def _read(binary: bytes, said: str, register_bytes: int, dump: Path) -> Native:
    registers = _REGISTERS.search(binary)
    code = metrics.code_bytes(binary)
    assembly = _final_assembly(dump, code)
    return Native(
        registers=int(registers[1]) if registers else None,
        spill_bytes=_spill_bytes(binary, assembly, said, register_bytes),
        code_bytes=code or None,
        spill_message=_spill_message(said),
        assembly=_DECLARATION.sub("", assembly),
    )


def _spill_bytes(binary: bytes, assembly: str, said: str, register_bytes: int) -> int | None:
    """From the most telling source there is; compilers of 2022 state it in the assembly alone, and
    warn only of many."""
    if stated := _SPILLED_BYTES.search(binary):
        return int(stated[1])
    if assembly:
        listed = _SPILL_SIZE.search(assembly)
        return int(listed[1]) if listed else 0
    warned = _SPILLED.findall(said)
    return int(warned[-1][1]) * register_bytes if warned else None


def _final_assembly(dump: Path, code_bytes: int | None) -> str:
    """The assembly of the code that was kept: IGC may compile a kernel twice and dumps both."""
    kept = [path for path in dump.glob("*.asm") if path.with_suffix(".dat").exists()]
    if not kept or code_bytes is None:
        return ""

    def difference(path: Path) -> int:
        return abs(path.with_suffix(".dat").stat().st_size - code_bytes)

    return min(kept, key=difference).read_text(encoding="utf-8", errors="replace")


def _spill_message(said: str) -> str:
    told = [line.strip() for line in said.splitlines() if _SPILLED.search(line)]
    return told[-1] if told else ""


def _error(said: str) -> str:
    """The compiler's own sentence, without what it prints of itself."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    told = [line for line in lines if "error" in line.lower()]
    return "\n".join((told or lines[-3:])[:4])
