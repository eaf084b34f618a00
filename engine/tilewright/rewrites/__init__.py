"""Deterministic rewrites: each fixes one issue where its preconditions hold, else says why not."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tilewright.rewrites.model import Numerics, Refusal, Rewrite

if TYPE_CHECKING:
    from tilewright.rewrites.launch_config import set_launch_config
    from tilewright.rewrites.tiles import TileKind, Tunable, tunable

__all__ = [
    "Numerics",
    "Refusal",
    "Rewrite",
    "TileKind",
    "Tunable",
    "all_rewrites",
    "rewrites_for",
    "set_launch_config",
    "tunable",
]


_LAZY = {
    "set_launch_config": "launch_config",
    "TileKind": "tiles",
    "Tunable": "tiles",
    "tunable": "tiles",
}


def __getattr__(name: str) -> Any:
    """What needs the analysis, loaded when it is asked for."""
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def all_rewrites() -> tuple[Rewrite, ...]:
    """Every rewrite, in the order of the stages they belong to."""
    # Here, as they need all detectors, and most that import this package do not.
    from tilewright.rewrites import (
        algorithmic,
        autotuning,
        correctness,
        device,
        dtype,
        memory,
        nki,
        options,
        rows,
        swizzle,
    )

    return (
        *correctness.REWRITES,
        *algorithmic.REWRITES,
        *rows.REWRITES,
        *dtype.REWRITES,
        *memory.REWRITES,
        *device.REWRITES,
        *swizzle.REWRITES,
        *options.REWRITES,
        *autotuning.REWRITES,
        *nki.REWRITES,
    )


def rewrites_for(issue_id: str) -> tuple[Rewrite, ...]:
    """The rewrites that fix an issue; empty where there is none."""
    return tuple(rewrite for rewrite in all_rewrites() if rewrite.issue == issue_id)
