"""Which devices there are, here and on other hosts, and the workers behind them."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tilewright.devices.client import WorkerClient
from tilewright.devices.cluster import Cluster, ClusterAddress, is_cluster
from tilewright.devices.hello_cache import keep_gpus, keep_hello, known_gpus, known_hello
from tilewright.devices.local_process import way_out
from tilewright.devices.model import (
    INTERPRETER,
    NEURON,
    NEURON_SIM,
    DeviceError,
    DeviceInfo,
    JobStatus,
)
from tilewright.devices.remote import Address, RemoteClient, is_address
from tilewright.devices.service.places import enabled
from tilewright.targets.model import Target
from tilewright.worker.messages.envelope import Hello
from tilewright.worker.messages.jobs import Gpu, ProbeJob

_PROBE_SECONDS = 120.0
_LOG = logging.getLogger(__name__)
_clients: dict[str, WorkerClient] = {}
_clusters: dict[str, Cluster] = {}
_infos: dict[str, tuple[DeviceInfo, ...]] = {}
_hellos: dict[str, Hello] = {}


def chosen_python(python: str | None = None) -> str:
    """The interpreter that kernels run in: the argument, ``$TILEWRIGHT_PYTHON``, or this one."""
    return python or os.environ.get("TILEWRIGHT_PYTHON") or sys.executable


def list_devices(python: str | None = None, *, fresh: bool = False) -> tuple[DeviceInfo, ...]:
    """The interpreter first, then GPUs; empty where the interpreter lacks torch or triton.

    ``fresh``: ask even where an earlier answer is known.
    """
    try:
        return probe(chosen_python(python), fresh=fresh)
    except DeviceError as error:
        _LOG.info("no devices: %s", error)
        return ()


def remote_client(address: Address) -> RemoteClient:
    """The one connection of this process to an interpreter of another host."""
    found = _clients.setdefault(address.place, RemoteClient(address))
    assert isinstance(found, RemoteClient)
    return found


def cluster(address: ClusterAddress) -> Cluster:
    """The one connection of this process to a Ray cluster. Raises DeviceError."""
    if address.place not in _clusters:
        _clusters[address.place] = Cluster(address)
    return _clusters[address.place]


def client(python: str) -> WorkerClient:
    """The one worker of this process for an interpreter, or its way to the one that all share."""
    if python not in _clients:
        _clients[python] = WorkerClient(python, shared=enabled())
    return _clients[python]


def compiler(python: str) -> WorkerClient:
    """The same of an interpreter that compiles alone, which needs no torch."""
    key = f"{python} (compiles)"
    if key not in _clients:
        _clients[key] = WorkerClient(python, compile_only=True, shared=enabled())
    return _clients[key]


def start_worker(device: str, *, needed: bool) -> None:
    """Start in the background the worker of this host that a command on ``device`` will need."""
    if not needed or is_address(device) or is_cluster(device):
        return
    path = chosen_python()
    try:
        _require_torch(path)
    except DeviceError:  # raised again where the device is opened
        return
    client(path).start()


def interpreter(python: str) -> DeviceInfo:
    """Triton's interpreter as a device; starts a worker only where none ever said hello.

    Raises DeviceError.
    """
    if python in _infos:
        return _infos[python][0]
    if python not in _hellos:
        _require_torch(python)
        found = known_hello(python)
        if found is None:
            found = client(python).hello
            keep_hello(python, found)
        _hellos[python] = found
    return _interpreter(_hellos[python])


def simulator(python: str) -> DeviceInfo:
    """The NKI simulator as a device; it runs in the same workers. Raises DeviceError."""
    return simulated(interpreter(python))


def simulated(info: DeviceInfo) -> DeviceInfo:
    """The NKI simulator next to a Triton interpreter."""
    own = info.id.removesuffix(INTERPRETER) + NEURON_SIM
    return replace(info, id=own, name="NKI simulator on CPU")


def neuron_sdk(python: str) -> DeviceInfo:
    """The Neuron SDK of an interpreter as a device, which is untried.

    Raises:
        DeviceError: it has none.
    """
    info = interpreter(python)
    outcome = client(python).run(ProbeJob(kind="probe", details=True), _PROBE_SECONDS)
    found = outcome.value.get("neuron") if outcome.status is JobStatus.OK else None
    if not found:
        raise DeviceError(
            f"{python} has no Neuron SDK: neither neuronxcc.nki nor nki.language can be imported. "
            f"--device {NEURON_SIM} needs none"
        )
    return with_sdk(info, found)


def with_sdk(info: DeviceInfo, packages: Mapping[str, str]) -> DeviceInfo:
    """The SDK's packages as a device next to a Triton interpreter."""
    names = ", ".join(f"{name} {version}" for name, version in packages.items())
    return replace(info, id=NEURON, name=f"Neuron SDK ({names}), untried")


def probe(python: str, *, fresh: bool = False) -> tuple[DeviceInfo, ...]:
    """What an interpreter's worker has; it is asked where the system's devices may be others than
    at the last answer, or for a ``fresh`` one. Raises DeviceError."""
    if python in _infos and not fresh:
        return _infos[python]
    _require_torch(python)
    hello, gpus = known_hello(python), known_gpus(python)
    if fresh or hello is None or gpus is None:
        worker = client(python)
        hello = worker.hello
        keep_hello(python, hello)
        gpus = _gpus_of_worker(worker)
        if gpus is not None:
            keep_gpus(python, gpus)
    _infos[python] = reported(hello, gpus or ())
    return _infos[python]


def probe_host(address: Address) -> tuple[DeviceInfo, ...]:
    """Ask another host's interpreter what it has, by the ids there. Raises DeviceError."""
    if address.place not in _infos:
        worker = remote_client(address)
        hello = worker.hello
        _infos[address.place] = reported(hello, _gpus_of_worker(worker) or ())
    return _infos[address.place]


def _gpus_of_worker(worker: WorkerClient) -> list[Gpu] | None:
    """The GPUs that a worker sees; None, with a warning, where it cannot decide."""
    outcome = worker.run(ProbeJob(kind="probe"), _PROBE_SECONDS)
    if outcome.status is JobStatus.OK:
        return outcome.value["devices"]
    _LOG.warning("looking for GPUs failed: %s", outcome.message)
    return None


def reported(hello: Hello, devices: Iterable[Gpu]) -> tuple[DeviceInfo, ...]:
    """The interpreter and the GPUs that a worker reports, by the ids there."""
    return (_interpreter(hello), *(_gpu(device, hello) for device in devices))


def close_all() -> None:
    """End every worker of this process."""
    for worker in _clients.values():
        worker.close()
    for joined in _clusters.values():
        joined.close()
    _clusters.clear()
    _clients.clear()
    _infos.clear()
    _hellos.clear()


def _require_torch(python: str) -> None:
    if python != sys.executable:
        return
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing:
        raise DeviceError(
            f"{python} has no {' and no '.join(missing)}; {way_out(compile_only=False)}"
        )


def _interpreter(hello: Hello) -> DeviceInfo:
    return DeviceInfo(
        INTERPRETER, "Triton interpreter on CPU", None, False,
        str(hello["torch"]), hello["triton"], hello["python"],
    )  # fmt: skip


def _gpu(found: Gpu, hello: Hello) -> DeviceInfo:
    target = Target(found["backend"], found["arch"])
    return DeviceInfo(
        found["id"],
        found["name"],
        target,
        True,
        str(hello["torch"]),
        hello["triton"],
        hello["python"],
    )
