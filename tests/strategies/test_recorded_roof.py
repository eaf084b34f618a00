"""The estimates of a recorded run: of its original and its trials, on the roofline of its chip."""

import json
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tilewright.store.records import Records, RunRecord
from tilewright.strategies.recorded_roof import MOST_ESTIMATED, estimates

SOURCE = """import triton
import triton.language as tl


@triton.jit
def copy(a, b, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(b + at, tl.load(a + at, mask=at < n), mask=at < n)
"""
N = 1 << 24


def _record(**request: Any) -> RunRecord:
    made = SimpleNamespace(request=request, path="copy.py")
    return cast("RunRecord", made)


def _records(texts: dict[str, str]) -> Records:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE text (hash TEXT, text TEXT)")
    connection.executemany("INSERT INTO text VALUES (?, ?)", texts.items())
    return Records(connection, Path("store"))


def _evaluation(block: int, registers: int) -> dict[str, Any]:
    tensors = [
        {"name": name, "kind": "tensor", "type": "*fp32", "shape": [N], "strides": [1]}
        for name in "ab"
    ]
    arguments = [
        *tensors,
        {"name": "n", "kind": "int", "type": "i32", "value": N},
        {"name": "BLOCK", "kind": "constexpr", "type": "constexpr", "value": block},
    ]
    launch = {"kernel": "copy", "arguments": arguments, "options": {}, "grid": [N // block]}
    report = {
        "target": {"backend": "cuda", "arch": "90"}, "kernel": "copy", "ok": True,
        "registers": registers, "spill_bytes": 0, "shared_bytes": 0, "launch": launch,
        "details": {"warps": 4},
    }  # fmt: skip
    return {"steps": [{"step": "compile", "data": {"reports": [report]}}]}


def _trial(number: int, candidate: str, **more: Any) -> dict[str, Any]:
    return {"number": number, "candidate": candidate, "kept": True, **more}


def test_each_text_that_compiled_stands_below_the_roof_of_the_chip() -> None:
    records = _records({"first": SOURCE, "second": SOURCE})
    evaluations = {"first": _evaluation(128, 16), "second": _evaluation(1024, 24)}
    record = _record(target={"backend": "cuda", "arch": "90"}, text="first")
    trials = [_trial(1, "second"), _trial(2, "never compiled")]
    found = estimates(records, record, trials, evaluations)
    assert json.loads(json.dumps(found)) == found
    assert [one["trial"] for one in found["texts"]] == [0, 1]
    for one in found["texts"]:
        assert one["bytes"] == pytest.approx(2 * 4 * N)
        assert one["flop"] == 0, "a copy multiplies nothing"
        least_us = one["bytes"] / found["peak_bytes"] * 1e6
        assert one["us"] > least_us
        assert one["roof_percent"] == pytest.approx(100 * least_us / one["us"])
    assert found["peak_flop"] is None


def test_an_nki_run_has_the_times_of_its_cost_model_and_no_peaks() -> None:
    gain = {"before_us": [70, 100, 130], "after_us": [50, 70, 90], "target": "neuron:trn2"}
    record = _record(target={"backend": "neuron", "arch": "trn2"}, text="first")
    found = estimates(_records({}), record, [_trial(1, "x", estimate=gain)], {})
    assert [(one["trial"], one["us"]) for one in found["texts"]] == [(0, 100), (1, 70)]
    assert (found["chip"], found["peak_flop"]) == ("neuron:trn2", None)


@pytest.mark.parametrize("target", [None, {"backend": "cuda", "arch": "90"}])
def test_what_was_not_compiled_is_not_estimated(target: Any) -> None:
    assert "missing" in estimates(_records({}), _record(target=target, text="x"), [], {})


def test_of_a_long_run_the_trials_left_out_are_counted() -> None:
    count = MOST_ESTIMATED + 5
    names = {f"t{n}": SOURCE for n in range(count)}
    trials = [{**_trial(n + 1, f"t{n}"), "kept": n == count - 1} for n in range(count)]
    evaluations = {"t0": _evaluation(128, 16), f"t{count - 1}": _evaluation(128, 16)}
    record = _record(target={"backend": "cuda", "arch": "90"}, text="t0")
    found = estimates(_records(names), record, trials, evaluations)
    assert found["left_out"] == 5
    assert [one["trial"] for one in found["texts"]] == [0, 1, count], "what was kept is shown"
