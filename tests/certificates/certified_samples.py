"""A file with two kernels, and certificates of the first as a run on an H200 would make them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.certificates.files import git_blob, packed
from tilewright.certificates.model import (
    CertificateFile,
    CheckFigures,
    CompiledFigures,
    DeviceFacts,
    Isolation,
    Original,
    ProblemFacts,
    SpeedFigures,
    Step,
    Subject,
)
from tilewright.certificates.parts import reached
from tilewright.source import parse_module
from tilewright.source.text import digest

TEXT = '''"""Two kernels that have nothing to do with each other."""

import math

import torch
import triton
import triton.language as tl

WIDTH = 256
UNUSED = 4


@triton.jit
def scale(x, factor):
    return x * factor


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Twice as much."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)  # a load
    tl.store(y_ptr + offsets, scale(x, 2.0), mask=mask)


def blocks(n):
    return (math.ceil(n / WIDTH),)


def double(x):
    y = torch.empty_like(x)
    double_kernel[blocks(x.numel())](x, y, x.numel(), BLOCK=WIDTH)
    return y


@triton.jit
def negate_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, -x, mask=offsets < n)


def negate(x):
    negate_kernel[(triton.cdiv(x.numel(), 128),)](x, x.numel(), BLOCK=128)
    return x


if __name__ == "__main__":
    print(double(torch.ones(3)))
'''
ORIGINAL = TEXT.replace("scale(x, 2.0)", "x + x")
FILE = "kernels.py"


def subject(text: str = TEXT, *roots: str) -> Subject:
    names = roots or ("double",)
    found = reached(parse_module(text, FILE), names)
    parts = tuple(placed.part for placed in found.parts)
    return Subject(FILE, digest(text), names, found.kernels, parts)


def certificate(**changes: Any) -> CertificateFile:
    """Faster on an H200, with every field filled in."""
    full = CertificateFile(
        version=1,
        hash="",
        level="faster",
        summary="faster: 1.94x [1.93, 1.95], big[0]; correct in 6 comparisons on NVIDIA H200",
        device=DeviceFacts("cuda:0", "NVIDIA H200", "cuda:90", can_time=True),
        target="cuda:90",
        created="2026-11-21T17:00:00+00:00",
        tilewright="0.1.0",
        toolchain={"python": "3.12.3", "torch": "2.11.0", "triton": "3.6.0"},
        steps=(
            *(Step(name, "passed") for name in ("syntax", "structure", "compile")),
            *(Step(name, "passed") for name in ("correctness", "speed")),
        ),
        speed=(SpeedFigures("big[0]", 1.94, 1.93, 1.95, 0.99, 200.0, 103.1, 40, 0.004, 0.01),),
        checks=(CheckFigures("ci[0]", 6, (0, 1), "reference double", (), 1e-6, 1e-7, 1.0, 0.01),),
        compiled=(CompiledFigures("double_kernel", 1, 1, (32, 32), (0, 0), (0, 0)),),
        isolation=Isolation("strong"),
        honesty=("kernels were launched",),
        unverified=("One thing.",),
        seeds=(7, 8),
        problem=ProblemFacts("kernels.yaml", "spec", "e" * 32, "double"),
        subject=subject(),
        original=Original(digest(ORIGINAL), packed(ORIGINAL), git_blob(ORIGINAL)),
    )
    return replace(full, **changes)


def put(folder: Path, text: str = TEXT) -> Path:
    """The file in a folder; its path."""
    path = folder / FILE
    path.write_text(text)
    return path
