"""Quantiles of measured times."""

from collections.abc import Sequence


def quantiles(seconds: Sequence[float]) -> dict[str, float] | None:
    """Milliseconds: median, 95th percentile and least; None where nothing was measured."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return {
        "median": round(1e3 * ordered[last // 2], 2),
        "p95": round(1e3 * ordered[round(0.95 * last)], 2),
        "least": round(1e3 * ordered[0], 2),
        "of": len(ordered),
    }
