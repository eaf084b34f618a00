"""Parts of a large result, drawn after it was computed: what is wrong throughout shows in any."""

from __future__ import annotations

import random
from typing import Any

import torch

MOST_BYTES = 16 << 20
_CHUNK = 1 << 16


def sampled(value: Any, seed: int) -> Any:
    """``value``, or where it takes more than ``MOST_BYTES`` so many bytes of it in one dimension.

    The same elements for the same seed, shape and dtype.
    """
    if not isinstance(value, torch.Tensor):
        return value
    total, most = value.numel(), MOST_BYTES // value.element_size()
    if total <= most:
        return value
    flat, draw = value.reshape(-1), random.Random(f"{seed}:{total}")
    starts = sorted(draw.randrange(total - _CHUNK) for _ in range(max(1, most // _CHUNK)))
    return torch.cat([flat[start : start + _CHUNK] for start in starts])
