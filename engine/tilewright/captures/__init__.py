"""Recorded launches of a user's script or tests: recording, storage, lookup."""

from tilewright.captures.folder import Captures, load_captures, pack
from tilewright.captures.model import CapturedKernel, CapturedLaunch, CaptureError, Found
from tilewright.captures.problem import (
    CapturedProblem,
    captured_on,
    launches_of_file,
    nothing_captured,
    problem_of_captured,
    project_captures,
    stale_note,
)
from tilewright.captures.relaunch import NoPlan, Plan, plan_of

__all__ = [
    "CaptureError",
    "CapturedKernel",
    "CapturedLaunch",
    "CapturedProblem",
    "Captures",
    "Found",
    "NoPlan",
    "Plan",
    "captured_on",
    "launches_of_file",
    "load_captures",
    "nothing_captured",
    "pack",
    "plan_of",
    "problem_of_captured",
    "project_captures",
    "stale_note",
]
