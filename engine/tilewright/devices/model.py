"""Where things run, and what comes back when a job ends one way or another."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from tilewright.errors import TilewrightError
from tilewright.targets.model import Target
from tilewright.worker.messages.envelope import Job
from tilewright.worker.neuron import device_ids

INTERPRETER = "interpreter"
"""The id of Triton's interpreter on this machine's CPU."""
NEURON_SIM = device_ids.NEURON_SIM
"""The id of the NKI simulator on this machine's CPU."""
NEURON = device_ids.NEURON
"""The id of the Neuron SDK, where the interpreter that runs kernels has one."""


def is_neuron_target(target: Target) -> bool:
    """Whether a chip runs NKI kernels, and no Triton ones."""
    return target.backend == "neuron"


class DeviceError(TilewrightError):
    """No such device, or its worker cannot start; the message says what to install or choose."""


class JobStatus(StrEnum):
    """How a job in a worker ended. Only ``OK`` carries a value.

    After ``FAULT`` (the worker's own) and ``LOST`` nothing is known of what the job was about.
    """

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    UNSUPPORTED = "unsupported"
    FAULT = "fault"
    LOST = "lost"


Value = TypeVar("Value")


@dataclass(frozen=True)
class JobOutcome(Generic[Value]):
    """What a job gave. ``message`` is for a person; ``output`` the tail of what it printed."""

    status: JobStatus
    value: Value
    message: str = ""
    output: str = ""
    seconds: float = 0.0

    @property
    def traceback(self) -> str:
        """The worker's, where the job failed; empty where there is none."""
        value: Any = self.value
        return str(value.get("traceback") or "")


@dataclass(frozen=True)
class DeviceInfo:
    """A place to run kernels.

    Attributes:
        id: "interpreter", "neuron-sim", "cuda:0", "xpu:0"; "ssh://host#cuda:0" of another host.
        name: the chip's marketing name, "Triton interpreter on CPU", or "NKI simulator on CPU".
        target: what to compile for on it; None for the interpreter.
        can_time: whether a time measured here says anything.
        torch, triton, python: versions of what runs there.
    """

    id: str
    name: str
    target: Target | None
    can_time: bool
    torch: str
    triton: str
    python: str

    @property
    def runs_nki(self) -> bool:
        """Whether it runs NKI kernels, and no Triton ones."""
        return device_ids.is_neuron(self.id.rpartition("#")[2])


class Device(Protocol):
    """One protocol for the interpreter and GPUs, here and on other hosts, one or several."""

    @property
    def info(self) -> DeviceInfo: ...

    def run(self, job: Job[Value], timeout_s: float) -> JobOutcome[Value]:
        """Run one job in a child of the worker and wait; never raises for what the job does."""
        ...

    def close(self) -> None: ...
