"""Opening devices by their ids: one here, one of another host, or several GPUs at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.devices.client import WorkerDevice
from tilewright.devices.cluster import ClusterAddress, is_cluster, parse_cluster
from tilewright.devices.discovery import (
    chosen_python,
    client,
    cluster,
    interpreter,
    neuron_sdk,
    probe,
    probe_host,
    remote_client,
    reported,
    simulated,
    simulator,
)
from tilewright.devices.model import (
    INTERPRETER,
    NEURON,
    NEURON_SIM,
    Device,
    DeviceError,
    DeviceInfo,
)
from tilewright.devices.pool import DevicePool
from tilewright.devices.remote import Address, RemoteDevice, is_address, parse_address

AUTO = "auto"
ALL = "all"


def open_device(device: str = AUTO, python: str | None = None) -> WorkerDevice | DevicePool:
    """The device with this id; "auto": the first GPU, else the interpreter. Raises DeviceError.

    An id that begins with ``ssh://`` is one of another host, which has interpreters of its own.
    ``cuda:0,cuda:1`` and ``cuda:all`` are several GPUs; ``ray:auto`` and ``ray://host:port`` those
    of a cluster.
    """
    if is_cluster(device) and "," not in device:
        return _together(_of_cluster(parse_cluster(device)))
    ids = tuple(_ids(device, python))
    return _together([_opened(one, python) for one in ids])


def _together(opened: Sequence[WorkerDevice]) -> WorkerDevice | DevicePool:
    members: list[Device] = list(opened)
    return DevicePool(members) if len(members) > 1 else opened[0]


def _ids(device: str, python: str | None) -> Iterator[str]:
    """The single ids in ``a,b`` and ``cuda:all``; a host holds for those that follow it."""
    host: Address | None = None
    for part in device.split(","):
        one = part.strip()
        if is_cluster(one):
            raise DeviceError(
                f"{device!r} names {one} next to other devices; a Ray cluster goes alone: its GPUs "
                "are one device, and '#' chooses among them"
            )
        if is_address(one):
            host = parse_address(one)
        elif host is not None:
            host = replace(host, device=one)
        kind, _, which = (host.device if host else one).partition(":")
        if which != ALL:
            yield (
                one if host is None else host.device_id(host.device) if host.device else host.place
            )
            continue
        infos = probe_host(host) if host else probe(chosen_python(python))
        found = [info.id for info in infos if info.id.startswith(f"{kind}:")]
        if not found:
            raise _unknown(infos, host.device if host else one, host)
        yield from (host.device_id(name) if host else name for name in found)


def _opened(device: str, python: str | None) -> WorkerDevice:
    if is_address(device):
        return _remote(parse_address(device))
    path = chosen_python(python)
    if device == INTERPRETER:
        about = interpreter(path)
        return WorkerDevice(client(path), about)
    if device == NEURON_SIM:
        return WorkerDevice(client(path), simulator(path))
    if device == NEURON:
        return WorkerDevice(client(path), neuron_sdk(path))
    return WorkerDevice(client(path), _chosen(probe(path), device, None))


def _remote(address: Address) -> RemoteDevice:
    infos = probe_host(address)
    here = (*infos, simulated(infos[0]))
    info = _chosen(here, address.device or AUTO, address)
    return RemoteDevice(remote_client(address), address.device_id(info.id), info)


def _of_cluster(address: ClusterAddress) -> list[RemoteDevice]:
    """A device for each actor that Ray placed: its one GPU, else the interpreter of its node."""
    found = []
    for number, (actor, about) in enumerate(cluster(address).actors(address)):
        info = reported(about["hello"], about["devices"])[-1]
        found.append(RemoteDevice(actor, address.device_id(info.id, number), info))
    return found


def _chosen(infos: tuple[DeviceInfo, ...], device: str, host: Address | None) -> DeviceInfo:
    wanted = device
    if device == AUTO:
        wanted = next((info.id for info in infos if info.can_time), INTERPRETER)
    found = next((info for info in infos if info.id == wanted), None)
    if found is None:
        raise _unknown(infos, device, host)
    return found


def _unknown(infos: tuple[DeviceInfo, ...], device: str, host: Address | None) -> DeviceError:
    known = ", ".join(dict.fromkeys((INTERPRETER, NEURON_SIM, *(info.id for info in infos))))
    where = f"on {host.host}" if host else "here"
    return DeviceError(f"no device {device!r} {where}; there are {known}, and auto")
