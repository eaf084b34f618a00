"""What a try's verdict says to the next one."""

from dataclasses import replace

import pytest
from agent_cases import HOPPER, KERNEL
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.agents.observation import MOST_CHARACTERS, words
from tilewright.evaluation.model import (
    Cause,
    Evaluation,
    Level,
    Speedup,
    StepName,
    StepResult,
    StepStatus,
)
from tilewright.serialize import dump
from tilewright.targets.model import CompileReport, LaunchFacts

ORDER = tuple(StepName)
REPORT = CompileReport(
    HOPPER, "add_one_kernel", LaunchFacts("add_one_kernel", (1,), ()), True,
    registers=64, spill_bytes=0, shared_bytes=8192, shared_limit=232448,
)  # fmt: skip
SPEEDUP = Speedup(
    0.973, 0.961, 0.984, 0.99, 0.012, 120.1, 123.4, "b", "NVIDIA H200", "bench[0]", 40
)


def evaluation(
    step: StepName,
    message: str,
    status: StepStatus = StepStatus.FAILED,
    reports: tuple[CompileReport, ...] = (),
    speedup: Speedup | None = None,
) -> Evaluation:
    """One that passed all before ``step``."""
    data = {"reports": [dump(report) for report in reports]}
    steps = [
        StepResult(one, StepStatus.PASSED, data=data if one is StepName.COMPILE else {})
        for one in ORDER[: ORDER.index(step)]
    ]
    return Evaluation(
        "c", "b", Level.REJECTED, (*steps, StepResult(step, status, message)), speedup
    )


def test_syntax_error_names_and_quotes_the_line() -> None:
    said = words(evaluation(StepName.SYNTAX, "line 14: '(' was never closed"), KERNEL)
    assert said == (
        "Refused at syntax: line 14: '(' was never closed\n"
        "Line 14 of the candidate: `x = tl.load(x_ptr + offs, mask=offs < n)`"
    )


def test_compile_error_in_a_traceback_names_no_path() -> None:
    message = (
        'Traceback: File "/tmp/tilewright-ab12/worker/launches/capture.py", line 3, in run\n'
        'File "/tmp/x1/candidates/add_9f.py", line 15, in add_one_kernel\n'
        'File "/opt/venv/lib/python3.11/site-packages/triton/compiler.py", line 9\n'
        "CompilationError: incompatible dimensions"
    )
    said = words(evaluation(StepName.COMPILE, message), KERNEL)
    assert "/tmp" not in said
    assert "/opt" not in said
    assert "capture.py" not in said
    assert 'File "(library)"' in said
    assert "CompilationError: incompatible dimensions" in said
    assert "Line 15 of the candidate: `tl.store(y_ptr + offs, x + 1, mask=offs < n)`" in said
    assert said.startswith("Refused at compile after it passed syntax, structure: ")


def test_wrong_results_keep_numbers_and_pattern() -> None:
    message = (
        "ci[0], seed 1: output: 3 of 67 elements differ, first at 64: expected 1, got nan; the "
        "last 3 indices (what is left after whole tiles of 64)"
    )
    said = words(evaluation(StepName.CORRECTNESS, message, reports=(REPORT,)), KERNEL)
    assert message in said
    assert "Compiled, add_one_kernel: 64 registers a thread, 0 bytes spilled a thread, 8192" in said


def test_slow_candidate_has_both_times() -> None:
    slow = evaluation(StepName.SPEED, "slower than its input", speedup=SPEEDUP)
    said = words(slow, KERNEL)
    assert said.startswith("It is correct and is not kept: slower than its input\n")
    assert "123.4 us, where the text before takes 120.1 us" in said
    assert "speed-up 0.973 [0.961, 0.984], above 1.012 counts" in said


def test_resources_are_compared_with_the_input() -> None:
    before = evaluation(StepName.SPEED, "", reports=(REPORT,))
    spilling = replace(REPORT, registers=255, spill_bytes=480, shared_bytes=200000)
    worse = replace(spilling, spill_bytes=900)
    said = words(evaluation(StepName.SPEED, "slower", reports=(worse, spilling)), KERNEL, before)
    assert "255 registers a thread (64 before), 480 bytes spilled a thread (0 before)" in said
    assert "200000 bytes of shared memory (8192 before) of 232448." in said
    assert "It spills registers: use smaller tiles" in said
    full = replace(REPORT, shared_bytes=200000)
    said = words(evaluation(StepName.SPEED, "slower", reports=(full,)), KERNEL, before)
    assert "Shared memory for one program at a time" in said


def test_fault_of_the_harness_is_not_the_candidates() -> None:
    broken = evaluation(StepName.CORRECTNESS, "not judged: out of memory", StepStatus.ERROR)
    step = replace(broken.steps[-1], data={"cause": Cause.HARNESS.value})
    said = words(replace(broken, steps=(*broken.steps[:-1], step)), KERNEL)
    assert said.startswith("It got no verdict at correctness after it passed")
    assert "Refused" not in said


def test_skipped_steps_and_success_are_said() -> None:
    done = evaluation(StepName.SPEED, "not measured: the CPU cannot time", StepStatus.SKIPPED)
    said = words(replace(done, level=Level.CORRECT), KERNEL)
    assert said.startswith("No check failed; it is correct after it passed syntax, structure")
    assert "Not checked, speed: not measured: the CPU cannot time" in said


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=4000), st.sampled_from(ORDER), st.integers(0, 40))
def test_never_too_long_and_never_empty(message: str, step: StepName, count: int) -> None:
    names = [replace(REPORT, kernel=f"kernel_{n}") for n in range(count)]
    said = words(evaluation(step, message, reports=tuple(names), speedup=SPEEDUP), KERNEL)
    assert 0 < len(said) <= MOST_CHARACTERS


@pytest.mark.parametrize("size", [900, 5000])
def test_long_message_keeps_beginning_and_end(size: int) -> None:
    message = f"begins {'word ' * (size // 5)}ends with the cause"
    said = words(evaluation(StepName.COMPILE, message), KERNEL)
    assert "begins word" in said
    assert "ends with the cause" in said
    assert " [...] " in said
