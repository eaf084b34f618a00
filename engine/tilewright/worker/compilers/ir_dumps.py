"""Texts of the stages a kernel passes on its way to machine code, disassembled where need be."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import metrics

if TYPE_CHECKING:
    from ..messages.jobs import Compiled

# A longer text is not handed back: nobody reads it, and the cache would hold little else.
MOST_CHARACTERS = 32_000_000
_TOOL_SECONDS = 120
_NO_NVDISASM = "nvdisasm, which Triton's wheel brings, is not there and not on PATH"
_NO_SPIRV_DIS = "spirv-dis, which turns SPIR-V into text, is not on PATH: install spirv-tools"


def texts(
    asm: Mapping[str, Any], wanted: Iterable[str], more: Mapping[str, str] | None = None
) -> Compiled:
    """``artifacts`` and ``missing`` of a report: texts by stage, and why a stage has none.

    Args:
        asm: what Triton keeps of a compilation, by its own names.
        more: texts that another compiler gave.
    """
    artifacts: dict[str, str] = {}
    missing: dict[str, str] = {}
    for stage in wanted:
        text, why = _text(stage, {**asm, **(more or {})})
        if not text:
            missing[stage] = why
        elif len(text) > MOST_CHARACTERS:
            missing[stage] = f"{len(text)} characters are more than are handed back"
        else:
            artifacts[stage] = text
    return {"artifacts": artifacts, "missing": missing}


def _text(stage: str, asm: Mapping[str, Any]) -> tuple[str, str]:
    """(text, why there is none)."""
    if isinstance(asm.get(stage), str):
        return asm[stage], "it is empty"
    if stage in _DISASSEMBLERS:
        binary, disassemble, why = _DISASSEMBLERS[stage]
        if isinstance(asm.get(binary), bytes):
            return disassemble(asm[binary]), why
    return "", "this compiler does not pass it"


def _sass(cubin: bytes) -> str:
    """Code sections alone, with the source line of each instruction and where it was inlined."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return metrics.tool("nvdisasm", "-c", "-gi", file.name)


def _spirv(binary: bytes) -> str:
    path = shutil.which("spirv-dis")
    if path is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.spv"
        source.write_bytes(binary)
        done = subprocess.run(
            [path, "--no-color", str(source)],
            capture_output=True, text=True, errors="replace", timeout=_TOOL_SECONDS, check=False,
        )  # fmt: skip
    return done.stdout


_DISASSEMBLERS: Mapping[str, tuple[str, Callable[[bytes], str], str]] = {
    "sass": ("cubin", _sass, _NO_NVDISASM),
    "spirv": ("spv", _spirv, _NO_SPIRV_DIS),
}
