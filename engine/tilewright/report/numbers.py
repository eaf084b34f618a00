"""Figures as text. What has no value is "not measured", never a zero or a blank."""

from collections.abc import Mapping
from typing import Any

NOT_MEASURED = "not measured"


def speedup_text(speedup: Mapping[str, Any] | None) -> str:
    """``2.31× (2.25 to 2.38)``, or that there is none."""
    if speedup is None:
        return NOT_MEASURED
    return f"{speedup['value']:.2f}× ({speedup['low']:.2f} to {speedup['high']:.2f})"


def speedup_terms(speedup: Mapping[str, Any] | None) -> str:
    """What the ratio rests on: times, device, inputs, pairs, confidence, noise, resolution."""
    if speedup is None:
        return ""
    parts = []
    if speedup.get("original_us") and speedup.get("candidate_us"):
        parts.append(f"{time_text(speedup['original_us'])} → {time_text(speedup['candidate_us'])}")
    if speedup.get("device"):
        parts.append(f"on {speedup['device']}")
    if speedup.get("case"):
        parts.append(f"case {speedup['case']}")
    if speedup.get("samples"):
        parts.append(f"{speedup['samples']} interleaved pairs")
    if speedup.get("confidence"):
        parts.append(f"{speedup['confidence']:.0%} interval")
    noise = speedup.get("noise")
    parts.append("noise not measured" if noise is None else f"noise ±{noise:.1%}")
    if speedup.get("detectable"):
        parts.append(f"minimum detectable speed-up: {speedup['detectable']:.1%}")
    return ", ".join(parts)


def time_text(microseconds: float) -> str:
    """Microseconds in the unit a person would choose, three digits."""
    for limit, unit, scale in ((1e3, "µs", 1.0), (1e6, "ms", 1e3)):
        if microseconds < limit:
            return f"{microseconds / scale:.3g} {unit}"
    return f"{microseconds / 1e6:.3g} s"


def seconds_text(seconds: float | None) -> str:
    """``0.42 s``, ``3 min 05 s``; empty where nothing was timed."""
    if not seconds:
        return ""
    if seconds < 0.01:
        return "under 10 ms"
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
