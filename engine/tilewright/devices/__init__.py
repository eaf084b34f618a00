"""Where things run: Triton's interpreter and GPUs, here or over ssh, behind one protocol."""

from tilewright.devices.client import WorkerClient
from tilewright.devices.discovery import close_all, list_devices
from tilewright.devices.local import WorkerDevice
from tilewright.devices.model import Device, DeviceError, DeviceInfo, JobOutcome, JobStatus
from tilewright.devices.opening import open_device

__all__ = [
    "Device",
    "DeviceError",
    "DeviceInfo",
    "JobOutcome",
    "JobStatus",
    "WorkerClient",
    "WorkerDevice",
    "close_all",
    "list_devices",
    "open_device",
]
