"""The kernels of a workspace, what can be had for each chip, and what is on record of a run."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from conversation import KERNEL, Conversation

from tilewright_server.kernel_facts import ProfileFacts, Timing
from tilewright_server.kernel_list import (
    KernelTime,
    compiled_time,
    kernel_rows,
    profiled_time,
    roots_of,
)

ISSUES = [
    {"id": "minor", "message": "small", "line": 3, "severity": 1, "kernel": "k"},
    {"id": "grave", "message": "large", "line": 7, "severity": 4, "kernel": "k"},
    {"id": "grave", "message": "of the host", "line": 9, "severity": 4, "kernel": None},
]
TIME = {"us": 130.4, "case": "bench-gpu[0]", "device": "NVIDIA H200"}


def _proof(**changes: Any) -> dict[str, Any]:
    proof = {"kernel": "k", "line": 2, "status": "current", "summary": "faster 1.94x"}
    return {**proof, "changes": [], "time": TIME, **changes}


def _row(proof: dict[str, Any]) -> Any:
    entries = [{"kernel": "k", "line": 2}]
    checked = {"files": [{"path": "a.py", "issues": ISSUES, "entries": entries}]}
    (row,) = kernel_rows(checked, {"files": [{"path": "a.py", "kernels": [proof]}]})
    return row


def test_a_row_has_the_worst_issue_of_its_kernel_and_the_certified_time() -> None:
    row = _row(_proof())
    assert (row.issues, row.worst["id"], row.worst["line"]) == (2, "grave", 7)
    assert row.proof == "faster 1.94x"
    assert row.time == KernelTime(130.4, "measured", "NVIDIA H200", "bench-gpu[0]")


def test_a_kernel_without_a_certificate_is_listed_too() -> None:
    checked = {"files": [{"path": "a.py", "issues": [], "entries": [{"kernel": "k", "line": 2}]}]}
    (row,) = kernel_rows(checked, {"files": []})
    assert (row.certificate, row.worst, row.time) == ("none", None, None)


def test_a_stale_certificate_gives_no_time_and_says_what_changed() -> None:
    row = _row(_proof(status="stale", changes=["k changed (line 5)"]))
    assert (row.certificate, row.proof) == ("stale", "k changed (line 5)")
    assert row.time is None


def test_a_measured_time_carries_its_share_of_the_roof() -> None:
    timing = Timing(90.0, 89.0, 92.0, "NVIDIA H200", "big[0]")
    facts = ProfileFacts(
        "k", "cuda:90", True, 48, 0, 0, None, (), True, timing, None, (), roof_percent=74.6
    )  # fmt: skip
    found = profiled_time([replace(facts, time=None), facts])
    assert found == KernelTime(90.0, "measured", "NVIDIA H200", "big[0]", 74.6)
    assert profiled_time([replace(facts, time=None)]) is None
    assert compiled_time(None) is None


def test_no_root_lies_in_another(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "ab").mkdir()
    names = ("a/b", "ab", "a", "gone")
    assert roots_of([str(tmp_path / name) for name in names]) == (
        str(tmp_path / "a"),
        str(tmp_path / "ab"),
    )


async def _listed(talk: Conversation) -> list[Any]:
    params = {"paths": [str(talk.folder)]}
    rows: list[Any] = await talk.client.protocol.send_request_async("tilewright/kernels", params)
    return rows


async def _ask_times(talk: Conversation) -> list[Any]:
    times: list[Any] = await talk.client.protocol.send_request_async("tilewright/kernelTimes", {})
    return times


async def _times(talk: Conversation) -> list[Any]:
    """What is known once the compile that was asked for has ended."""
    for _ in range(500):
        if found := await _ask_times(talk):
            return found
        await asyncio.sleep(0.02)
    raise AssertionError("no time is known")


async def test_an_open_files_estimate_stands_in_the_list(talk: Conversation) -> None:
    (talk.folder / "kernel.py").write_text(KERNEL.format(engine="nothing"))
    await talk.begin(device="interpreter", compiled={"targets": ["cuda:90"]})
    (row,) = await _listed(talk)
    assert (row["kernel"], row["worst"]["id"]) == ("dot_kernel", "missing_autotune")
    assert (row["certificate"], row["time"]) == ("none", None)
    talk.open("nothing")
    await talk.execute("tilewright.compile", {"uri": talk.uri})
    await _times(talk)
    (row,) = await _listed(talk)
    time = row["time"]
    assert (time["us"], time["kind"], time["where"]) == (17.2, "estimated", "cuda:90")
    assert time["roof_percent"] == 61.0


async def test_times_alone_start_no_process(talk: Conversation) -> None:
    (talk.folder / "kernel.py").write_text(KERNEL.format(engine="nothing"))
    await talk.begin(device="interpreter", compiled={"targets": ["cuda:90"]})
    assert await _ask_times(talk) == []
    talk.open("nothing")
    await talk.execute("tilewright.compile", {"uri": talk.uri})
    (found,) = await _times(talk)
    assert (found["kernel"], found["time"]["us"]) == ("dot_kernel", 17.2)
    assert found["path"] == str((talk.folder / "kernel.py").resolve())


async def test_every_chip_is_listed_with_what_can_be_had(talk: Conversation) -> None:
    await talk.begin(device="interpreter")
    chips = {chip["target"]: chip for chip in await talk.execute("tilewright.listTargets")}
    for name in ("cuda:75", "hip:gfx1201", "xpu:ptl"):
        assert (chips[name]["here"], chips[name]["gets"]) == ("none", [])
        assert chips[name]["lacks"]
    for name in ("neuron:trn1", "neuron:trn2", "neuron:trn3"):
        assert (chips[name]["here"], chips[name]["gets"]) == ("estimates", ["estimate"])
        assert "not compiled or measured" in chips[name]["lacks"]


async def test_nothing_is_started_for_the_chips_of_an_untrusted_workspace(
    talk: Conversation,
) -> None:
    await talk.begin(trusted=False)
    chips = await talk.execute("tilewright.listTargets")
    assert {chip["lacks"] for chip in chips} == {
        "this workspace is not trusted: nothing is compiled or run"
    }


async def test_the_record_of_a_run_gives_its_roofline(talk: Conversation) -> None:
    await talk.begin(device="interpreter")
    found = await talk.execute("tilewright.runRecord", {"record": "8ed9"})
    assert found["roof"] == {"missing": "no trial was timed"}
    assert found["estimates"]["chip"] == "H200 SXM"
    assert set(found) == {"roof", "estimates"}, "texts and prompts are not sent"
    assert await talk.execute("tilewright.runRecord", {"record": "gone"}) is None
