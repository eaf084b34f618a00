"""Which files a job's module brought along, so that a kept result can tell when it is stale."""

from __future__ import annotations

import os
import sys
import sysconfig

_MOST = 4000
_VERSIONED = ("torch", "triton", "numpy")


def stamp(path: str) -> list[int] | None:
    """When a file was written and its size, to tell whether it is another one now."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size]


def loaded() -> frozenset[str]:
    """The names of the modules there are now."""
    return frozenset(sys.modules)


def brought_along(before: frozenset[str], module: str) -> dict[str, list[int]]:
    """Files of modules imported since ``before``, with their stamps.

    Not those of the standard library, of torch, triton and numpy, whose versions are in every key,
    nor ``module`` itself, whose text is.
    """
    apart = {os.path.realpath(module)}
    standard = sysconfig.get_paths()["stdlib"] + os.sep
    found: dict[str, list[int]] = {}
    for name in sorted(set(sys.modules) - before):
        file = getattr(sys.modules.get(name), "__file__", None)
        if not isinstance(file, str) or name.partition(".")[0] in _VERSIONED:
            continue
        path = os.path.realpath(file)
        installed = "site-packages" in path
        if path in apart or (path.startswith(standard) and not installed):
            continue
        if (seen := stamp(path)) is not None:
            found[path] = seen
        if len(found) == _MOST:
            break
    return found
