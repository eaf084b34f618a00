"""The ``profile`` job, and the job that starts a profiler around a version."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from worker_bench import KERNELS, Bench, case_of, function, tensor

from tilewright.devices.model import JobStatus
from tilewright.worker.profiling.device_times import of_tree, summed

GOLDEN = Path(__file__).parents[1] / "profiling" / "golden"
"""What profilers wrote on an H200."""

pytestmark = pytest.mark.triton


def job(**more: Any) -> dict[str, Any]:
    return {
        "module": str(KERNELS / "rows.py"),
        "entry": function("softmax"),
        "case": case_of(tensor("x", 4, 50)),
        "device": "interpreter",
        **more,
    }


def test_a_version_is_timed_and_its_launches_are_logged(bench: Bench) -> None:
    value = bench.get("profile", budget_s=0.05, **job())
    assert len(value["us"]) >= 10
    assert all(us > 0 for us in value["us"])
    assert [launch["kernel"] for launch in value["launches"]] == ["softmax_kernel"]
    assert len(value["launch_us"]) == 1
    assert "host" in value["clock_note"]
    assert value["activity"]["kernels"] == []
    assert value["call_us"] is None


def test_activity_of_several_calls_is_told_as_that_of_one() -> None:
    spans = [("a", 0.0, 4.0), ("b", 5.0, 7.0), ("a", 10.0, 14.0), ("b", 13.0, 15.0)]
    value = summed(spans, calls=2)
    assert value["kernels"] == [
        {"name": "a", "count": 1.0, "us": 4.0},
        {"name": "b", "count": 1.0, "us": 2.0},
    ]
    assert value["busy_us"] == pytest.approx((4 + 2 + 5) / 2)


def test_what_tritons_profiler_wrote_is_told_as_one_call() -> None:
    value = of_tree(json.loads((GOLDEN / "proton_softmax.hatchet").read_text()), calls=10)
    assert value["kernels"] == [
        {"name": "softmax_kernel", "count": 1.0, "us": pytest.approx(255.04, abs=0.01)}
    ]
    assert value["by"] == "proton"
    assert of_tree([{"frame": {"name": "ROOT"}, "metrics": {}}], 1)["kernels"] == []


def tool(folder: Path, script: str, **more: Any) -> dict[str, Any]:
    """A profiler that is a shell script."""
    path = folder / "counting"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"executables": [str(path)], "arguments": ["-o", "{out}", "--", "{program}"], **more}


def test_a_profiler_that_is_not_there_is_said_to_be(bench: Bench) -> None:
    outcome = bench.ask(
        "counters", tool={"executables": ["no-such-tool"], "arguments": []}, **job()
    )
    assert outcome.status is JobStatus.ERROR
    assert "there is no no-such-tool on the device's host" in outcome.message


def test_what_a_profiler_writes_comes_back_with_its_version_and_code(
    bench: Bench, tmp_path: Path
) -> None:
    script = (
        'if [ "$1" = --version ]; then echo counting 3; exit; fi\necho ID,1 > "$2"/c.csv\nexit 4'
    )
    value = bench.get(
        "counters", tool=tool(tmp_path, script, version=["--version"], files=["*.csv"]), **job()
    )
    assert (value["version"], value["code"]) == ("counting 3", 4)
    assert value["files"] == {"c.csv": "ID,1\n"}
    assert value["said"] is None


def test_a_profiler_reads_its_own_report_out_afterwards(bench: Bench, tmp_path: Path) -> None:
    script = 'case "$1" in --import) cat "$2";; *) echo report > "$2"/r;; esac'
    then = {"raw.csv": ["--import", "{out}/r"]}
    value = bench.get(
        "counters", tool=tool(tmp_path, script, then=then, files=["raw.csv"]), **job()
    )
    assert value["files"] == {"raw.csv": "report\n"}


def test_the_program_under_a_profiler_is_this_worker_and_runs_the_version(
    bench: Bench, tmp_path: Path
) -> None:
    # No device here: the program is started, and fails where it opens one.
    value = bench.get("counters", tool=tool(tmp_path, 'shift 3\nexec "$@"'), **job(device="cuda:0"))
    assert value["code"] != 0
    assert "CUDA" in value["stderr"] or "NVIDIA" in value["stderr"]


def test_the_interpreter_itself_may_be_what_starts_the_program(bench: Bench) -> None:
    own = {"executables": ["{python}"], "arguments": ["{program}"], "marks": "proton"}
    value = bench.get("counters", tool=own, **job(device="cuda:0"))
    assert value["code"] != 0
    assert "CUDA" in value["stderr"] or "NVIDIA" in value["stderr"]


def test_a_profiler_that_hangs_is_stopped_with_all_it_started(bench: Bench, tmp_path: Path) -> None:
    outcome = bench.ask("counters", timeout_s=1.0, tool=tool(tmp_path, "sleep 300"), **job())
    assert outcome.status is JobStatus.TIMEOUT
