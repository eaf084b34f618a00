"""How much of a device's memory the code under test may take."""

from __future__ import annotations

import time
from typing import Any

from ..protocol import JobError

SHARE = 0.9
_WAIT_S = 20.0
_PAUSE_S = 0.1
_SCARCE = 0.5


def limit(device: str, share: float = SHARE) -> int:
    """Let this process's tensors take no more than ``share`` of what is free now; in bytes.

    Opens the device. It is torch's allocator that refuses, with an error that a job can report;
    memory that is asked of the driver directly is not counted. 0 where torch has no such limit.

    The memory of a process that was killed comes back a moment later, and until then another one
    may find none to open the device with: that is waited for, for 20 seconds. Then a JobError says
    that it is others who hold it.
    """
    import torch

    kind, _, index = device.partition(":")
    api: Any = getattr(torch, "cuda" if kind in ("cuda", "hip") else kind, None)
    if not hasattr(api, "set_per_process_memory_fraction") or not hasattr(api, "mem_get_info"):
        return 0
    place = int(index or 0)
    free, total = _settled(api, place, device)
    allowed = int(free * share)
    api.set_per_process_memory_fraction(allowed / total, place)
    return allowed


def _settled(api: Any, place: int, device: str) -> tuple[int, int]:
    """(free, all) bytes once the device opens and, if little is free, no more of it comes back."""
    end = time.monotonic() + _WAIT_S
    free, total = _opened(api, place, device, end)
    while free < _SCARCE * total and time.monotonic() < end:
        time.sleep(_PAUSE_S)
        before, free = free, int(api.mem_get_info(place)[0])
        if free <= before:
            break
    return free, total


def _opened(api: Any, place: int, device: str, end: float) -> tuple[int, int]:
    while True:
        try:
            free, total = api.mem_get_info(place)
        except RuntimeError as error:
            if "out of memory" not in str(error).lower():
                raise
            if time.monotonic() >= end:
                raise JobError(
                    f"{device} had no memory left to open it with for {_WAIT_S:g} s, before any "
                    "code under test ran: other processes hold it (nvidia-smi lists them)"
                ) from error
        else:
            return int(free), int(total)
        time.sleep(_PAUSE_S)
