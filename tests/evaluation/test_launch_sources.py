"""Which launch a kernel is compiled with: the problem's, a captured one, an inferred one."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright.captures.folder import Captures, text_hash
from tilewright.captures.model import VERSION, CapturedKernel, CapturedLaunch
from tilewright.devices.model import DeviceInfo, JobOutcome, JobStatus
from tilewright.evaluation.workbench import Workbench
from tilewright.inspection.launch_sources import LaunchSources, launch_sources
from tilewright.problems.model import Case, Problem
from tilewright.serialize import dump
from tilewright.signatures.model import Origin
from tilewright.signatures.sources import problem_without_spec
from tilewright.source import parse_module
from tilewright.targets.model import ArgumentFacts, LaunchFacts

KERNEL = """
@triton.jit
def {name}(x_ptr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x_ptr + o, tl.load(x_ptr + o) * 2)
"""
TEXT = "import triton\nimport triton.language as tl\n" + "".join(
    KERNEL.format(name=name) for name in ("first", "second", "third")
)


def launch(kernel: str, block: int, elements: int = 64) -> LaunchFacts:
    x = ArgumentFacts("x_ptr", "tensor", "*fp32", shape=(elements,), strides=(1,))
    return LaunchFacts(kernel, (1,), (x, ArgumentFacts("BLOCK", "constexpr", "constexpr", block)))


class FakeDevice:
    """Answers as a worker does whose entry point launches ``first``, or fails."""

    info = DeviceInfo("interpreter", "fake", None, False, "2", "3.9.0", "3.12")

    def __init__(self, failure: str = "") -> None:
        self._failure = failure

    def run(self, job: Mapping[str, Any], timeout_s: float) -> JobOutcome:
        if job["kind"] == "capture" and self._failure:
            return JobOutcome(JobStatus.ERROR, {}, self._failure)
        if job["kind"] == "capture":
            return JobOutcome(JobStatus.OK, {"launches": [dump(launch("first", 16))], "notes": []})
        chosen = {"chosen": 0, "launches": [], "refused": []}
        return JobOutcome(
            JobStatus.OK, {"kernels": dict.fromkeys(job["kernels"], chosen), "notes": []}
        )

    def close(self) -> None:
        pass


def recorded(path: Path, kernel: str, *launches: CapturedLaunch) -> CapturedKernel:
    found = parse_module(TEXT, str(path)).kernel(kernel)
    assert found is not None
    text = text_hash(found.text)
    return CapturedKernel(VERSION, kernel, kernel, str(path), 1, text, launches)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "kernels.py"
    found.write_text(TEXT)
    return found


def found(
    path: Path, *captured: CapturedKernel, spec: bool = True, failure: str = ""
) -> LaunchSources:
    problem: Problem = problem_without_spec(path)
    if spec:
        case = Case("ci", 0, {}, None, ())
        problem = replace(problem, cases={"ci": (case,)}, default_category="ci")
    bench = Workbench(FakeDevice(failure), problem, path, path.parent / "scratch", 0)
    return launch_sources(bench, parse_module(TEXT, str(path)), Captures(captured))


def test_the_problem_goes_before_captured_launches_and_those_before_inferred_ones(
    path: Path,
) -> None:
    captured = [
        recorded(path, name, CapturedLaunch(launch(name, 32), 1)) for name in ("first", "second")
    ]
    first, second, third = found(path, *captured).kernels
    assert [k.origin for k in (first, second, third)] == [
        Origin.SPEC, Origin.CAPTURED, Origin.INFERRED,
    ]  # fmt: skip
    assert first.launches == (launch("first", 16),)
    assert second.launches == (launch("second", 32),)
    assert third.why == "kernels does not launch it"


def test_where_the_entry_point_fails_the_next_source_is_taken_and_the_reason_told(
    path: Path,
) -> None:
    captured = recorded(path, "first", CapturedLaunch(launch("first", 32), 1))
    first, second, _ = found(path, captured, failure="no GPU").kernels
    assert (first.origin, second.origin) == (Origin.CAPTURED, Origin.INFERRED)
    assert first.why == second.why == "its problem's entry point fails: no GPU"


def test_the_heaviest_captured_launch_comes_first_and_once_for_those_that_compile_alike(
    path: Path,
) -> None:
    launches = (
        CapturedLaunch(launch("first", 32, 64), count=9),
        CapturedLaunch(launch("first", 64, 4096), count=2),
        CapturedLaunch(launch("first", 64, 8192), count=2),
        CapturedLaunch(launch("first", 128, 1 << 20), count=9, failure="OutOfResources"),
    )
    first = found(path, recorded(path, "first", *launches), spec=False).kernels[0]
    assert first.launches == (launch("first", 64, 8192), launch("first", 32, 64))
    assert (first.first(1).launches, first.first(1).notes) == (
        (launch("first", 64, 8192),),
        ("the first 1 of its 2 launches are compiled",),
    )


def test_an_edited_kernel_says_why_its_captured_launches_are_not_taken(path: Path) -> None:
    stale = replace(
        recorded(path, "first", CapturedLaunch(launch("first", 32), 1)), text_hash="old"
    )
    first, second, _ = found(path, stale, spec=False).kernels
    assert first.why == "it was edited since its launches were captured; capture again"
    assert second.why == "there is neither a spec nor a captured launch"
