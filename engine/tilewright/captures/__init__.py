"""Launches recorded while somebody's own script or tests ran: made, kept, and looked up again."""

from tilewright.captures.folder import Captures, load_captures
from tilewright.captures.model import CapturedKernel, CapturedLaunch, CaptureError, Found
from tilewright.captures.problem import problem_of_captured

__all__ = [
    "CaptureError",
    "CapturedKernel",
    "CapturedLaunch",
    "Captures",
    "Found",
    "load_captures",
    "problem_of_captured",
]
