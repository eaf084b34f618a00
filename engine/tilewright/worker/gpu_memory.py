"""How much of a device's memory the code under test may take."""

from __future__ import annotations

from typing import Any

SHARE = 0.9


def limit(device: str, share: float = SHARE) -> int:
    """Let this process's tensors take no more than ``share`` of what is free now; in bytes.

    Opens the device. It is torch's allocator that refuses, with an error that a job can report;
    memory that is asked of the driver directly is not counted. 0 where torch has no such limit.
    """
    import torch

    kind, _, index = device.partition(":")
    api: Any = getattr(torch, "cuda" if kind in ("cuda", "hip") else kind, None)
    if not hasattr(api, "set_per_process_memory_fraction") or not hasattr(api, "mem_get_info"):
        return 0
    place = int(index or 0)
    free, total = api.mem_get_info(place)
    allowed = int(free * share)
    api.set_per_process_memory_fraction(allowed / total, place)
    return allowed
