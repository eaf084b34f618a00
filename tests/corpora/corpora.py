"""Where the corpora are: packages of Triton kernels that nobody here wrote.

``make corpora`` installs them into ``build/corpora``; TILEWRIGHT_CORPORA names another folder.
"""

import os
from pathlib import Path

import pytest

from tilewright.analysis.model import Issue
from tilewright.source import Module

CORPORA = ("liger_kernel", "flag_gems")


def folder() -> Path:
    """The folder the corpora are installed in, there or not."""
    named = os.environ.get("TILEWRIGHT_CORPORA")
    return Path(named) if named else Path(__file__).parents[2] / "build" / "corpora"


def corpus(package: str) -> Path:
    """The folder of one corpus; skips the test that asks, where it is not installed."""
    found = folder() / package
    if not found.is_dir():
        pytest.skip(f"{package} is not in {folder()}: make corpora")
    return found


def version(package: str) -> str:
    """The installed version of a corpus, as its metadata folder is called."""
    name = next(folder().glob(f"{package}-*.dist-info")).name
    return name.removesuffix(".dist-info").rpartition("-")[2]


def files(package: str) -> list[Path]:
    """Every Python file of a corpus, in order."""
    return sorted(corpus(package).rglob("*.py"))


def kernel_files(package: str) -> list[Path]:
    """Those of its files that mention Triton's decorator."""
    return [path for path in files(package) if b"jit" in path.read_bytes()]


def covers(module: Module, issue: Issue) -> bool:
    """Whether an issue lies in its file."""
    last = len(module.text.splitlines()) + 1
    return 1 <= issue.range.line <= issue.range.end_line <= last
