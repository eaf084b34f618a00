"""Reading what profilers write: tables of either shape, units, refusals, tables nobody expected."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from profiling_subjects import matmul, softmax

from tilewright.profiling.counters import TIME, WANTED, Over, merged
from tilewright.profiling.model import Counters
from tilewright.profiling.profilers import PROFILERS, profilers_for
from tilewright.profiling.profilers.ncu import METRICS, Ncu, launches_in, samples_in
from tilewright.profiling.profilers.proton import Proton
from tilewright.profiling.profilers.rocprof import Rocprof
from tilewright.profiling.profilers.unitrace import Unitrace
from tilewright.profiling.rules import findings_of

GOLDEN = Path(__file__).with_name("golden")
HEAD = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size"'
ROW = '"1232","python3.12","127.0.0.1","softmax_kernel","1","7","(128, 1, 1)"'
LONG = f"""==PROF== Connected to process 1232 (/usr/bin/python3.12)
{HEAD},"Section Name","Metric Name","Metric Unit","Metric Value"
"0",{ROW},"Command line profiler metrics","gpu__time_duration.sum","ns","251,680"
"0",{ROW},"Command line profiler metrics","dram__bytes_read.sum","Mbyte","268.44"
"0",{ROW},"Command line profiler metrics","no__such_metric.sum","","n/a"
"1",{ROW},"Command line profiler metrics","gpu__time_duration.sum","us","100"
"1",{ROW},"Command line profiler metrics","dram__bytes_read.sum","byte","1,000"
"""
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
WIDE = f"""{HEAD},"gpu__time_duration.sum","lts__t_sector_hit_rate.pct","{
    STALLED.format("wait")
}","{STALLED.format("barrier")}"
"","","","","","","","","ns","%","",""
"0",{ROW},"251680","41.5","3","1"
"""


def answer(text: str, **more: Any) -> dict[str, Any]:
    files = {"counters.csv": text} if text else {}
    return {"files": files, "version": "2025.3.1", "code": 0, "stdout": "", "stderr": "", **more}


def test_a_table_with_a_metric_a_row_is_read_launch_by_launch() -> None:
    (first, second) = launches_in(LONG)
    assert first == (
        "softmax_kernel", {"gpu__time_duration.sum": 251.68, "dram__bytes_read.sum": 268.44e6}
    )  # fmt: skip
    assert second[1] == {"gpu__time_duration.sum": 100.0, "dram__bytes_read.sum": 1000.0}


def test_launches_of_a_kernel_are_put_together() -> None:
    reading = Ncu().read(answer(LONG))
    counters = reading.kernels["softmax_kernel"]
    assert counters.get(TIME) == pytest.approx(351.68)
    assert counters.get("memory.read") == pytest.approx(268.44e6 + 1000)
    assert counters.tool == "ncu 2025.3.1"
    assert reading.notes == ()


def test_a_table_with_a_launch_a_row_has_its_units_in_a_row_of_their_own() -> None:
    counters = Ncu().read(answer(WIDE)).kernels["softmax_kernel"]
    assert counters.get(TIME) == pytest.approx(251.68)
    assert counters.get("l2.hit") == 41.5
    assert counters.stalls == pytest.approx({"wait": 0.75, "barrier": 0.25})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (answer("", stdout="==WARNING== No kernels were profiled.\n"), "No kernels were profiled"),
        (answer("", code=1, stdout="==ERROR== ERR_NVGPUCTRPERM - no permission\n"), "NVGPUCTRPERM"),
        (answer("", code=9, stderr="==ERROR== InterprocessLockFailed"), "InterprocessLockFailed"),
        (answer("", code=3), "ended with code 3: it said nothing"),
        (answer(""), "it profiled no launch"),
        (answer("ID\n"), "it profiled no launch"),
        (answer('"ID","Kernel Name"\n"0"\n'), "it profiled no launch"),
        ({}, "it profiled no launch"),
    ],
)
def test_no_counters_are_a_note_that_says_why(value: dict[str, Any], said: str) -> None:
    reading = Ncu().read(value)
    assert not reading.kernels
    (note,) = reading.notes
    assert note.startswith("no counters: ")
    assert said in note


def golden(name: str) -> dict[str, Any]:
    """What a job answers with what ncu wrote of an example on an H200, columns left out."""
    raw, source = (GOLDEN / f"ncu_{name}_{page}.csv" for page in ("raw", "source"))
    files = {"counters.csv": raw.read_text(), "source.csv": source.read_text()}
    version = "Version 2025.3.1.0 (build 36398880) (public-release)"
    return {"files": files, "version": version, "code": 0, "module": f"{name}.py"}


def test_counters_of_the_softmax_example_on_an_h200() -> None:
    reading = Ncu().read(golden("softmax"))
    counters = reading.kernels["softmax_kernel"]
    assert list(reading.kernels) == ["softmax_kernel"]
    assert counters.tool == "ncu 2025.3.1.0"
    assert counters.get(TIME) == pytest.approx(251.2)
    assert counters.get("memory.read") == 794_825_472
    assert counters.get("load.sectors") == 16 * (counters.get("load.requests") or 0)
    assert counters.stalls["long_scoreboard"] == pytest.approx(0.892, abs=0.001)
    seen = replace(softmax(251.2), counters=counters)
    texts = [finding.text for finding in findings_of(seen)]
    assert texts[0].startswith("memory-bound: 4.14 TB/s of 4.8 TB/s (86 %, by counters)")
    assert any("1.9x the least traffic: 1.04 GB where the launch touches" in t for t in texts)
    assert any("lines 24, 31 and 37 read the same tiles again" in text for text in texts)
    assert any("89 % of their time waiting for loads from global" in text for text in texts)
    assert any("line 38 has 41 % of all samples" in text for text in texts)


def test_counters_of_the_matmul_example_on_an_h200() -> None:
    counters = Ncu().read(golden("matmul")).kernels["matmul_kernel"]
    seen = replace(matmul(1162.7), counters=counters)
    first, *others = findings_of(seen)
    assert first.text.startswith("issue-bound: 71 % busy, by counters")
    assert "118 TFLOP/s of 494 TFLOP/s tf32 (24 %)" in first.text
    ids = {finding.id for finding in others}
    assert {"widened", "tensor_idle", "hot_line", "traffic"} <= ids


def test_samples_of_another_file_and_quotes_in_a_line_do_not_mislead() -> None:
    text = (GOLDEN / "ncu_softmax_source.csv").read_text()
    lines = samples_in(text, "softmax.py")["softmax_kernel"]
    assert sum(lines[38].values()) == 11839
    assert max(lines[38], key=lambda reason: lines[38][reason]) == "long_scoreboard"
    assert 'float("-inf")' in text
    assert sum(lines[24].values()) == 122
    assert 191 not in lines, "a line of Triton's own library"
    library = samples_in(text, "standard.py")["softmax_kernel"]
    assert max(library[191], key=lambda reason: library[191][reason]) == "barrier"
    assert samples_in("", "softmax.py") == {}


def test_a_mean_is_weighted_with_time_and_a_counter_of_some_launches_is_left_out() -> None:
    one = Counters({TIME: 30.0, "l2.hit": 10.0, "memory.read": 5.0}, {"wait": 1.0})
    other = Counters({TIME: 10.0, "l2.hit": 50.0}, {"barrier": 1.0})
    both = merged([one, other])
    assert both.values == {TIME: 40.0, "l2.hit": 20.0}
    assert both.stalls == {"barrier": 0.25, "wait": 0.75}


def test_every_profiler_can_be_started_and_gives_names_that_are_known() -> None:
    assert [one.name for one in profilers_for("cuda")] == ["ncu", "proton"]
    assert profilers_for("neuron") == ()
    assert set(METRICS) <= set(WANTED)
    for one in PROFILERS:
        tool = one.tool()
        assert "{program}" in tool["arguments"]
        assert all(isinstance(word, str) for word in tool["arguments"])
    assert [one.name for one in PROFILERS if not one.untried] == ["ncu"]
    assert WANTED[TIME].over is Over.SUM


def test_rocprof_is_read_as_documented_and_called_untried() -> None:
    text = (
        '"Correlation_Id","Dispatch_Id","Kernel_Name","Counter_Name","Counter_Value"\n'
        '1,1,"softmax_kernel","FETCH_SIZE",1\n'
        '2,2,"softmax_kernel","FETCH_SIZE",1024\n'
        '2,2,"softmax_kernel","L2CacheHit",55.5\n'
    )
    reading = Rocprof().read({"files": {"12_counter_collection.csv": text}})
    counters = reading.kernels["softmax_kernel"]
    assert (counters.get("memory.read"), counters.get("l2.hit")) == (2.0**20, 55.5)
    assert "not yet run on" in reading.notes[0]
    assert Rocprof().read({"files": {}, "code": 1, "stderr": "ERROR no GPU"}).notes == (
        "no counters: rocprofv3 ended with code 1: ERROR no GPU",
    )


def test_unitrace_is_read_as_documented_and_called_untried() -> None:
    text = (
        "some remark\n"
        "Kernel, GpuTime[ns], GPU_MEMORY_BYTE_READ[bytes], XVE_ACTIVE[%],\n"
        '"softmax_kernel", 2000, 4096, 12.5,\n'
    )
    reading = Unitrace().read({"files": {"counters.metrics.12.csv": text}})
    counters = reading.kernels["softmax_kernel"]
    assert (counters.get(TIME), counters.get("memory.read")) == (2.0, 4096.0)
    assert counters.get("issue.busy") == 12.5
    assert "not yet run on" in reading.notes[0]


def proton_node(name: str, *children: Any, **metrics: float) -> dict[str, Any]:
    return {"frame": {"name": name, "type": "function"}, "metrics": metrics, "children": children}


def test_samples_of_proton_are_put_on_the_lines_of_the_file() -> None:
    here = proton_node(
        "/tmp/a/softmax.py:softmax_kernel@24", num_samples=12, stalled_long_scoreboard=9,
        stalled_not_Selected=1,
    )  # fmt: skip
    library = proton_node("/lib/standard.py:sum@290", num_samples=5, stalled_barrier=5)
    kernel = proton_node("softmax_kernel", here, library, **{"time (ns)": 5000.0})
    tree = [proton_node("ROOT", kernel), {"CUDA": {"0": {"arch": "90"}}}]
    value = {"files": {"proton.hatchet": json.dumps(tree)}, "module": "softmax.py"}
    counters = Proton().read(value).kernels["softmax_kernel"]
    assert counters.line_stalls == {24: {"long_scoreboard": 9.0, "not_selected": 1.0}}
    assert counters.stalls["barrier"] == pytest.approx(1 / 3)
    assert counters.get(TIME) == 5.0


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", '[{"frame": {"name": "ROOT"}}]'])
def test_what_proton_did_not_write_is_a_note(text: str) -> None:
    reading = Proton().read({"files": {"proton.hatchet": text}, "code": 0})
    assert not reading.kernels
    assert reading.notes[0].startswith("no samples: ")
