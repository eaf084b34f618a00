"""A Ray cluster's devices without Ray: their names, their files, and what is made of an answer."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.devices.cluster.address import ClusterAddress, is_cluster, parse_cluster
from tilewright.devices.cluster.bundles import ROOT, BundledFiles, Bundles
from tilewright.devices.cluster.client import ActorClient
from tilewright.devices.cluster.connection import Cluster
from tilewright.devices.model import DeviceError, JobStatus
from tilewright.devices.opening import open_device


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ray:auto", ClusterAddress("ray:auto")),
        ("ray:auto#interpreter", ClusterAddress("ray:auto", "interpreter")),
        ("ray://head:10001", ClusterAddress("ray://head:10001")),
        ("ray://10.0.0.7:10001#H100:4", ClusterAddress("ray://10.0.0.7:10001", "H100", 4)),
    ],
)
def test_an_address_of_a_cluster(text: str, address: ClusterAddress) -> None:
    assert is_cluster(text)
    assert parse_cluster(text) == address


@pytest.mark.parametrize("text", ["ray:", "ray://head", "ray:auto#", "ray:auto#:2"])
def test_what_names_no_cluster_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(
        DeviceError, match=r"names no Ray cluster; write ray:auto or ray://HOST:PORT"
    ):
        open_device(text)


def test_a_port_that_there_is_not_is_refused() -> None:
    for port in (0, 65536):
        with pytest.raises(DeviceError, match=f"there is no port {port}; .* 10001"):
            open_device(f"ray://head:{port}")


def test_a_cluster_without_a_cpu_for_an_actor_says_so() -> None:
    ray = SimpleNamespace(
        cluster_resources=dict, nodes=lambda: [{"Alive": True, "Resources": {"memory": 1.0}}]
    )
    joined: Any = SimpleNamespace(_ray=ray)
    with pytest.raises(DeviceError, match=r"no node of the cluster has a CPU .* --num-cpus 1"):
        Cluster._wanted(joined, parse_cluster("ray:auto"))


def test_ids_of_actors_differ_and_the_first_interpreter_is_one() -> None:
    address = parse_cluster("ray:auto")
    ids = [address.device_id("interpreter", number) for number in range(2)]
    assert ids == ["ray:auto#interpreter", "ray:auto#interpreter:1"]
    assert address.device_id("cuda:0", 3) == "ray:auto#cuda:3"


def test_without_ray_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(DeviceError, match=r"pip install 'tilewright\[ray\]'"):
        open_device("ray:auto")


def actor_files(folder: Path) -> BundledFiles:
    folder.mkdir()
    return BundledFiles(folder, lambda references: list(references))


def below(folder: Path, path: Path) -> str:
    return Path(f"{folder}/at{path}").read_text()


def test_each_file_is_put_once_and_a_fresh_actor_gets_all_that_a_job_needs(tmp_path: Path) -> None:
    module, helper = tmp_path / "user/kernel.py", tmp_path / "user/helper.py"
    module.parent.mkdir()
    module.write_text("import helper\n")
    helper.write_text("X = 1\n")
    put: list[bytes] = []
    bundles = Bundles(lambda body: put.append(body) or body)
    first, left_out = bundles.with_files([str(module)])
    again, _ = bundles.with_files([str(module)])
    assert (len(put), first, left_out) == (1, again, {})

    module.write_text("import helper as h\n")
    os.utime(module, ns=(1, 1))
    changed, _ = bundles.with_files([str(module)])
    assert [number for number, _ in changed] == [0, 1], "helper is in the first bundle"
    assert b"X = 1" not in put[1]
    restarted = actor_files(tmp_path / "restarted")
    restarted.bring(changed)
    assert below(tmp_path / "restarted", module) == "import helper as h\n"
    assert below(tmp_path / "restarted", helper) == "X = 1\n"


def test_files_that_could_not_be_put_go_along_the_next_time(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("X = 1\n")
    faults = [OSError("no memory for objects")]

    def put(body: bytes) -> bytes:
        if faults:
            raise faults.pop()
        return body

    bundles = Bundles(put)
    with pytest.raises(OSError, match="no memory"):
        bundles.with_files([str(file)])
    ((number, body),), _ = bundles.with_files([str(file)])
    assert number == 0
    assert b"X = 1" in body


def test_an_older_bundle_that_arrives_late_replaces_nothing(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("old")
    second.write_text("mine")
    bundles = Bundles(lambda body: body)
    both, _ = bundles.with_files([str(first), str(second)])
    first.write_text("new text")
    newer, _ = bundles.with_files([str(first)])
    files = actor_files(tmp_path / "actor")
    files.bring(newer)
    files.bring(both)
    assert below(tmp_path / "actor", first) == "new text"
    assert below(tmp_path / "actor", second) == "mine"


class RayError(Exception):
    """As in ray.exceptions."""


class PretendedRay:
    """``get`` answers what an actor's method gave, or raises it."""

    def __init__(self) -> None:
        self.exceptions = SimpleNamespace(RayError=RayError)

    def wait(
        self, references: Sequence[Any], timeout: float
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        assert timeout > 0
        return references, ()

    def get(self, reference: Any, timeout: float | None = None) -> Any:
        del timeout
        if isinstance(reference, Exception):
            raise reference
        return reference


class PretendedActor:
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []
        self.run = SimpleNamespace(remote=self._run)

    def _run(self, request: str, bundles: Any) -> Any:
        del bundles
        self.asked.append(json.loads(request))
        return self.answers.pop(0)


def answer(incarnation: str = "one", **more: Any) -> str:
    told = {"status": "ok", "value": {}, "message": "", "output": "", "seconds": 0.1, "host": "n2"}
    return json.dumps({**told, "incarnation": incarnation, **more})


def client_of(actor: PretendedActor) -> ActorClient:
    about = {"hello": {}, "devices": [{"name": "NVIDIA H200"}], "host": "n1", "incarnation": "one"}
    return ActorClient(PretendedRay(), actor, Bundles(lambda body: body), about)


def test_a_lost_actor_is_a_lost_job_and_no_fault_of_a_candidate() -> None:
    actor = PretendedActor(RayError("The actor died unexpectedly.\nmore"), ConnectionError("gone"))
    client = client_of(actor)
    for why in ("The actor died unexpectedly.", "gone"):
        outcome = client.run({"kind": "trial"}, 5)
        assert outcome.status is JobStatus.LOST
        assert outcome.message == f"its actor on n1 was lost: {why}"


def test_a_job_names_files_below_the_actors_folder_and_answers_name_them_here(
    tmp_path: Path,
) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("")
    actor = PretendedActor(answer(message=f"{ROOT}/at{file}:3 fails"))
    outcome = client_of(actor).run({"kind": "run", "module": str(file)}, 5)
    assert actor.asked[0]["job"]["module"] == f"{ROOT}/at{file}"
    assert actor.asked[0]["gpus"] == ["NVIDIA H200"]
    assert outcome.message == f"{file}:3 fails"


def test_what_an_ended_actor_wrote_is_asked_of_that_one_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = str(tmp_path / "out")
    actor = PretendedActor(answer(), answer("two"), answer("two"))
    client = client_of(actor)
    client.run({"kind": "run", "out": out}, 5)
    needs = {"kind": "run", "inputs": [{"name": "x", "file": f"{out}/x.bin"}]}
    client.run(needs, 5)
    assert "Ray restarted the actor of n1 on n2" in caplog.text
    client.run({"kind": "run", "out": out}, 5)
    assert [asked.get("incarnation") for asked in actor.asked] == [None, "one", None]
    unknown = {"kind": "run", "inputs": [{"name": "x", "file": "/nowhere/x.bin"}]}
    assert client.run(unknown, 5).status is JobStatus.LOST


@pytest.mark.parametrize("device", ["cuda:0,ray:auto", "ray:auto,cuda:0"])
def test_a_cluster_next_to_other_devices_is_refused(device: str) -> None:
    with pytest.raises(DeviceError, match="a Ray cluster goes alone"):
        open_device(device)
