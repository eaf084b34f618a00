"""Captured launches where commands ask for them: those that still fit, and a word on the others."""

from pathlib import Path

from tilewright.captures import CapturedKernel, Captures, Found
from tilewright.cli.inputs import read_source
from tilewright.cli.output import ERR
from tilewright.source import parse_module


def found_in(captures: Captures, path: Path) -> Found:
    """What is captured of a file; kernels that were edited since are told on standard error."""
    if not captures.concern(path):
        return Found()
    found = captures.of(parse_module(read_source(path), str(path)), path)
    for kernel in found.stale:
        ERR.print(stale_line(path, kernel), markup=False)
    return found


def stale_line(path: Path, kernel: CapturedKernel) -> str:
    """Why a kernel's captured launches are not used."""
    return (
        f"{path}: the captured launches of {kernel.kernel} are stale and not used: the kernel "
        "was edited since; capture again"
    )
