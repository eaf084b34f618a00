"""Trials as they go on a GPU, on a device that only pretends to be one (``pretended_device``)."""

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


@pytest.fixture
def worker(gpu_worker: Worker) -> Worker:
    return gpu_worker


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


WATCHED = {
    "borrows": (
        "it writes into input x",
        ORIGINAL.replace(
            "    doubles[",
            "    doubles[(4,)](x, x, x.numel(), BLOCK=256)\n"
            "    halves[(4,)](x, y, x.numel(), BLOCK=256)\n"
            "    return y\n    doubles[",
        ).replace(
            "@triton.jit\ndef doubles",
            "@triton.jit\n"
            "def halves(X, Y, n, BLOCK: tl.constexpr):\n"
            "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
            "    value = tl.load(X + at, mask=at < n)\n"
            "    tl.store(X + at, value * 0.5, mask=at < n)\n"
            "    tl.store(Y + at, value, mask=at < n)\n\n\n"
            "@triton.jit\ndef doubles",
        ),
    ),
    "looks first": (
        "before anything has written them",
        ORIGINAL.replace(
            "    tl.store(Y + at, tl.load(X + at, mask=at < n) * 2, mask=at < n)\n",
            "    value = tl.load(X + at, mask=at < n) * 2\n"
            "    stale = tl.load(Y + at, mask=at < n) != value\n"
            "    tl.store(Y + at, value, mask=(at < n) & stale)\n",
            1,
        ),
    ),
    "reads past the end": (
        "reads",
        ORIGINAL.replace("tl.load(X + at, mask=at < n) * 2", "tl.load(X + at) * 2", 1),
    ),
}
FAILS_THERE = ORIGINAL.replace(
    "def double(x):\n",
    "def double(x):\n    if x.numel() == 7:\n        raise NotImplementedError('seven')\n",
)


def watched(worker: Worker, text: str, elements: int = 1000) -> dict[str, Any]:
    """A trial whose candidate is called in the interpreter as well."""
    job = worker.job("")
    (check,) = job["checks"]
    case = {**check["case"], "inputs": [{"name": "x", "shape": [elements], "dtype": "float32"}]}
    there = {**job["runner"], "device": "interpreter"}
    told = {"runner": there, "checks": [{**check, "case": case}]}
    return trial(worker, text, watched=told, each_config=None)


@pytest.mark.parametrize("name", WATCHED)
def test_what_only_the_interpreter_sees_counts_on_a_device(name: str, worker: Worker) -> None:
    said, text = WATCHED[name]
    assert accepted(trial(worker, text, each_config=None))
    fault = refused(watched(worker, text))
    assert fault.startswith("a case, watched in the interpreter: ")
    assert said in fault


def test_what_was_watched_is_on_record(worker: Worker) -> None:
    answer = watched(worker, ORIGINAL.replace("BLOCK=256", "BLOCK=1024"))
    assert accepted(answer)
    assert answer["value"]["watched"] == [{"name": "a case", "seed": 1}]


def test_what_the_interpreter_cannot_run_is_said_and_no_fault(worker: Worker) -> None:
    answer = watched(worker, FAILS_THERE, elements=7)
    assert accepted(answer)
    (record,) = answer["value"]["watched"]
    assert "the interpreter does not run the candidate" in record["skipped"]
    assert "seven" in record["skipped"]


def test_every_configuration_of_a_tuner_is_watched(worker: Worker) -> None:
    reads_on = TUNED.replace(
        "tl.load(X + at, mask=at < n) * 2", "tl.load(X + at, mask=(at < n) | (BLOCK == 256)) * 2"
    )
    fault = refused(watched(worker, reads_on))
    assert "a case, autotune configuration 2, watched in the interpreter: it reads" in fault


def look(worker: Worker, text: str, **more: Any) -> dict[str, Any]:
    """A quick look at a configuration, as a screening asks for it."""
    told = worker.job(str(worker.file("looked_at", text)))
    case = told["checks"][0]["case"]
    asked = {"kind": "inputs", "case": case, "seed": 1, "out": str(worker.scratch / "inputs")}
    inputs = worker.ask(asked, 60.0)["value"]["inputs"]
    job = {"kind": "measure", "module": told["candidate"], "case": case, "inputs": inputs}
    runner = told["runner"] | {"budget_s": 0.01, "state": None}
    answer = worker.ask(job | runner | more, 60.0)
    assert answer["status"] == "ok", answer
    value: dict[str, Any] = answer["value"]
    return value


def test_a_configuration_that_computes_less_is_seen_at_a_quick_look(worker: Worker) -> None:
    kept = look(worker, ORIGINAL, out=str(worker.scratch / "kept"))
    assert kept["us"]
    like = {**kept, "rtol": 1e-3, "atol": 1e-3}
    same = look(worker, ORIGINAL.replace("256", "128"), like=like)
    assert same["difference"] is None
    assert same["us"]
    # As fast as can be: the grid counts blocks of 256, and so half of the result is left out.
    fewer = look(worker, ORIGINAL.replace("BLOCK=256", "BLOCK=128"), like=like)
    assert fewer["difference"].startswith("output: 488 of 1000 elements differ")
    assert fewer["us"] == [], "it is not timed"


def test_what_is_changed_in_place_is_compared_at_a_quick_look_too(worker: Worker) -> None:
    in_place = ORIGINAL.replace("    return y\n", "    x.copy_(y)\n", 1)
    assert in_place != ORIGINAL
    kept = look(worker, in_place, out=str(worker.scratch / "changed"))
    assert kept["inputs_changed"] == ["x"]
    like = {**kept, "rtol": 1e-3, "atol": 1e-3}
    assert look(worker, in_place.replace("256", "128"), like=like)["difference"] is None
    fewer = look(worker, in_place.replace("BLOCK=256", "BLOCK=128"), like=like)
    assert "488 of 1000 elements differ" in fewer["difference"]


SPENT_BY_SEVEN = ORIGINAL.replace(
    "def double(x):\n",
    "def double(x):\n"
    "    if x.numel() == 7 or getattr(torch, 'is_spent', False):\n"
    "        torch.is_spent = True\n"
    "        raise RuntimeError('CUDA error: misaligned address')\n",
)


def test_an_original_whose_device_is_spent_is_started_again(worker: Worker) -> None:
    job = worker.job("")
    (check,) = job["checks"]
    seven = {**check["case"], "inputs": [{"name": "x", "shape": [7], "dtype": "float32"}]}
    odd = {**check, "case": seven, "name": "seven", "required": False, "seed": 2}
    answer = trial(
        worker,
        ORIGINAL,
        original=str(worker.file("spent", SPENT_BY_SEVEN)),
        checks=[odd, {**check, "seed": 3}],
        each_config=None,
    )
    assert accepted(answer), answer
    first, second = answer["value"]["checks"]
    assert "the original itself fails: RuntimeError: CUDA error" in first["skipped"]
    assert "skipped" not in second
