"""Calls in a row are watched as well: a candidate may tell a checked call from another one."""

import time
from typing import Any

import pytest
from faulting import ORIGINAL, Worker

from tilewright.evaluation.honesty import faults
from tilewright.worker import tamper

pytestmark = pytest.mark.triton

HONEST = ORIGINAL.replace("BLOCK=256", "BLOCK=128").replace("numel(), 256", "numel(), 128")
TELLS_A_CHECKED_CALL = ORIGINAL.replace(
    "    y = torch.empty_like(x)\n",
    "    if x.storage_offset() == 0:  # no room before it to see who leaves it\n"
    "        return x + x\n"
    "    y = torch.empty_like(x)\n",
)


def trial(worker: Worker, text: str, **more: Any) -> dict[str, Any]:
    """What two checks of a candidate give."""
    job = worker.job(str(worker.file("candidate", text)))
    check = job["checks"][0]
    checks = [{**check, "seed": seed} for seed in (0, 1)]
    answer = worker.ask({**job, "checks": checks, **more}, 60.0)
    assert answer["status"] == "ok", answer
    return dict(answer["value"])


def honesty(worker: Worker, text: str) -> dict[str, Any]:
    """What was watched in a trial that finds nothing wrong."""
    found = trial(worker, text)
    assert found["fault"] is None
    assert found["repetition"]["calls"] > 3
    return dict(found["honesty"])


def said(watched: dict[str, Any]) -> str:
    return "; ".join(faults(watched["original"], watched["candidate"]))


def test_an_operator_in_the_place_of_the_kernel_is_seen(interpreter_worker: Worker) -> None:
    watched = honesty(interpreter_worker, TELLS_A_CHECKED_CALL)
    assert "it runs the operator aten.add" in said(watched)


def test_nothing_is_said_of_an_honest_one(interpreter_worker: Worker) -> None:
    assert said(honesty(interpreter_worker, HONEST)) == ""


def test_the_limit_is_of_the_devices_time_though_the_host_runs_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tilewright.worker.trials import call_sequences, version

    queued: list[int] = []

    def catch_up(device: str) -> None:
        time.sleep(0.02 * len(queued))  # what a call takes there
        queued.clear()

    monkeypatch.setattr(version, "synchronize", catch_up)
    assert call_sequences._many(queued.append, 1000, 0.1, "cuda:0") <= 16


KNOWN = {
    "launches": {"first": {"count": 1, "programs": 4, "file": "ops.py", "line": 3}},
    "operators": {"aten.empty": {"calls": 1, "bytes": 64, "where": "ops.py:9"}},
    "kept": {"ops.cache": 64}, "state": ["ops.count"], "threads": 0, "settings": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "asks"),
    [
        ({}, False),
        ({"launches": {"other": {**KNOWN["launches"]["first"], "count": 9}}}, False),
        ({"operators": {"aten.zeros": {"calls": 2, "bytes": 64, "where": "ops.py:9"}}}, False),
        ({"kept": {}, "state": [], "steady": ["ops.other"]}, False),
        ({"launches": {}}, True),
        ({"launches": {"first": {**KNOWN["launches"]["first"], "programs": 0}}}, True),
        ({"launches": {"first": {**KNOWN["launches"]["first"], "file": "/lib/x.py"}}}, True),
        ({"operators": {"aten.add": {"calls": 1, "bytes": 64, "where": "ops.py:9"}}}, True),
        ({"kept": {"ops.cache": 65}}, True),
        ({"kept": {"ops.cache": 64, "ops.more": 1}}, True),
        ({"state": ["ops.count", "ops.other"]}, True),
        ({"threads": 1}, True),
        ({"settings": ["torch.default_dtype"]}, True),
        ({"events": {"opens a file": "ops.py:4"}}, True),
    ],
)
def test_the_original_is_asked_where_it_could_excuse_something(
    changed: dict[str, Any], asks: bool
) -> None:
    assert tamper.exceeds({**KNOWN, **changed}, KNOWN) is asks


COUNTS = ORIGINAL.replace("import torch\n", "import torch\ncalls = []\n", 1).replace(
    "    y = torch.empty_like(x)\n",
    "    calls.append(1)\n    x = x if len(calls) < 12 else x + 1\n    y = torch.empty_like(x)\n",
)


@pytest.mark.parametrize(
    ("name", "original", "fault"), [("adds", ORIGINAL, True), ("counts", COUNTS, False)]
)
def test_a_fault_of_later_calls_counts_where_the_original_has_it_not(
    interpreter_worker: Worker, name: str, original: str, fault: bool
) -> None:
    # Of one name a text stays as it was: originals are kept.
    before = interpreter_worker.file(f"before_{name}", original)
    found = trial(interpreter_worker, COUNTS, original=str(before))
    assert bool(found["fault"]) is fault, found
    if not fault:
        assert "the original itself fails it" in found["repetition"]["skipped"]
