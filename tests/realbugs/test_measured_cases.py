"""What is measured of slow cases: every case is accounted for, and what the figures say of it."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from measured_cases import (
    CONTROL,
    FOLDER,
    MEASURED,
    Effect,
    Measurement,
    Measurements,
    Ratio,
    claims,
    measurements,
    shown,
)
from reported_cases import Case, Kind, cases
from workload import Way
from workloads import NOT_RUN, WORKLOADS


@cache
def slow_cases() -> dict[str, Case]:
    return {case.name: case for case in cases() if case.entry.kind is Kind.SLOW}


def ratio(value: float, low: float, high: float) -> Ratio:
    return Ratio(value=value, low=low, high=high)


def test_each_slow_case_has_inputs_or_a_reason() -> None:
    assert set(WORKLOADS) | set(NOT_RUN) == set(slow_cases())
    assert set(WORKLOADS) & set(NOT_RUN) == set()
    assert all(len(reason) > 20 for reason in NOT_RUN.values())


def test_sizes_are_those_that_the_inputs_take() -> None:
    for name, workload in WORKLOADS.items():
        assert workload.sizes, name
        for sizes in (workload.small, *workload.sizes):
            assert len(workload.named(sizes)) == len(sizes), name
        if workload.way is Way.NEW_SIZES:
            assert len(set(workload.sizes)) >= 13, name


@pytest.mark.parametrize("path", [MEASURED, CONTROL])
def test_what_was_measured_is_of_the_cases_and_sizes_there_are(path: Path) -> None:
    wanted = {
        (name, tuple(workload.named(sizes).items()))
        for name, workload in WORKLOADS.items()
        for sizes in (workload.sizes if workload.way is Way.CALLS else workload.sizes[-1:])
        if path == MEASURED or workload.way is Way.CALLS
    }
    found = [(row.name, tuple(row.sizes.items())) for row in measurements(path).rows]
    assert len(found) == len(set(found))
    assert set(found) == wanted


def test_a_ratio_counts_only_with_its_whole_interval() -> None:
    assert ratio(1.5, 1.03, 2.0).effect is Effect.SLOWER
    assert ratio(1.5, 1.01, 2.0).effect is Effect.ALIKE
    assert ratio(0.9, 0.8, 0.97).effect is Effect.FASTER
    assert ratio(0.9, 0.8, 0.99).effect is Effect.ALIKE


def test_no_twin_is_slower_than_itself() -> None:
    assert {row.device.effect for row in measurements(CONTROL).rows} == {Effect.ALIKE}


def test_a_claim_counts_the_cases_and_the_sizes_that_are_slower() -> None:
    case = slow_cases()["Megatron-LM/atomics_one_after_another"]
    rows = (
        Measurement(case.name, {"n": 1}, ratio(3.0, 2.0, 4.0), None),
        Measurement(case.name, {"n": 2}, ratio(1.0, 0.9, 1.1), None),
    )
    found = Measurements({}, rows)
    (claim,) = claims([case], ["contended_atomics", "no_swizzling"], found)
    assert (claim.cases, claim.timed, claim.slower, claim.sizes) == (1, 1, 1, 2)
    assert claim.median == 2.0
    assert shown(rows) == "3.00x, *1.00x*"
    assert claims([case], ["contended_atomics"], Measurements({}, ())) == ()


def test_a_case_that_failed_is_no_measurement(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    file.write_text(json.dumps({"about": {}, "rows": [{"name": "a/b", "failure": "it broke"}]}))
    with pytest.raises(ValueError, match="no times of a/b"):
        measurements(file)


@pytest.mark.slow
@pytest.mark.triton
def test_results_are_compared_in_the_interpreter(tmp_path: Path) -> None:
    rows = _run(tmp_path, "three_convolutions", "attention/lengths_to", "tuned_for_each_number")
    assert [row.get("agree") for row in rows] == [True, True, True]


@pytest.mark.slow
@pytest.mark.triton
def test_versions_that_disagree_are_a_failure(tmp_path: Path) -> None:
    import pair
    import torch

    one = torch.tensor([1.0, float("inf")])
    pair._agree(one, one.clone(), None)
    with pytest.raises(pair.DisagreementError, match="differ by"):
        pair._agree(one, torch.tensor([1.1, float("inf")]), None)
    with pytest.raises(pair.DisagreementError, match="of the twin"):
        pair._agree(one, torch.ones(3), None)
    with pytest.raises(pair.DisagreementError, match="differ by"):
        pair._agree(torch.tensor([1, 2]), torch.tensor([1, 3]), None)


def _run(folder: Path, *names: str) -> list[dict[str, Any]]:
    out = folder / "found.json"
    script = [str(FOLDER / "measure.py"), str(out), "--device", "interpreter", "--only", *names]
    done = subprocess.run([sys.executable, *script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    rows: list[dict[str, Any]] = json.loads(out.read_text("utf-8"))["rows"]
    return rows
