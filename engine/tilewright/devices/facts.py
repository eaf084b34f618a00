"""What a device is and can do, for a person who chooses one; found out when asked, never kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tilewright.devices.discovery import (
    chosen_python,
    probe,
    probe_host,
    simulated,
    with_sdk,
)
from tilewright.devices.model import Device, DeviceError, DeviceInfo, JobStatus
from tilewright.devices.opening import open_device
from tilewright.devices.pool import DevicePool
from tilewright.devices.remote import RemoteDevice, is_address, parse_address
from tilewright.worker.messages.jobs import Probed, ProbeJob

_SECONDS = 120.0
# Not imported: a probe that names a module is confined as a job that imports it.
_ANY_MODULE = "/"


@dataclass(frozen=True)
class User:
    """A process that has opened a GPU; ``memory_bytes`` is None where the driver does not say."""

    pid: int
    memory_bytes: int | None


@dataclass(frozen=True)
class DeviceFacts:
    """A device as it is now.

    Attributes:
        host: the name of its machine; interpreter: the Python that runs kernels there.
        can_run: whether the Triton there has a driver for it.
        memory_bytes, free_bytes: None for the interpreter and where it cannot be derived.
        users: who else has opened it; None where nothing there can tell.
        profilers: those that are there, with their place or version.
        isolation: "strong", "partial" or "weak", and the reasons why it is not strong.
    """

    info: DeviceInfo
    host: str
    interpreter: str
    can_run: bool = True
    memory_bytes: int | None = None
    free_bytes: int | None = None
    driver: str | None = None
    users: tuple[User, ...] | None = None
    profilers: Mapping[str, str] = field(default_factory=dict)
    isolation: str | None = None
    reasons: tuple[str, ...] = ()


def device_facts(device: str | None = None) -> tuple[DeviceFacts, ...]:
    """Each device here, or of the host that ``device`` names, or that one alone.

    Raises:
        DeviceError: there is no such device, or its worker cannot start or tell.
    """
    if device is None:
        first, *gpus = probe(chosen_python())
        return _all_of(open_device("interpreter"), (first, simulated(first), *gpus))
    if not is_address(device) or parse_address(device.partition(",")[0]).device:
        opened = open_device(device)
        members = opened.members if isinstance(opened, DevicePool) else (opened,)
        return tuple(found for one in members for found in _all_of(one, (one.info,)))
    address = parse_address(device)
    first, *gpus = probe_host(address)
    infos = (replace(one, id=address.device_id(one.id)) for one in (first, simulated(first), *gpus))
    return _all_of(open_device(address.device_id("interpreter")), tuple(infos))


def _all_of(opened: Device, infos: tuple[DeviceInfo, ...]) -> tuple[DeviceFacts, ...]:
    """What the host of an opened device tells of its devices."""
    told = opened.run(ProbeJob(kind="probe", details=True), _SECONDS)
    confined = opened.run(ProbeJob(kind="probe", module=_ANY_MODULE), _SECONDS)
    if told.status is not JobStatus.OK:
        raise DeviceError(f"{opened.info.id} cannot be looked at: {told.message}")
    packages = told.value.get("neuron")
    if packages and len(infos) > 1:
        infos = (*infos, with_sdk(infos[0], packages))
    return tuple(
        _facts(info, _id_there(opened, info), told.value, confined.value) for info in infos
    )


def _id_there(opened: Device, info: DeviceInfo) -> str:
    """What a device is called on its own host."""
    if isinstance(opened, RemoteDevice) and opened.info == info:
        return opened.id_there
    return info.id.rpartition("#")[2]


def _facts(info: DeviceInfo, own: str, told: Probed, confined: Probed) -> DeviceFacts:
    found = next((gpu for gpu in told["devices"] if gpu["id"] == own), None)
    users = found and found.get("users")
    return DeviceFacts(
        info,
        told["host"],
        told["interpreter"],
        found.get("can_run", True) if found else True,
        found and found["memory_bytes"],
        found and found.get("free_bytes"),
        found and found.get("driver"),
        None if users is None else tuple(User(u["pid"], u["memory_bytes"]) for u in users),
        told["profilers"],
        confined.get("isolation"),
        tuple(confined.get("reasons", ())),
    )
