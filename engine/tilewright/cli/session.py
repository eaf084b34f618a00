"""Opening what long commands need: a device that fits the target, a problem, a scratch folder."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tilewright.devices import list_devices, open_device
from tilewright.devices.model import INTERPRETER, Device
from tilewright.errors import InputError, Stopped
from tilewright.targets.model import Target


@contextmanager
def device_for(device: str, target: Target | None) -> Iterator[Device]:
    """The device that was named; for ``auto`` a GPU of the target's own kind, else the interpreter.

    Times of two chips cannot be compared, so a GPU is never used for a target that
    it is not.

    Raises:
        InputError: the named device is another chip than the target.
        DeviceError: no such device, or no interpreter with torch and triton.
    """
    chosen = _fitting(target) if device == "auto" else device
    opened = open_device(chosen)
    try:
        own = opened.info.target
        if target is not None and own is not None and own != target:
            raise InputError(
                f"device {device} is {own}, not {target}; leave --device out to check in the "
                f"interpreter, or pass --target {own}"
            )
        yield opened
    finally:
        opened.close()


def _fitting(target: Target | None) -> str:
    gpus = [info for info in list_devices() if info.can_time]
    fitting = [info for info in gpus if target is None or info.target == target]
    return fitting[0].id if fitting else INTERPRETER


@contextmanager
def stop_on_signal() -> Iterator[None]:
    """SIGTERM and Ctrl-C raise ``Stopped`` here once; the next one ends the process at once."""

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_DFL)
        raise Stopped(signal.Signals(number).name)

    before = {each: signal.signal(each, stop) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
