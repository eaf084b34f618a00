"""Opening what long commands need: a device that fits the target, a problem, a scratch folder."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tilewright.devices.discovery import list_devices
from tilewright.devices.model import (
    INTERPRETER,
    NEURON_SIM,
    Device,
    DeviceInfo,
    is_neuron_target,
)
from tilewright.devices.opening import open_device
from tilewright.errors import InputError, Stopped
from tilewright.targets.model import Target

_STOPS = (signal.SIGTERM, signal.SIGINT)
_RAISED_ANEW_S = 0.01


@contextmanager
def device_for(device: str, target: Target | None) -> Iterator[Device]:
    """The device that was named; for ``auto`` a GPU of the target's own kind, else the interpreter,
    or what runs NKI kernels where the target is a NeuronCore.

    Times of two chips cannot be compared, so a GPU is never used for a target that
    it is not.

    Raises:
        InputError: the named device is another chip than the target, or runs other kernels.
        DeviceError: no such device, or no interpreter with torch and triton.
    """
    chosen = _fitting(target) if device == "auto" else device
    opened = open_device(chosen)
    try:
        _check_language(device, opened.info, target)
        own = opened.info.target
        if target is not None and own is not None and own != target:
            raise InputError(
                f"device {device} is {own}, not {target}; leave --device out to check in the "
                f"interpreter, or pass --target {own}"
            )
        yield opened
    finally:
        opened.close()


def _check_language(device: str, info: DeviceInfo, target: Target | None) -> None:
    """Refuse a device that runs kernels of the other language than the target's."""
    if target is None:
        return
    if is_neuron_target(target) and not info.runs_nki:
        raise InputError(
            f"device {device} runs Triton kernels, and {target} runs NKI kernels; leave --device "
            f"out, or name {NEURON_SIM}"
        )
    if info.runs_nki and not is_neuron_target(target):
        raise InputError(
            f"device {device} runs NKI kernels, and {target} runs Triton kernels; leave --device "
            "out to check in the interpreter"
        )


def _fitting(target: Target | None) -> str:
    if target is not None and is_neuron_target(target):
        return NEURON_SIM
    gpus = [info for info in list_devices() if info.can_time]
    fitting = [info for info in gpus if target is None or info.target == target]
    return fitting[0].id if fitting else INTERPRETER


@contextmanager
def stop_on_signal() -> Iterator[None]:
    """SIGTERM and Ctrl-C raise ``Stopped`` here once; the next one ends the process at once.

    Python drops an exception that a handler raises while a finalizer or a weak reference's callback
    runs, and passes it to ``sys.unraisablehook``. A timer raises it anew then, again and again: a
    signal that comes just before a wait for a lock does not interrupt that wait.
    """
    dropped: list[Stopped] = []

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        for each in _STOPS:
            signal.signal(each, signal.SIG_DFL)
        raise Stopped(signal.Signals(number).name)

    def raise_anew(number: int, frame: FrameType | None) -> None:
        del number, frame
        if dropped:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            raise dropped.pop()

    def keep(unraisable: "sys.UnraisableHookArgs") -> None:
        if not isinstance(unraisable.exc_value, Stopped):
            hook(unraisable)
            return
        dropped.append(Stopped(*unraisable.exc_value.args))
        signal.setitimer(signal.ITIMER_REAL, _RAISED_ANEW_S, _RAISED_ANEW_S)

    hook, sys.unraisablehook = sys.unraisablehook, keep
    before = {each: signal.signal(each, stop) for each in _STOPS}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, raise_anew)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for each, handler in before.items():
            signal.signal(each, handler)
        sys.unraisablehook = hook
    if dropped:
        raise dropped.pop()
