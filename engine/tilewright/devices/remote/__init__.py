"""Devices of another host, over the user's own ssh; nothing is installed there, nothing is left."""

from tilewright.devices.remote.address import Address, is_address, parse_address
from tilewright.devices.remote.channel import RemoteClient
from tilewright.devices.remote.device import RemoteDevice

__all__ = ["Address", "RemoteClient", "RemoteDevice", "is_address", "parse_address"]
