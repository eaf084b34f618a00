"""Modules with weights before a device's judge, on a device that only pretends to be one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pretended_device
import pytest
import torch
from faulting import Worker, accepted, refused

pytestmark = pytest.mark.triton

ADDS = """
import torch
import triton
import triton.language as tl


@triton.jit
def add(X, B, Y, n, width, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n)
    tl.store(Y + at, x + tl.load(B + at % width, mask=at < n), mask=at < n)


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        y = torch.empty_like(x)
        add[(triton.cdiv(x.numel(), 64),)](x, self.bias, y, x.numel(), x.shape[1], BLOCK=64)
        return y
"""
LARGER_TILES = ADDS.replace("BLOCK=64", "BLOCK=128").replace("numel(), 64", "numel(), 128")
NO_WEIGHTS = LARGER_TILES.replace("x + tl.load(B + at % width, mask=at < n)", "x")

CASE = {
    "category": "ci", "index": 0, "dims": {}, "rtol": 1e-3, "atol": 1e-3, "init_args": [24],
    "inputs": [{"name": "x", "shape": [4, 24], "dtype": "float32"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with pretended_device.worker() as started:
        yield started


def trial(worker: Worker, original: str, candidate: str, **more: Any) -> dict[str, Any]:
    """A trial of a module with two seeds of a case."""
    files = [worker.file(name, text) for name, text in (("before", original), ("after", candidate))]
    job = worker.job(str(files[1]))
    entry = {"kind": "model", "name": "Model", "path": None}
    check = {"name": "a case", "case": CASE, "seed": 0, "values": "normal", "layout": "plain"}
    job["performer"] |= {"entry": entry}
    told = {
        "original": str(files[0]), "entry": entry, "each_config": None,
        "checks": [{**check, "seed": seed} for seed in (0, 1)],
    }  # fmt: skip
    return worker.ask({**job, **told, **more}, 120.0)


def test_weights_stay_when_their_files_are_taken_back(tmp_path: Path) -> None:
    """A module is built again for each session of the noise survey, long after it was opened."""
    from tilewright.worker import tensors
    from tilewright.worker.trials.performer import Performer

    (tmp_path / "kernel.py").write_text(ADDS)
    given, weights = {"x": torch.zeros(4, 24)}, {"bias": torch.arange(24.0)}
    inputs = tensors.save(given, str(tmp_path / "in"), "input")
    state = tensors.save(weights, str(tmp_path / "in"), "state")
    entry = {"kind": "model", "name": "Model", "path": None}
    job = {"module": str(tmp_path / "kernel.py"), "device": "interpreter", "entry": entry}
    with Performer(job) as performer:
        opens = {"do": "time.open", "case": CASE, "inputs": inputs, "state": state, "twice": True}
        performer.do(opens)
        for file in (tmp_path / "in").iterdir():
            file.unlink()
        performer.do({"do": "time.prepare"})
        performer.do({"do": "time.block", "order": "AB"})
        performer.do({"do": "time.retained", "call": 0, "out": str(tmp_path / "out")})
    made = torch.from_file(str(tmp_path / "out" / "timed0.bin"), size=96).reshape(4, 24)
    assert torch.equal(made, torch.arange(24.0).expand(4, 24))


@pytest.mark.slow
def test_a_module_is_timed_where_no_noise_floor_is_known(worker: Worker) -> None:
    check = {"name": "a case", "case": CASE, "seed": 0, "values": "normal", "layout": "plain"}
    cases = [{"check": check, "budget_s": 0.2, "noise": {}}]
    timing = {"baseline": str(worker.file("before", ADDS)), "cases": cases}
    answer = trial(worker, ADDS, LARGER_TILES, timing=timing)
    assert accepted(answer), refused(answer)
    (found,) = answer["value"]["timing"]
    assert found["wrong"] is None
    assert found["checked"] == 2
    assert found["survey"]["floor"] > 0


def test_what_leaves_its_weights_out_is_refused(worker: Worker) -> None:
    assert "a case: output: " in refused(trial(worker, ADDS, NO_WEIGHTS))
