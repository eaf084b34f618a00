"""The engine's side of a worker on another host: connects on first use, and again when cut."""

from __future__ import annotations

from tilewright.devices.client import WorkerClient
from tilewright.devices.remote.address import Address
from tilewright.devices.remote.channel import SshChannel
from tilewright.devices.rpc import AnyChannel


class RemoteClient(WorkerClient):
    """A worker on a host, as ``WorkerClient`` is one here; does every kind of job."""

    def __init__(self, address: Address) -> None:
        super().__init__(address.place)
        self._address = address

    def _opened(self) -> SshChannel:
        return SshChannel(self._address)

    def _fate(self, channel: AnyChannel) -> str:
        said = channel.last_words if isinstance(channel, SshChannel) else ""
        return f"the connection to {self._address.host} was cut{f' ({said})' if said else ''}"
