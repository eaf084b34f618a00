"""Triton's caches of a coordinator's processes: each version writes only to a cache of its own."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ..sandbox import triton_cache
from .version import is_on_host

if TYPE_CHECKING:
    from ..messages.trial import Cached


class Caches:
    """Folders below a coordinator's own; each gives the fields of a job that ``confine`` goes by.

    What runs on the host compiles nothing, and finds nothing.
    """

    def __init__(self, device: str, folder: Path) -> None:
        self._compiles = not is_on_host(device)
        self._folder = folder

    def of_kept(self, module: str) -> Cached:
        """For a version that is kept: an original, a reference, a baseline."""
        return self._cache_settings(self._folder_of(module))

    def of_candidate(self, trial: int, *kept: str | None) -> Cached:
        """For a candidate, which also finds what the versions that are kept have compiled."""
        found = [self._folder_of(module) for module in kept if module]
        return self._cache_settings(self._folder / f"cache-{trial}", *found)

    def forget(self, trial: int) -> None:
        """Remove a candidate's."""
        shutil.rmtree(self._folder / f"cache-{trial}", ignore_errors=True)

    def _cache_settings(self, own: Path, *others: Path) -> Cached:
        if not self._compiles:
            return {"cache": triton_cache.EMPTY}
        own.mkdir(mode=0o700, exist_ok=True)
        return {"cache": str(own), "caches": [str(one) for one in others if one.is_dir()]}

    def _folder_of(self, module: str) -> Path:
        return self._folder / f"cache-of-{hashlib.sha256(module.encode()).hexdigest()[:16]}"
