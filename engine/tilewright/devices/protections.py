"""Whether what is to protect a machine from code under test does, found out by trying it there."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.devices.model import Device, JobOutcome, JobStatus
from tilewright.devices.service.places import SWITCH
from tilewright.home import home
from tilewright.worker.messages.jobs import Bait, Tried, TryJob
from tilewright.worker.protocol import PLANTED_SECRET
from tilewright.worker.sandbox.isolation import PROTECTIONS, level

_SECONDS = 120.0
_MEMORY_BYTES = 512 << 20
_PROCESSES = 256

_LANDLOCK = (
    "run on a kernel with Landlock switched on (Linux 6.12 or newer for all of it; "
    "`lsm=landlock,...` on the kernel's command line), and unset TILEWRIGHT_LANDLOCK"
)
_GROUPS = (
    "start tilewright where it may make control groups: `systemd-run --user --scope -p "
    "Delegate=yes tilewright ...`, or a container with its own writable cgroup"
)
REMEDIES: Mapping[str, str] = {
    "writes": _LANDLOCK,
    "reads": _LANDLOCK,
    "network": "allow system call filters (seccomp) or user namespaces in this container",
    "processes": _LANDLOCK,
    "signals": _LANDLOCK,
    "privileges": "start tilewright as a user other than root",
    "environment": "mount /proc, which is needed to overwrite a process's initial environment",
    "memory": _GROUPS,
    "forks": f"start tilewright as a user other than root, or: {_GROUPS}",
}


@dataclass(frozen=True)
class Protection:
    """One thing that code under test is to be kept from.

    Attributes:
        what: what holds, as a sentence.
        holds: whether every try to get past it failed; None where it could not be tried.
        why: what got through, or why it could not be tried; "" where it holds.
        remedy: how to get it; "" where it holds.
    """

    name: str
    what: str
    holds: bool | None
    why: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Checkup:
    """What protects from code under test on one device, as tried there.

    Attributes:
        isolation: "strong", "partial" or "weak", by what was tried.
        claimed: the same by what a job's own report says; they differ only by a fault.
    """

    device: str
    isolation: str
    claimed: str
    protections: tuple[Protection, ...]
    reasons: tuple[str, ...] = ()


@contextlib.contextmanager
def known_secret() -> Iterator[str]:
    """A secret in this process's environment, for a worker of its own that is started meanwhile:
    a service, which other commands have started, does not have it."""
    secret = uuid.uuid4().hex
    before = os.environ.get(SWITCH)
    os.environ |= {PLANTED_SECRET: secret, SWITCH: "0"}
    try:
        yield secret
    finally:
        del os.environ[PLANTED_SECRET], os.environ[SWITCH]
        if before is not None:
            os.environ[SWITCH] = before


def check_up(device: Device, secret: str) -> Checkup:
    """Try every protection in children of the device's worker.

    ``secret``: what the worker's environment held when it started, under ``PLANTED_SECRET``.
    """
    with _bait(secret) as bait:
        rest = [name for name in PROTECTIONS if name != "memory"]
        said = device.run(_job(bait, rest), _SECONDS)
        # Last and alone: where the limit holds, the job may be ended by it.
        memory = device.run(_job(bait, ["memory"]), _SECONDS)
    found = [_protection(name, said if name in rest else memory) for name in PROTECTIONS]
    claimed = said.value.get("confinement", {})
    return Checkup(
        device.info.id,
        level({one.name: one.why for one in found if not one.holds}),
        str(claimed.get("isolation", "unknown")),
        tuple(found),
        tuple(claimed.get("reasons", ())),
    )


def _job(bait: Bait, names: Sequence[str]) -> TryJob:
    return {
        "kind": "tries", "victim": bait["victim"], "told": bait["told"], "address": bait["address"],
        "port": bait["port"], "protections": list(names), "memory_bytes": _MEMORY_BYTES,
        "processes": _PROCESSES,
    }  # fmt: skip


def _protection(name: str, outcome: JobOutcome[Tried]) -> Protection:
    what = PROTECTIONS[name]
    if name == "memory" and outcome.status is JobStatus.OUT_OF_MEMORY:
        return Protection(name, what, True)
    if outcome.status is not JobStatus.OK:
        why = f"could not be tried: {outcome.message}"
        return Protection(name, what, None, why, REMEDIES[name])
    through = "; ".join(outcome.value["tries"].get(name, ()))
    return Protection(name, what, not through, through, REMEDIES[name] if through else "")


@contextlib.contextmanager
def _bait(secret: str) -> Iterator[Bait]:
    """A file of the user's, and sockets that listen, for hostile code to reach for.

    Paths stand behind a letter: files that a job names are its own.
    """
    home().mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="doctor-", dir=home()))
    short = Path(tempfile.mkdtemp(prefix="tw-"))  # a Unix socket's path is limited to 108 bytes
    try:
        victim = folder / "victim"
        victim.write_text("of value")
        with socket.socket() as port, socket.socket(socket.AF_UNIX) as local:
            port.bind(("127.0.0.1", 0))
            local.bind(str(short / "socket"))
            for listening in (port, local):
                listening.listen()
            yield {
                "victim": f"={victim}",
                "told": f"={secret}",
                "port": port.getsockname()[1],
                "address": f"={short / 'socket'}",
            }
    finally:
        for place in (folder, short):
            shutil.rmtree(place, ignore_errors=True)
