"""How much of a result stays as it is when no kernel runs."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def unchanged_share(real: Sequence[torch.Tensor], skipped: Sequence[torch.Tensor]) -> float:
    """The share of elements, between 0 and 1, that equal the real ones though no kernel ran.

    NaN equals NaN, as the same bits would. Results of other shapes or numbers share nothing. What
    is in general not the kernels' work, such as zeros of an output that host code cleared, counts
    too: compare with the original's share.
    """
    total = same = 0
    for one, other in zip(real, skipped, strict=False):
        total += one.numel()
        if one.shape == other.shape and one.dtype == other.dtype:
            equal = one == other.to(one.device)
            if one.is_floating_point() or one.is_complex():
                equal |= torch.isnan(one) & torch.isnan(other.to(one.device))
            same += int(equal.sum())
    if len(real) != len(skipped):
        return 0.0
    return same / total if total else 0.0
