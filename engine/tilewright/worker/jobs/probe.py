"""``probe``: what runs here, on what, and how far a job is confined."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING

import torch
import triton

from ..neuron import sdk
from ..runtime import gpu_inventory
from ..sandbox import landlock

if TYPE_CHECKING:
    from ..messages.jobs import Probed, ProbeJob


def perform(job: ProbeJob) -> Probed:
    """Versions, devices and confinement; opens the device driver, in this process alone.

    With ``details`` also what takes longer to find out. One that names a ``module`` is confined as
    a job is that imports it, though it does not.
    """
    confinement = job["confinement"]
    details = bool(job.get("details"))
    value: Probed = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "devices": gpu_inventory.gpus(details=details),
        "landlock": confinement["landlock"],
        "tcp_denied": confinement["landlock"] > 0 and landlock.denies_tcp(),
        "netns": confinement["netns"],
        "isolation": confinement.get("isolation"),
        "reasons": list(confinement.get("reasons", ())),
    }
    if details:
        value |= {
            "host": platform.node(),
            "interpreter": sys.executable,
            "profilers": gpu_inventory.profilers(),
            "neuron": sdk.packages(),
        }
    return value
