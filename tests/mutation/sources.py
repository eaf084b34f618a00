"""Where kernels to rewind come from: this repository's own, and published packages."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tilewright.source import parse_module
from tilewright.source.model import Module

ROOT = Path(__file__).parents[2]
CORPORA = ("liger_kernel", "flag_gems")
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def own_modules() -> Iterator[Module]:
    """What rewrites lead to, the examples, and the kernels of the detectors' golden files."""
    for path in sorted((ROOT / "tests" / "rewrites" / "golden").glob("*.after.py")):
        yield parse_module(path.read_text(), str(path))
    for path in sorted((ROOT / "examples").glob("*.py")):
        yield parse_module(path.read_text(), str(path))
    for path in sorted((ROOT / "tests" / "analysis" / "kernels").glob("*.md")):
        for number, match in enumerate(_BLOCK.finditer(path.read_text()), 1):
            yield parse_module(match.group(1), f"{path}#{number}")


def corpora_folder() -> Path:
    """The folder the published packages are installed in, there or not."""
    named = os.environ.get("TILEWRIGHT_CORPORA")
    return Path(named) if named else ROOT / "build" / "corpora"


def corpus_modules(package: str) -> Iterator[Module]:
    """Every file of a package that has a kernel."""
    for path in sorted((corpora_folder() / package).rglob("*.py")):
        if b"jit" in path.read_bytes():
            module = parse_module(path.read_text(), str(path))
            if module.kernels:
                yield module
