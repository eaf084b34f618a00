"""Modules with weights before a device's judge, on a device that only pretends to be one."""

import zlib
from pathlib import Path
from typing import Any

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


@pytest.fixture
def worker(gpu_worker: Worker) -> Worker:
    return gpu_worker


def trial(worker: Worker, original: str, candidate: str, **more: Any) -> dict[str, Any]:
    """A trial of a module with two seeds of a case."""
    # Of one name a text stays as it was: originals are kept.
    files = [worker.file(f"{zlib.crc32(text.encode())}", text) for text in (original, candidate)]
    job = worker.job(str(files[1]))
    entry = {"kind": "model", "name": "Model", "path": None}
    check = {"name": "a case", "case": CASE, "seed": 0, "values": "normal", "layout": "plain"}
    job["runner"] |= {"entry": entry}
    told = {
        "original": str(files[0]), "entry": entry, "each_config": None,
        "checks": [{**check, "seed": seed} for seed in (0, 1)],
    }  # fmt: skip
    return worker.ask({**job, **told, **more}, 120.0)


def test_weights_stay_when_their_files_are_taken_back(tmp_path: Path) -> None:
    """A module is built again for each session of the noise survey, long after it was opened."""
    from tilewright.worker.inputs import tensor_files
    from tilewright.worker.trials.runner import Runner

    (tmp_path / "kernel.py").write_text(ADDS)
    given, weights = {"x": torch.zeros(4, 24)}, {"bias": torch.arange(24.0)}
    inputs = tensor_files.save(given, str(tmp_path / "in"), "input")
    state = tensor_files.save(weights, str(tmp_path / "in"), "state")
    entry = {"kind": "model", "name": "Model", "path": None}
    job = {"module": str(tmp_path / "kernel.py"), "device": "interpreter", "entry": entry}
    with Runner(job) as runner:
        opens = {"do": "time.open", "case": CASE, "inputs": inputs, "state": state, "twice": True}
        runner.do(opens)
        for file in (tmp_path / "in").iterdir():
            file.unlink()
        runner.do({"do": "time.prepare"})
        runner.do({"do": "time.block", "order": "AB"})
        runner.do({"do": "time.retained", "call": 0, "out": str(tmp_path / "out")})
    made = torch.from_file(str(tmp_path / "out" / "timed0.bin"), size=96).reshape(4, 24)
    assert torch.equal(made, torch.arange(24.0).expand(4, 24))


@pytest.mark.slow
def test_a_module_is_timed_where_no_noise_floor_is_known(worker: Worker) -> None:
    check = {"name": "a case", "case": CASE, "seed": 0, "values": "normal", "layout": "plain"}
    cases = [{"check": check, "budget_s": 0.2, "noise": {}}]
    timing = {"baseline": str(worker.file("baseline", ADDS)), "cases": cases}
    answer = trial(worker, ADDS, LARGER_TILES, timing=timing)
    assert accepted(answer), refused(answer)
    (found,) = answer["value"]["timing"]
    assert found["wrong"] is None
    assert found["checked"] >= 2  # more of them the longer noise keeps the verdict open
    assert found["survey"]["floor"] > 0


def test_what_leaves_its_weights_out_is_refused(worker: Worker) -> None:
    assert "a case: output: " in refused(trial(worker, ADDS, NO_WEIGHTS))


COUNTS = """
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("scratch", None, persistent=False)

    def forward(self, x):
        if self.scratch is None:
            self.scratch = torch.zeros(3)
        mean = self.mean
        if self.training:
            mean = x.mean(0)
            self.mean.mul_(0.9).add_(0.1 * mean)
            self.calls += 1
        return {"centred": x - mean, "mean": (mean, mean + 1)}
"""
COUNTS = f"import torch\n{COUNTS}"
FORGETS = COUNTS.replace("            self.mean.mul_(0.9).add_(0.1 * mean)\n", "")
MISCOUNTS = COUNTS.replace("self.calls += 1", "self.calls += 2")
NEVER_TRAINS = COUNTS.replace("if self.training:", "if False:")
KEEPS_COUNT = COUNTS.replace(
    "if self.training:\n", "self.calls += 1\n        if self.training:\n", 1
)
DROPS = COUNTS.replace("mean = x.mean(0)", "mean = torch.nn.functional.dropout(x).mean(0)")
DROPS = DROPS.replace("if self.scratch is None", "if False")


def modes(check: dict[str, Any]) -> list[dict[str, Any]]:
    told = {**check, "required": False}
    return [
        check,
        {**check, "seed": 1},
        {**told, "name": "in training", "seed": 2, "training": True},
        {**told, "name": "gradients", "seed": 3, "gradients": "where any"},
    ]


def asked(worker: Worker, original: str, candidate: str, **more: Any) -> dict[str, Any]:
    check = {"name": "a case", "case": CASE, "seed": 0, "values": "normal", "layout": "plain"}
    checks = [{**one, **more} if one.get("gradients") else one for one in modes(check)]
    return trial(worker, original, candidate, checks=checks)


def record(answer: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in answer["value"]["checks"] if one["name"] == name)
    return found


def test_what_a_module_keeps_is_compared_in_training(worker: Worker) -> None:
    answer = asked(worker, COUNTS, COUNTS.replace("0.1 * mean", "mean * 0.1"))
    assert accepted(answer), refused(answer)
    assert "skipped" not in record(answer, "in training")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FORGETS, "in training: expected 5 outputs, got 4: weight mean did not come back"),
        (MISCOUNTS, "weight calls"),
        (NEVER_TRAINS, "weight mean, weight calls did not come back"),
        (KEEPS_COUNT, "a case: it overwrites its weights calls"),
    ],
)
def test_what_a_module_should_keep_and_does_not_is_refused(
    worker: Worker, text: str, said: str
) -> None:
    assert said in refused(asked(worker, COUNTS, text))


def test_chance_in_training_is_said_and_nobody_is_refused_for_it(worker: Worker) -> None:
    answer = asked(
        worker, DROPS, DROPS.replace("mean = torch.nn", "torch.rand(1); mean = torch.nn")
    )
    assert accepted(answer), refused(answer)
    assert "changes from call to call" in record(answer, "in training")["skipped"]


SQUARES = """
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * x * w

    @staticmethod
    def backward(ctx, above):
        x, w = ctx.saved_tensors
        return above * 2 * x * w, (above * x * x).sum(0)


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        return Square.apply(x, self.weight)
"""
HALF_A_GRADIENT = SQUARES.replace("above * 2 * x * w", "above * x * w")
FORWARD_ALONE = SQUARES.replace("Square.apply(x, self.weight)", "(x * x * self.weight).detach()")
RAISES = SQUARES.replace("x, w = ctx.saved_tensors", "raise NotImplementedError('forward only')")


def test_gradients_that_are_right_pass(worker: Worker) -> None:
    answer = asked(worker, SQUARES, SQUARES.replace("above * 2 * x * w", "above * (2 * x) * w"))
    assert accepted(answer), refused(answer)
    assert "skipped" not in record(answer, "gradients")


def test_gradients_that_are_wrong_are_refused(worker: Worker) -> None:
    fault = refused(asked(worker, SQUARES, HALF_A_GRADIENT))
    assert fault.startswith("gradients: output['gradient of x']")


def test_a_gradient_that_is_cut_off_is_refused(worker: Worker) -> None:
    cut = SQUARES.replace("Square.apply(x, self.weight)", "(x * x).detach() * self.weight")
    assert "no gradient of x comes back" in refused(asked(worker, SQUARES, cut))


@pytest.mark.parametrize("text", [FORWARD_ALONE, RAISES])
def test_without_gradients_it_is_verified_for_forward_calls_alone(
    worker: Worker, text: str
) -> None:
    answer = asked(worker, SQUARES, text)
    assert accepted(answer), refused(answer)
    assert "forward only, under no_grad" in record(answer, "gradients")["skipped"]
    assert "gradient" in refused(asked(worker, SQUARES, text, gradients="needed")) or text is RAISES


def test_many_calls_of_a_module_are_compared(worker: Worker) -> None:
    answer = asked(worker, ADDS, LARGER_TILES)
    assert accepted(answer), refused(answer)
    assert answer["value"]["repetition"]["calls"] > 3
    said = record(answer, "gradients")["skipped"]
    assert "the original's results have no gradients" in said
