"""Where a compilation's time goes, as Triton 3.4 and later tell a listener."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import triton

_ASSEMBLERS = ("cubin", "hsaco", "spv", "zebin")


@contextlib.contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Yields seconds of the front end, the optimizer and the assembler, there when it is done."""
    told: dict[str, float] = {}
    knobs = getattr(triton, "knobs", None)
    if knobs is None or not hasattr(knobs.compilation, "listener"):
        yield told
        return

    def listen(*, times: Any, **_: Any) -> None:
        stages = dict(times.lowering_stages)
        assembler = sum(stages.pop(name, 0) for name in _ASSEMBLERS)
        told["front_end_seconds"] = round(times.ir_initialization / 1e6, 4)
        told["optimizer_seconds"] = round(sum(stages.values()) / 1e6, 4)
        told["assembler_seconds"] = round(assembler / 1e6, 4)

    before = knobs.compilation.listener
    knobs.compilation.listener = listen
    try:
        yield told
    finally:
        knobs.compilation.listener = before
