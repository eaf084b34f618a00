"""The inputs of checks as files in the coordinator's folder."""

from __future__ import annotations

import os
import shutil
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..messages.parts import Entries


@dataclass(eq=False)
class InputFiles:
    """The inputs of checks as files, removed with the last measure that is of them."""

    manifest: Entries
    folder: Path

    def __post_init__(self) -> None:
        weakref.finalize(self, _removed, self.folder, os.getpid()).atexit = False

    @property
    def size(self) -> int:
        """Their bytes."""
        return sum(Path(one["file"]).stat().st_size for one in self.manifest if "file" in one)


def _removed(folder: Path, owner: int) -> None:
    # A forked child has the object as well.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
