"""What is told of the GPUs of this machine, and that a job sees its own alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.devices.client import WorkerDevice
from tilewright.devices.discovery import close_all
from tilewright.devices.facts import DeviceFacts, device_facts
from tilewright.devices.model import JobStatus
from tilewright.devices.opening import open_device

pytestmark = [pytest.mark.gpu, pytest.mark.triton]

SEES = """
import torch
def sees(x):
    return [torch.cuda.device_count(), str(torch.cuda.get_device_properties(0).uuid)]
"""


@pytest.fixture(autouse=True)
def no_worker_left() -> Iterator[None]:
    yield
    close_all()


def by_kind() -> tuple[list[DeviceFacts], list[DeviceFacts]]:
    """GPUs, and the interpreters and simulators."""
    every = device_facts()
    gpus = [facts for facts in every if facts.info.id.startswith("cuda")]
    return gpus, [facts for facts in every if facts not in gpus]


def test_a_gpu_says_what_it_is_and_what_it_can() -> None:
    gpus, others = by_kind()
    assert gpus
    assert all(facts.memory_bytes is None for facts in others)
    for facts in gpus:
        assert facts.can_run
        assert facts.info.can_time
        assert facts.driver
        assert facts.memory_bytes
        assert facts.free_bytes is not None
        assert 0 < facts.free_bytes <= facts.memory_bytes
        assert facts.isolation in ("strong", "partial", "weak")
        assert "proton" in facts.profilers


def test_each_gpu_is_the_first_and_only_one_to_its_job(tmp_path: Path) -> None:
    (tmp_path / "sees.py").write_text(SEES)
    found = set()
    gpus = [facts.info.id for facts in by_kind()[0]]
    assert gpus
    for name in gpus:
        opened = open_device(name)
        assert isinstance(opened, WorkerDevice)
        job = {
            "kind": "run", "module": str(tmp_path / "sees.py"), "device": name,
            "entry": {"kind": "function", "name": "sees", "path": None},
            "case": {"category": "ci", "index": 0, "dims": {}, "inputs": []},
            "inputs": [{"name": "x", "value": 1}], "out": str(tmp_path / "out"),
        }  # fmt: skip
        outcome = opened.run(job, 60)
        assert outcome.status is JobStatus.OK, outcome.message
        count, uuid = (entry["value"] for entry in outcome.value["outputs"])
        assert count == 1
        found.add(uuid)
    assert len(found) == len(gpus)
