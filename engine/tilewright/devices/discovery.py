"""Which devices there are, here and on other hosts, and the workers behind them."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Iterable

from tilewright.devices.client import WorkerClient
from tilewright.devices.cluster import Cluster, ClusterAddress, is_cluster
from tilewright.devices.hello_cache import keep_hello, known_hello
from tilewright.devices.local_process import way_out
from tilewright.devices.model import INTERPRETER, DeviceError, DeviceInfo, JobStatus
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


def list_devices(python: str | None = None) -> tuple[DeviceInfo, ...]:
    """The interpreter first, then GPUs; empty where the interpreter lacks torch or triton."""
    try:
        return probe(chosen_python(python))
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
    """The one worker of this process for an interpreter."""
    if python not in _clients:
        _clients[python] = WorkerClient(python)
    return _clients[python]


def compiler(python: str, *, compile_only: bool = True) -> WorkerClient:
    """What compiles with an interpreter: its compile service, unless that is turned off.

    Without it ``compile_only`` has a worker of its own, which needs no torch.
    """
    if not compile_only and not enabled():
        return client(python)
    key = f"{python} (compiler{', no torch' if compile_only else ''})"
    if key not in _clients:
        made = WorkerClient(python, compile_only=compile_only, shared=enabled())
        _clients.setdefault(key, made)
    return _clients[key]


def start_workers(device: str, *, runs: bool, compiles: bool) -> None:
    """Start in the background what a command that ``runs`` kernels on ``device`` is going to need:
    the worker of this host, and with ``compiles`` its compile service at the same time."""
    if not runs or is_address(device) or is_cluster(device):
        return
    path = chosen_python()
    try:
        _require_torch(path)
    except DeviceError:  # raised again where the device is opened
        return
    client(path).start()
    if compiles:
        compiler(path, compile_only=False).start()


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
            found = compiler(python, compile_only=False).hello
            keep_hello(python, found)
        _hellos[python] = found
    return _interpreter(_hellos[python])


def probe(python: str) -> tuple[DeviceInfo, ...]:
    """Ask an interpreter's worker what it has, once a process. Raises DeviceError."""
    if python not in _infos:
        _require_torch(python)
        worker = client(python)
        keep_hello(python, worker.hello)
        _probed(python, worker)
    return _infos[python]


def probe_host(address: Address) -> tuple[DeviceInfo, ...]:
    """Ask another host's interpreter what it has, by the ids there. Raises DeviceError."""
    return _probed(address.place, remote_client(address))


def _probed(key: str, worker: WorkerClient) -> tuple[DeviceInfo, ...]:
    if key not in _infos:
        hello = worker.hello
        outcome = worker.run(ProbeJob(kind="probe"), _PROBE_SECONDS)
        found: list[Gpu] = []
        if outcome.status is JobStatus.OK:
            found = outcome.value["devices"]
        else:
            _LOG.warning("looking for GPUs failed: %s", outcome.message)
        _infos[key] = reported(hello, found)
    return _infos[key]


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
