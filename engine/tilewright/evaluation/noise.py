"""Noise floors on disk: how far a kernel strays from itself, by device, toolchain and duration."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tilewright.devices.model import DeviceInfo
from tilewright.devices.package import worker_hash, write_atomically
from tilewright.home import home

MAX_AGE = timedelta(days=14)
"""After this a floor is measured again: machines gain tenants, heat and drivers."""


class NoiseFloors:
    """Surveys of ``worker.timing.noise``, below ``$TILEWRIGHT_HOME/noise``, a file a class.

    A floor belongs to a device by its id and name, the versions of Python's packages there, and
    the worker's own code; its driver is in the record, for only the device's host can tell it.
    """

    def __init__(self, info: DeviceInfo, folder: Path | None = None) -> None:
        identity = json.dumps([info.id, info.name, info.torch, info.triton, worker_hash()])
        key = hashlib.sha256(identity.encode()).hexdigest()[:24]
        self._folder = (folder or home() / "noise") / key

    def known(self) -> dict[str, Any]:
        """The surveys that are fresh enough, by class, as a contest takes them for ``noise``."""
        found = {}
        for file in sorted(self._folder.glob("*.json")):
            record = _read(file)
            if record is not None and _age(record) <= MAX_AGE:
                found[str(record["duration"])] = record
        return found

    def keep(self, survey: Mapping[str, Any]) -> None:
        """Store a survey with today's date; it takes the place of one of the same class."""
        self._folder.mkdir(parents=True, exist_ok=True)
        record = {**survey, "measured": datetime.now(UTC).isoformat(timespec="seconds")}
        name = "".join(letter if letter.isalnum() else "_" for letter in str(survey["duration"]))
        write_atomically(self._folder / f"{name}.json", json.dumps(record).encode())


def _read(file: Path) -> dict[str, Any] | None:
    """A record that is whole; one that another version or an accident left is measured again."""
    try:
        record = json.loads(file.read_bytes())
        datetime.fromisoformat(record["measured"])
        float(record["floor"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if "duration" in record else None


def _age(record: Mapping[str, Any]) -> timedelta:
    return datetime.now(UTC) - datetime.fromisoformat(record["measured"])
