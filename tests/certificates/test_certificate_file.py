"""From a run's evidence to the file: what is of the kernel, and what would say nothing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from certified_samples import ORIGINAL, TEXT, put

from tilewright.certificates.files import as_json
from tilewright.devices.model import DeviceInfo
from tilewright.evaluation.certificate_file import certificate_file
from tilewright.evaluation.model import Certificate, Level, StepName, StepResult, StepStatus
from tilewright.evaluation.model import text_hash as digest
from tilewright.problems.model import Case, Entry, EntryKind, Problem
from tilewright.targets.model import Target

H200 = DeviceInfo(
    "cuda:0", "NVIDIA H200", Target("cuda", "90"), can_time=True, torch="2", triton="3", python="3"
)
CHECKS = (
    {"case": "ci[0]", "name": "ci[0]", "seed": 0, "oracle": "reference double",
     "max_abs_error": 1e-7, "max_rel_error": float("inf"), "rtol": 1e-4, "atol": 1e-6},
    {"case": "ci[0]", "name": "ci[0], large values, strided inputs", "seed": 1,
     "oracle": "reference double", "max_abs_error": 2.34567e-7, "values": "large"},
    {"case": "ci[0]", "name": "ci[0], huge values", "seed": 2, "skipped": "the original fails"},
    {"case": "ci-ragged[1]", "name": "ci-ragged[1], N=7, programs reversed", "seed": 0,
     "oracle": "original", "max_abs_error": 0.0},
)  # fmt: skip
SPEED = {
    "case": "big[0]", "value": 1.94321987, "low": 1.93, "high": 1.95, "confidence": 0.99,
    "original_us": 200.0, "candidate_us": 103.0, "samples": 40, "noise": 0.004, "detectable": 0.01,
    "original_host_us": 31.25, "candidate_host_us": 40.0,
}  # fmt: skip
REPORTS = (
    {"kernel": "double_kernel", "ok": True, "registers": 32, "spill_bytes": 0},
    {"kernel": "double_kernel", "ok": True, "registers": 64, "spill_bytes": None},
    {"kernel": "double_kernel", "ok": False, "registers": None},
)


def evidence(*checks: dict[str, Any], level: Level = Level.FASTER) -> Certificate:
    honesty = {"candidate": {"launches": {"double_kernel": {"programs": 4}}, "skipped_same": 0.0}}
    correct = {"checks": checks or CHECKS, "honesty": honesty, "repetition": {"calls": 9}}
    return Certificate(
        level=level,
        original=digest(ORIGINAL),
        candidate=digest(TEXT),
        problem="e" * 32,
        target="cuda:90",
        device="cuda:0 (NVIDIA H200)",
        toolchain={"triton": "3.6.0"},
        steps=(
            StepResult(StepName.COMPILE, StepStatus.PASSED, data={"reports": REPORTS}),
            StepResult(StepName.CORRECTNESS, StepStatus.PASSED, "x" * 999, data=correct),
            StepResult(StepName.SPEED, StepStatus.PASSED, data={"cases": [SPEED]}),
        ),
        speedup=None,
        seeds=(5, 6),
        created="2026-11-21T17:00:00+00:00",
        tilewright="0.1.0",
    )


def problem(folder: Path) -> Problem:
    cases = {"ci": (Case("ci", 0, {}, None, ()),)}
    entry = Entry(EntryKind.FUNCTION, "double")
    return Problem(str(folder / "kernels.yaml"), "e" * 32, entry, None, cases, "ci")


def made(
    folder: Path, certificate: Certificate, original: str = ORIGINAL, info: DeviceInfo = H200
) -> dict[str, Any] | None:
    texts = (original, TEXT)
    file = certificate_file(certificate, texts, problem(folder), info, put(folder))
    return None if file is None else as_json(file)


def test_figures_are_gathered_by_kernel_and_case(tmp_path: Path) -> None:
    data = made(tmp_path, evidence())
    assert data is not None
    assert data["summary"].startswith(
        "faster: 1.94x [1.93, 1.95], big[0]; correct in 3 comparisons"
    )
    (kernel,) = data["compiled"]
    assert (kernel["configurations"], kernel["compiled"], kernel["registers"]) == (3, 2, [32, 64])
    first, ragged = data["checks"]
    assert (first["count"], first["seeds"], first["max_abs_error"]) == (2, [0, 1], 2.35e-7)
    assert first["families"] == ["large values", "strided inputs"]
    assert "max_rel_error" not in first, "infinity is no figure"
    assert (ragged["oracle"], ragged["families"]) == ("original", ["N=7", "programs reversed"])
    assert data["speed"][0]["value"] == 1.9432
    assert data["speed"][0]["detectable"] == 0.01
    assert data["speed"][0]["candidate_host_us"] == 40.0
    assert "9 calls in a row" in " ".join(data["honesty"])
    assert data["subject"]["kernels"] == ["scale", "double_kernel"]
    assert data["problem"]["path"] == "kernels.yaml"
    assert max(len(step.get("message", "")) for step in data["steps"]) <= 240


def test_whose_login_on_which_host_it_was_is_not_said(tmp_path: Path) -> None:
    host = "ssh://ada@lab.example:2222/home/ada/venv/bin/python"
    there = replace(H200, id=f"{host}#cuda:0")
    told = replace(evidence(), unverified=(f"On {host}#cuda:0 files were left out.",))
    data = made(tmp_path, told, info=there)
    assert data is not None
    assert data["device"]["id"] == "cuda:0"
    assert data["device"]["name"] == "NVIDIA H200"
    assert data["unverified"] == ["On the device's host#cuda:0 files were left out."]
    assert "ada" not in str(data)


@pytest.mark.parametrize(
    ("high", "words"),
    [
        (
            1.01,
            "not measurably faster: 0.99x [0.98, 1.01], big[0] (minimum detectable speed-up: 1.0 %",
        ),
        (0.99, "slower: 0.99x [0.98, 0.99], big[0]; correct"),
    ],
)
def test_a_summary_says_what_would_have_been_seen(tmp_path: Path, high: float, words: str) -> None:
    case = SPEED | {"value": 0.99, "low": 0.98, "high": high}
    step = StepResult(StepName.SPEED, StepStatus.FAILED, data={"cases": [case]})
    found = evidence(level=Level.CORRECT)
    data = made(tmp_path, replace(found, steps=(*found.steps[:2], step)))
    assert data is not None
    assert data["summary"].startswith(words)


def test_evidence_without_data_still_makes_a_file(tmp_path: Path) -> None:
    bare = replace(
        evidence(),
        level=Level.COMPILED,
        steps=(StepResult(StepName.COMPILE, StepStatus.PASSED),),
        seeds=(),
        isolation=None,
    )
    data = made(tmp_path, bare)
    assert data is not None
    assert (data["level"], data["summary"]) == (
        "compiled",
        "compiled for cuda:90; speed not measured",
    )


def test_no_folder_of_this_machine_is_in_it(tmp_path: Path) -> None:
    told = replace(evidence(), unverified=(f"Run on launches from {tmp_path}/launches.",))
    data = made(tmp_path, told)
    assert data is not None
    assert data["unverified"] == ["Run on launches from launches."]
    assert str(tmp_path) not in str(data)


def test_what_was_only_parsed_is_no_certificate(tmp_path: Path) -> None:
    assert made(tmp_path, evidence(level=Level.PARSED)) is None


def test_a_text_held_against_itself_alone_is_no_certificate(tmp_path: Path) -> None:
    itself = replace(evidence(level=Level.CORRECT), original=digest(TEXT))
    assert made(tmp_path, itself, TEXT) is not None, "there is a reference"
    alone = [{**check, "oracle": "original"} for check in CHECKS]
    itself = replace(evidence(*alone, level=Level.CORRECT), original=digest(TEXT))
    assert made(tmp_path, itself, TEXT) is None
