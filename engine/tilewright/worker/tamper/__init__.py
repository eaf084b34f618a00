"""What a version of the user's file does while it is imported and called, noted in its own process.

``observed`` notes launches, tensor operators, threads, streams, files, changed functions and
settings, and what is kept between calls; ``launches_skipped`` makes every launch do nothing, so
that what is still right was not the kernels' work. The facts are JSON. They come from the process
of the code under test: native code in it could forge them, so they may convict, never acquit.
"""

from .aliasing import shared
from .launch_log import launches_skipped, unchanged_share
from .monitor import Seen, exceeds, merged, observed, warm_up
from .retained_state import tensors_kept_by

__all__ = [
    "Seen",
    "exceeds",
    "launches_skipped",
    "merged",
    "observed",
    "shared",
    "tensors_kept_by",
    "unchanged_share",
    "warm_up",
]
