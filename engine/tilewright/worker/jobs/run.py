"""``run``: the entry point once, on a device or in Triton's interpreter, outputs written out."""

from __future__ import annotations

from typing import Any

from ..trials.version import Version, surroundings


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Run once; a result says which inputs changed and which kernels were launched."""
    with surroundings(job["device"], job["module"]):
        return Version(job).call(job)
