"""What a certificate leaves open is said, whatever part of the evidence lacks."""

from typing import Any

import pytest

from tilewright.evaluation.limits_of_evidence import INTERPRETER_LIMITS, NO_REFERENCE, unverified
from tilewright.evaluation.model import Certificate, Level, StepName, StepResult, StepStatus

CHECK = {"gradients": True, "case": "ci[0]", "name": "ci[0]", "seed": 0, "oracle": "reference f"}
COMPILED = StepResult(StepName.COMPILE, StepStatus.PASSED)
SPEED = StepResult(
    StepName.SPEED, StepStatus.PASSED, data={"cases": [{"case": "big[0]", "noise": 0.01}]}
)


def checked(*checks: dict[str, Any], **data: Any) -> StepResult:
    watched = [{"name": "ci[0]", "seed": 0}]
    told = {"checks": list(checks), "repetition": {"calls": 9}, "watched": watched, **data}
    return StepResult(StepName.CORRECTNESS, StepStatus.PASSED, data=told)


def left_open(*steps: StepResult, **changes: Any) -> tuple[str, ...]:
    fields: dict[str, Any] = {
        "level": Level.FASTER,
        "original": "a",
        "candidate": "b",
        "problem": "c",
        "target": "cuda:90",
        "device": "cuda:0 (NVIDIA H200)",
        "toolchain": {},
        "steps": steps,
        "speedup": None,
        "seeds": (1, 2),
        "created": "2026-11-21",
        "tilewright": "0.1.0",
        "isolation": {"level": "strong", "reasons": []},
    }
    return unverified(Certificate(**(fields | changes)))


def test_nothing_is_left_open_where_everything_was_done() -> None:
    assert left_open(COMPILED, checked(CHECK), SPEED) == ()


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((checked(CHECK), SPEED), "Compile was skipped: no reason given."),
        ((COMPILED, SPEED), "Correctness was skipped: no reason given."),
        ((COMPILED, checked(CHECK)), "Speed was not measured: no device that can time took part."),
        ((COMPILED, checked({**CHECK, "oracle": "original"}), SPEED), NO_REFERENCE),
        ((COMPILED, checked({**CHECK, "caveats": ["a race may hide"]}), SPEED), "A race may hide."),
        ((COMPILED, checked(CHECK, repetition=None), SPEED),
         "Many calls in a row were not compared: it was not recorded."),
        ((COMPILED, checked(CHECK, watched=None), SPEED),
         "Single loads and stores were not watched in the interpreter: there is no small case for "
         "it."),
        ((COMPILED, checked(CHECK, watched=[{"name": "ci[0]", "skipped": "it knows no f"}]), SPEED),
         "Single loads and stores were not watched in the interpreter: it knows no f."),
        ((COMPILED, checked(CHECK, {**CHECK, "name": "ci[0], huge values", "skipped": "it fails"}),
          SPEED), "ci[0], huge values: it fails"),
        ((COMPILED, checked(CHECK),
          StepResult(StepName.SPEED, StepStatus.FAILED, "the times are not trusted")),
         "Speed is not known: the times are not trusted."),
    ],
)  # fmt: skip
def test_what_lacks_is_said(steps: tuple[StepResult, ...], said: str) -> None:
    assert left_open(*steps) == (said,)


def test_a_kernel_as_it_stands_has_nothing_to_be_watched_against() -> None:
    (said,) = left_open(COMPILED, checked(CHECK, watched=None), SPEED, candidate="a")
    assert said.endswith("not watched in the interpreter: original and candidate are the same.")


def test_the_interpreter_and_weak_isolation_are_said() -> None:
    steps = (COMPILED, checked(CHECK), SPEED)
    assert left_open(*steps, device="interpreter (CPU)") == (INTERPRETER_LIMITS,)
    weak = {"level": "weak", "reasons": ["network: no namespaces"]}
    assert left_open(*steps, isolation=weak) == ("Isolation was weak: network: no namespaces.",)
    (unrecorded,) = left_open(*steps, isolation=None)
    assert "not recorded" in unrecorded


def test_what_differs_from_check_to_check_by_shapes_alone_is_said_once() -> None:
    noted = [{**CHECK, "note": f"reads {n} elements past the end"} for n in (7, 9)]
    skipped = [
        {**CHECK, "name": f"ci-ragged[{n}]", "skipped": f"f raises ({n}x64)"} for n in (3, 4)
    ]
    assert left_open(COMPILED, checked(*noted, *skipped), SPEED) == (
        "Reads 7 elements past the end.",
        "ci-ragged[3]; ci-ragged[4]: f raises (3x64)",
    )


def test_many_checks_that_were_not_asked_are_one_sentence() -> None:
    skipped = [{**CHECK, "name": f"ci[{n}]", "skipped": "why" * 200} for n in range(9)]
    (said,) = left_open(COMPILED, checked(CHECK, *skipped), SPEED)
    assert said.startswith("ci[0]; ci[1]; ci[2] and 6 more: why") or said.endswith("…")
    assert len(said) <= 300
