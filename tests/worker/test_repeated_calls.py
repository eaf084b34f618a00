"""Calls in a row are watched as well: a candidate may tell a checked call from another one."""

import time
from typing import Any

import faulting
import pytest
from faulting import ORIGINAL

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


def trial(text: str) -> dict[str, Any]:
    with faulting.worker("interpreter") as started:
        candidate = started.file("candidate", text)
        job = started.job(str(candidate))
        check = job["checks"][0]
        job["checks"] = [{**check, "seed": seed} for seed in (0, 1)]
        answer = started.ask(job, 60.0)
    assert answer["status"] == "ok", answer
    assert answer["value"]["fault"] is None
    assert answer["value"]["repetition"]["calls"] > 3
    honesty: dict[str, Any] = answer["value"]["honesty"]
    return honesty


def said(honesty: dict[str, Any]) -> str:
    return "; ".join(faults(honesty["original"], honesty["candidate"]))


def test_an_operator_in_the_place_of_the_kernel_is_seen() -> None:
    assert "it runs the operator aten.add" in said(trial(TELLS_A_CHECKED_CALL))


def test_nothing_is_said_of_an_honest_one() -> None:
    assert said(trial(HONEST)) == ""


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


@pytest.mark.parametrize(("original", "fault"), [(ORIGINAL, True), (COUNTS, False)])
def test_a_fault_of_later_calls_counts_where_the_original_has_it_not(
    original: str, fault: bool
) -> None:
    with faulting.worker("interpreter") as started:
        before = started.file("before", original)
        job = started.job(str(started.file("candidate", COUNTS)))
        job = {**job, "original": str(before)}
        check = job["checks"][0]
        job["checks"] = [{**check, "seed": seed} for seed in (0, 1)]
        answer = started.ask(job, 60.0)
    assert answer["status"] == "ok", answer
    found = answer["value"]
    assert bool(found["fault"]) is fault, found
    if not fault:
        assert "the original itself fails it" in found["repetition"]["skipped"]
