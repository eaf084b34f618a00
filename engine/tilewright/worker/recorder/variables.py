"""What the environment of a recorded process says, and where the recorder writes."""

from __future__ import annotations

import os
from pathlib import Path

TO = "TILEWRIGHT_CAPTURE_TO"
LIMIT = "TILEWRIGHT_CAPTURE_LIMIT"
WRITES = "TILEWRIGHT_CAPTURE_WRITES"
VALUES = "TILEWRIGHT_CAPTURE_VALUES"
STEERED = "TILEWRIGHT_CAPTURE_STEERED"
UNDER_WAY = ".under-way"
"""Ends the names of files about launches that are being interpreted."""


def folder() -> Path:
    """Where this process and its children write their parts."""
    return Path(os.environ[TO])
