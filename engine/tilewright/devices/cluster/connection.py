"""A connection to a Ray cluster and the actors of one command on it."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tilewright
from tilewright.devices.cluster.address import SYNTAX, ClusterAddress
from tilewright.devices.cluster.bundles import Bundles
from tilewright.devices.cluster.client import About, ActorClient
from tilewright.devices.cluster.output import keep_output_to_the_command
from tilewright.devices.model import DeviceError

_START_S = 180.0
_JOBS_AT_A_TIME = 8
_RESTARTS = 3
_LOG = logging.getLogger(__name__)


class Cluster:
    """A cluster, joined once in a process. Raises DeviceError where there is none to join."""

    def __init__(self, address: ClusterAddress) -> None:
        self._address = address
        self._ray = _joined(address)
        self._bundles = Bundles(self._ray.put)
        self._lock = threading.Lock()
        self._actors: dict[ClusterAddress, list[tuple[ActorClient, About]]] = {}

    def actors(self, address: ClusterAddress) -> list[tuple[ActorClient, About]]:
        """An actor for each device that an address names, and what it said of itself.

        Raises DeviceError: there is no such device, or no actor on it could be started.
        """
        with self._lock:
            if address not in self._actors:
                self._actors[address] = self._placed(address)
            return self._actors[address]

    def close(self) -> None:
        """End the actors and leave the cluster."""
        with self._lock:
            for actors in self._actors.values():
                for client, _ in actors:
                    client.close()
            self._actors.clear()
            self._ray.shutdown()

    def _placed(self, address: ClusterAddress) -> list[tuple[ActorClient, About]]:
        from tilewright.devices.cluster.actor import WorkerActor  # imports ray

        count, options = self._wanted(address)
        actor_class = self._ray.remote(**_ACTOR, **options)(WorkerActor)
        handles = [actor_class.remote() for _ in range(count)]
        asked = {handle.description.remote(): handle for handle in handles}
        ready, late = self._ray.wait(list(asked), num_returns=count, timeout=_START_S)
        for reference in late:
            _LOG.warning("Ray placed no actor within %.0f s; going on without it", _START_S)
            self._ray.kill(asked[reference])
        if not ready:
            raise DeviceError(
                f"{address.place}: no actor could be placed within {_START_S:.0f} s: what it needs "
                f"({_named(options)}) is in use or not there; `ray status` says"
            )
        found = [
            (asked[reference], self._node_facts(reference))
            for reference in asked
            if reference in ready
        ]
        return [self._client(handle, about, options["num_gpus"] != 0) for handle, about in found]

    def _node_facts(self, reference: Any) -> About:
        place = self._address.place
        try:
            about: About = json.loads(self._ray.get(reference))
        except self._ray.exceptions.RayError as error:
            raise DeviceError(f"{place}: an actor could not start: {error}") from error
        if "error" in about:
            raise DeviceError(f"{place}, {about['host']}: {about['error']}")
        return about

    def _client(self, handle: Any, about: About, on_gpu: bool) -> tuple[ActorClient, About]:
        if not on_gpu:
            about["devices"] = []
        elif not about["devices"]:
            raise DeviceError(
                f"{self._address.place}: torch does not find the GPU that Ray has on "
                f"{about['host']}; install a torch for it there"
            )
        return ActorClient(self._ray, handle, self._bundles, about), about

    def _wanted(self, address: ClusterAddress) -> tuple[int, dict[str, int | str]]:
        """How many actors, and what Ray is asked for each."""
        all_of = self._ray.cluster_resources()
        gpus = int(all_of.get("GPU", 0))
        if address.is_interpreter or not (gpus or address.name):
            nodes = [node for node in self._ray.nodes() if node["Alive"]]
            count = sum(node["Resources"].get("CPU", 0) >= 1 for node in nodes)
            if not count:
                raise DeviceError(
                    f"{address.place}: no node of the cluster has a CPU for an actor; start one "
                    "with `ray start --num-cpus 1` or more"
                )
            return _at_most(count, address), {"num_gpus": 0}
        kind = "" if address.name in ("", "gpu") else address.name
        if not gpus or (kind and f"accelerator_type:{kind}" not in all_of):
            raise self._unknown(address, all_of)
        free = int(self._ray.available_resources().get("GPU", 0))
        if free < gpus:
            _LOG.warning("%d of the cluster's %d GPUs are in use by others", gpus - free, gpus)
        more = {"accelerator_type": kind} if kind else {}
        if kind:
            nodes = [n["Resources"] for n in self._ray.nodes() if n["Alive"]]
            of_kind = (n.get("GPU", 0) for n in nodes if f"accelerator_type:{kind}" in n)
            free = min(free, int(sum(of_kind)))
        return _at_most(max(free, 1), address), {"num_gpus": 1, **more}

    def _unknown(self, address: ClusterAddress, resources: Mapping[str, object]) -> DeviceError:
        prefix = "accelerator_type:"
        kinds = sorted(name.removeprefix(prefix) for name in resources if name.startswith(prefix))
        there = f"its GPUs are {', '.join(kinds)}" if kinds else "it has no GPU"
        return DeviceError(f"{address.place} has no {address.name}: {there}; write {SYNTAX}")


_ACTOR = {
    "num_cpus": 1,
    "scheduling_strategy": "SPREAD",
    "max_restarts": _RESTARTS,
    "max_task_retries": 1,
    "max_concurrency": _JOBS_AT_A_TIME,
    "concurrency_groups": {"control": 2},
}


def _at_most(count: int, address: ClusterAddress) -> int:
    return count if address.most is None else min(count, address.most)


def _named(options: Mapping[str, int | str]) -> str:
    gpu = options.get("accelerator_type", "GPU") if options["num_gpus"] else ""
    return f"one CPU and one {gpu}" if gpu else "one CPU"


def _joined(address: ClusterAddress) -> Any:
    try:
        import ray
    except ImportError as error:
        raise DeviceError(
            f"{address.place} needs Ray: pip install 'tilewright[ray]' ({error})"
        ) from error
    keep_output_to_the_command()
    try:
        ray.init(
            address=address.for_ray,
            log_to_driver=False,
            logging_level=logging.ERROR,
            runtime_env={"py_modules": [str(Path(tilewright.__file__).parent)]},
        )
    except (ConnectionError, RuntimeError, ImportError, OSError, ray.exceptions.RayError) as error:
        way_out = (
            "`ray start --head` starts a cluster here"
            if address.for_ray == "auto"
            else "the port must be that of the cluster's Ray Client server, 10001 by default"
        )
        raise DeviceError(f"{address.place}: no cluster to join: {error}; {way_out}") from error
    return ray
