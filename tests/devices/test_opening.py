"""Which devices an id means: one, a list, all of a kind, here and on another host."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.devices import discovery, opening
from tilewright.devices.model import DeviceError, DeviceInfo
from tilewright.devices.pool import DevicePool
from tilewright.targets.model import Target

INTERPRETER = DeviceInfo("interpreter", "interpreter", None, False, "2.11", "3.6.0", "3.12")
GPU = DeviceInfo("cuda:0", "NVIDIA H200", Target("cuda", "90"), True, "2.11", "3.6.0", "3.12")
FOUR = (INTERPRETER, *(replace(GPU, id=f"cuda:{number}") for number in range(4)))


@pytest.fixture(autouse=True)
def four_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four GPUs here and on each host; no worker is started."""

    class Opened:
        def __init__(self, *about: Any) -> None:
            self.info = next(one for one in about if isinstance(one, DeviceInfo))
            own_id = next((one for one in about if isinstance(one, str)), self.info.id)
            self.info = replace(self.info, id=own_id)

        def close(self) -> None: ...

    monkeypatch.setattr(opening, "probe", lambda python: FOUR)
    monkeypatch.setattr(opening, "probe_host", lambda address: FOUR)
    monkeypatch.setattr(opening, "interpreter", lambda python: INTERPRETER)
    for name in ("client", "remote_client"):
        monkeypatch.setattr(opening, name, lambda *about, **options: None)
    for name in ("WorkerDevice", "RemoteDevice"):
        monkeypatch.setattr(opening, name, Opened)


def ids(device: str) -> list[str]:
    opened = opening.open_device(device)
    members = opened.members if isinstance(opened, DevicePool) else (opened,)
    return [member.info.id for member in members]


@pytest.mark.parametrize(
    ("device", "meant"),
    [
        ("interpreter", ["interpreter"]),
        ("auto", ["cuda:0"]),
        ("cuda:2", ["cuda:2"]),
        ("cuda:3, cuda:1", ["cuda:3", "cuda:1"]),
        ("cuda:all", ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]),
        ("ssh://far", ["ssh://far#cuda:0"]),
        ("ssh://far#interpreter", ["ssh://far#interpreter"]),
        ("ssh://far/py#cuda:1,cuda:2", ["ssh://far/py#cuda:1", "ssh://far/py#cuda:2"]),
        ("ssh://far#cuda:all", [f"ssh://far#cuda:{number}" for number in range(4)]),
        ("ssh://far#cuda:0,ssh://near#cuda:1", ["ssh://far#cuda:0", "ssh://near#cuda:1"]),
    ],
)
def test_an_id_means_these_devices(device: str, meant: list[str]) -> None:
    assert ids(device) == meant


@pytest.mark.parametrize(
    ("device", "told"),
    [
        ("cuda:9", r"no device 'cuda:9' here; there are interpreter, neuron-sim, cuda:0"),
        ("xpu:all", r"no device 'xpu:all' here"),
        (
            "ssh://far#cuda:9",
            r"no device 'cuda:9' on far; there are interpreter, neuron-sim, cuda:0",
        ),
        ("ssh://far#hip:all", r"no device 'hip:all' on far"),
        ("cuda:0,cuda:0", r"named twice"),
        ("cuda:0,interpreter", r"their times cannot be compared"),
    ],
)
def test_what_is_not_there_is_said(device: str, told: str) -> None:
    with pytest.raises(DeviceError, match=told):
        opening.open_device(device)


@pytest.mark.parametrize(
    ("device", "needed", "started"),
    [
        ("auto", True, ["worker"]),
        ("interpreter", True, ["worker"]),
        ("cuda:0", True, ["worker"]),
        ("cuda:0", False, []),
        ("ssh://host/cuda:0", True, []),
        ("ray:auto", True, []),
    ],
)
def test_a_worker_of_this_host_starts_ahead(
    monkeypatch: pytest.MonkeyPatch, device: str, needed: bool, started: list[str]
) -> None:
    begun: list[str] = []

    def named(python: str) -> Any:
        return SimpleNamespace(start=lambda: begun.append("worker"))

    monkeypatch.setattr(discovery, "_require_torch", lambda python: None)
    monkeypatch.setattr(discovery, "client", named)
    discovery.start_worker(device, needed=needed)
    assert begun == started
