"""Trials as they go on a GPU, on a device that only pretends to be one (``pretended_device``)."""

from collections.abc import Iterator
from typing import Any

import faulting
import pretended_device
import pytest
from faulting import ORIGINAL, Worker, accepted, refused

pytestmark = pytest.mark.triton

TUNED = (
    ORIGINAL.replace(
        "@triton.jit\ndef doubles",
        "LIST = [triton.Config({'BLOCK': b}, num_warps=b // 64) for b in (64, 128, 256)]\n\n\n"
        "@triton.autotune(LIST, key=['n'])\n"
        "@triton.jit\ndef doubles",
    )
    .replace("(triton.cdiv(x.numel(), 256),)", "lambda m: (triton.cdiv(x.numel(), m['BLOCK']),)")
    .replace(", BLOCK=256)", ")")
)
WRONG_IN_THE_LAST = TUNED.replace("* 2, mask", "* (2 if BLOCK < 256 else 3), mask")
COUNTS_CALLS = ORIGINAL.replace(
    "def double(x):\n",
    "CALLS = [0]\n\n\n"
    "def double(x):\n"
    "    CALLS[0] += 1\n"
    "    if CALLS[0] > 12:\n"
    "        return torch.zeros_like(x)\n",
)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with pretended_device.worker() as started:
        yield started


def trial(worker: Worker, text: str, **more: Any) -> dict[str, Any]:
    """As the engine asks for it: two seeds of a case, and each configuration of a tuner."""
    job = worker.job(str(worker.file("candidate", text)))
    (check,) = job["checks"]
    job |= {"checks": [{**check, "seed": seed} for seed in (0, 1)], "each_config": check, **more}
    return worker.ask(job, 120.0)


def configurations(answer: dict[str, Any]) -> list[int]:
    return [check["config"] for check in answer["value"]["checks"]]


def test_what_is_right_passes_and_is_compiled_beside(worker: Worker) -> None:
    answer = trial(worker, ORIGINAL.replace("BLOCK=256", "BLOCK=128").replace(", 256", ", 128"))
    assert accepted(answer), answer
    assert "compiled" in answer["value"]["ready_s"][1]
    assert answer["value"]["repetition"]["calls"] > 3


def test_every_configuration_of_a_tuner_is_checked(worker: Worker) -> None:
    answer = trial(worker, TUNED)
    assert accepted(answer), answer
    assert configurations(answer) == [0, 0, 0, 1, 2]


def test_a_configuration_that_nobody_chose_is_not_let_through(worker: Worker) -> None:
    answer = trial(worker, WRONG_IN_THE_LAST)
    assert "a case, autotune configuration 2: output" in refused(answer)


def test_what_counts_its_calls_is_found_by_many(worker: Worker) -> None:
    assert "in new memory: output" in refused(trial(worker, COUNTS_CALLS))


@pytest.mark.slow
def test_host_code_that_never_ends_holds_up_neither_compiling_nor_the_next() -> None:
    hangs = next(fault for fault in faulting.FAULTS if fault.name == "hangs")
    with pretended_device.worker(patience_s=1.0) as worker:
        assert worker.accepts(ORIGINAL)
        answer = worker.trial(hangs.text(), 20.0)
        assert "did not finish within 1 s" in refused(answer)
        assert worker.accepts(ORIGINAL)
