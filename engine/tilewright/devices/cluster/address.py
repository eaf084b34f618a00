"""``ray://host:port[#what]`` and ``ray:auto[#what]`` as a device's id."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilewright.devices.model import INTERPRETER, DeviceError

SYNTAX = "ray:auto or ray://HOST:PORT, then optionally #interpreter, #H100 or #H100:4"
_FORM = re.compile(
    r"(?P<place>ray:auto|ray://(?:[\w.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5})"
    r"(?:#(?P<name>[A-Za-z][\w-]*)(?::(?P<most>[1-9]\d*))?)?"
)

_LAST_PORT = 65535


@dataclass(frozen=True)
class ClusterAddress:
    """A Ray cluster, and which of its devices.

    Attributes:
        place: "ray:auto", the cluster that this host is a node of, or "ray://host:port".
        name: "interpreter", "gpu", or a GPU's name in Ray ("H100"); empty: GPUs, and the
            interpreter where the cluster has none.
        most: how many devices at most; None: all that are free.
    """

    place: str
    name: str = ""
    most: int | None = None

    @property
    def for_ray(self) -> str:
        """The address as ``ray.init`` takes it."""
        return "auto" if self.place == "ray:auto" else self.place

    @property
    def is_interpreter(self) -> bool:
        return self.name == INTERPRETER

    def device_id(self, there: str, number: int) -> str:
        """The id of the actor with this number, whose node calls its device ``there``."""
        kind = there.partition(":")[0]
        return f"{self.place}#{kind if kind == INTERPRETER and not number else f'{kind}:{number}'}"


def is_cluster(text: str) -> bool:
    """Whether a device's id means a Ray cluster."""
    return text.startswith("ray:")


def parse_cluster(text: str) -> ClusterAddress:
    """Read an id; raises DeviceError for one that names no cluster."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise DeviceError(f"{text!r} names no Ray cluster; write {SYNTAX}")
    port = found["place"].rpartition(":")[2]
    if port.isdigit() and not 0 < int(port) <= _LAST_PORT:
        raise DeviceError(f"{text!r}: there is no port {port}; a Ray Client server has 10001")
    most = found["most"]
    return ClusterAddress(found["place"], found["name"] or "", int(most) if most else None)
