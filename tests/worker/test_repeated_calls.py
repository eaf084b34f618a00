"""Calls in a row are watched as well: a candidate may tell a checked call from another one."""

import time
from typing import Any

import faulting
import pytest
from faulting import ORIGINAL

from tilewright.evaluation.honesty import faults

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
