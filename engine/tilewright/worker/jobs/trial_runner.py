"""``perform``: one version of a file, asked by a judge over ``channel`` until it is let go."""

from __future__ import annotations

import socket
from typing import Any

from ..runtime.connections import Wire
from ..trials.runner import Performer


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Serve the judge; returns when it has nothing more to ask."""
    wire = Wire(socket.socket(fileno=job["channel"]))
    with Performer(job) as performer:
        performer.serve(wire)
    return {}
