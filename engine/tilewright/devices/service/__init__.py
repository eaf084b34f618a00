"""The worker service: one worker for all of a user's processes, which stays for a while."""

from tilewright.devices.service.connection import ServiceChannel, connect
from tilewright.devices.service.places import ServiceError, enabled
from tilewright.devices.service.status import ServiceStatus, running_services, stop_services

__all__ = [
    "ServiceChannel",
    "ServiceError",
    "ServiceStatus",
    "connect",
    "enabled",
    "running_services",
    "stop_services",
]
