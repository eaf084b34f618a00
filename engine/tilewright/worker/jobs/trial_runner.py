"""``perform``: one version of a file, which a coordinator asks over ``channel`` until it ends."""

from __future__ import annotations

import socket
from typing import Any

from ..runtime.connections import Wire
from ..trials.runner import Runner


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Serve the coordinator; returns when it has nothing more to ask."""
    wire = Wire(socket.socket(fileno=job["channel"]))
    with Runner(job) as runner:
        runner.serve(wire)
    return {}
