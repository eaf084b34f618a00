"""The commands that list, show, replay and remove recorded runs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import recorded_runs
from command_line import run

from tilewright.cli import recorded_run
from tilewright.store.store import Store, open_store

KERNEL = Path(__file__).parents[2] / "examples" / "softmax.py"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))
    opened = open_store()
    yield opened
    opened.close()


def test_an_empty_store_says_how_to_start_a_run(store: Store) -> None:
    assert "tilewright optimize FILE" in run("runs").stdout
    ended = run("show")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "there is no run in" in ended.stderr
    assert run("replay", "abc").returncode == 2


def test_runs_are_listed_with_state_gain_and_cost(store: Store) -> None:
    first = recorded_runs.record(store, path="one.py")
    second = recorded_runs.record(store, path="two.py", finished=False)
    lines = run("runs").stdout.splitlines()
    assert lines[0].startswith(second)
    assert "interrupted" in lines[0]
    assert "gain: not measured, 2 model calls (2,400 tokens, $0.0250)" in lines[1]
    assert "2 of 4 trials kept" in lines[1]
    assert lines[2].startswith(first)
    assert "gain: 4.00x [3.92, 4.08] on cuda:0, 2 model calls" in lines[3]
    listed = json.loads(run("runs", "--limit", "1", "--format", "json").stdout)
    assert [one["run"] for one in listed["runs"]] == [second]
    assert listed["count"] == 2
    assert listed["runs"][0]["gain"] is None
    assert listed["runs"][0]["device_name"] == "NVIDIA H200"
    assert listed["bytes"] > 4096


def test_a_run_that_is_running_is_shown(store: Store) -> None:
    with store.run("key", "kernel.py", {}) as (running, ledger):
        recorded_runs.search(ledger)
        shown = run("show", running.id[:6]).stdout
        ledger.close()
    assert f"run {running.id}: running" in shown
    assert "Units done: evaluate 5, call 2; not done: none" in shown
    assert "what is on record so far" in shown


def test_the_tree_shows_each_trial_below_its_parent(store: Store) -> None:
    recorded_runs.record(store)
    lines = run("show").stdout.splitlines()
    start = lines.index("original")
    tree = [line.partition(",")[0] for line in lines[start + 1 : start + 5]]
    assert tree == [
        "└─ 1 kept",
        "   ├─ 2 refused",
        "   └─ 3 kept",
        "      └─ 4 refused",
    ]
    assert "9 of 10 elements differ" in lines[start + 2]
    assert (
        "Compiled matmul_kernel: 32 registers, 0 B spilled, 32768 B shared (1 of 1 configurations) "
        "-> 128 registers, 0 B spilled, 131072 B shared (1 of 1 configurations)"
    ) in lines


def test_a_trial_shows_its_diff_prompt_and_reply(store: Store) -> None:
    recorded_runs.record(store)
    shown = run("show", "last", "--trial", "2").stdout
    for said in (
        "Parent: 1",
        "Speed-up: not measured",
        "Make the kernel faster.",
        "## 4. KERNEL",
        "wrong <b>answer</b>",
        "-    tile = 64",
        "+    tile = 7",
    ):
        assert said in shown
    assert "what went wrong" not in shown, "the other trial's call is not shown"
    value = json.loads(run("show", "last", "--trial", "3", "--format", "json").stdout)
    assert (value["parent_trial"], value["number"]) == (1, 3)
    assert [call["try"] for call in value["calls"]] == [2]
    assert value["calls"][0]["reply"]["text"] == "tile = 128"
    ended = run("show", "last", "--trial", "9")
    assert ended.returncode == 2
    assert "has no trial 9; it has trials 1 to 4" in ended.stderr


def test_all_of_a_run_as_json(store: Store) -> None:
    recorded_runs.record(store)
    value = json.loads(run("show", "--format", "json").stdout)
    assert [trial["parent_trial"] for trial in value["trials"]] == [0, 1, 1, 3]
    assert [one["best"] for one in value["best"]] == [2.0, 2.0, 4.0, 4.0]
    assert value["roof"]["flop"] == recorded_runs.CASE.flop
    assert value["roof"]["peak_flop"] > 1e14
    sections = {one["name"]: one["characters"] for one in value["calls"][0]["sections"]}
    assert set(sections) == {"TASK", "CHIP", "KERNEL"}
    assert value["units"] == {
        "evaluate": {"done": 5, "open": 0},
        "call": {"done": 2, "open": 0},
    }


def test_runs_are_removed_by_id_and_by_age(store: Store) -> None:
    first = recorded_runs.record(store, path="one.py")
    second = recorded_runs.record(store, path="two.py")
    ended = run("runs", "forget")
    assert ended.returncode == 2
    assert "--older-than DAYS" in ended.stderr
    assert run("runs", "forget", "--older-than", "1").stdout.startswith("0 runs removed")
    assert run("runs", "forget", first).stdout.startswith("1 runs removed")
    removed = json.loads(run("runs", "forget", "--older-than", "0", "--format", "json").stdout)
    assert removed["removed"] == [second]
    assert store.records.runs() == []
    with store.run("key", "kernel.py", {}) as (running, _):
        ended = run("runs", "forget", running.id)
    assert ended.returncode == 1
    assert f"running: {running.id}" in ended.stderr


def test_a_replay_that_differs_names_the_difference(store: Store) -> None:
    recorded_runs.record(store)
    ended = run("replay")
    assert ended.returncode == 1
    assert "the results differ: the replay took another path" in ended.stdout
    value = json.loads(run("replay", "last", "--format", "json").stdout)
    assert (value["equal"], value["result"]) == (False, {})
    assert "is not on record" in value["difference"]


@pytest.mark.triton
def test_a_run_is_reported_and_replayed(store: Store, tmp_path: Path) -> None:
    kernel, page = tmp_path / "softmax.py", tmp_path / "page.html"
    kernel.write_text(KERNEL.read_text())
    arguments = ("--device", "interpreter", "--target", "cuda:90", "--report", str(page))
    ended = run("optimize", str(kernel), *arguments, "--format", "json")
    assert ended.returncode == 0, ended.stderr
    assert f"report: {page}" in ended.stderr
    result = json.loads(ended.stdout)
    assert result["run"] in page.read_text()
    assert store.records.named("last").id == result["run"]
    replayed = run("replay", result["run"])
    assert replayed.returncode == 0
    assert (
        f"run {result['run']}: replayed from its record; the results are equal" in replayed.stdout
    )
    value = json.loads(run("replay", "last", "--format", "json").stdout)
    assert value["equal"] is True
    assert value["result"]["notes"] == result["notes"]


def test_a_report_is_written_where_it_can_be(store: Store, tmp_path: Path) -> None:
    run_id = recorded_runs.record(store)
    page = tmp_path / "pages" / "run.html"
    ended = run("show", "last", "--report", str(page))
    assert (ended.returncode, ended.stderr) == (0, f"report: {page}\n")
    assert "matmul.py" in page.read_text()
    ended = run("show", run_id, "--report", str(tmp_path))
    assert ended.returncode == 2
    assert "name a file, such as report.html" in ended.stderr
    ended = run("show", run_id, "--report", str(page / "below.html"))
    assert ended.returncode == 2
    assert f"tilewright show {run_id} --report FILE" in ended.stderr


def test_a_tree_may_be_deeper_than_python_recurses() -> None:
    named = {"level": "correct", "stage": "fusion", "proposer": "p", "reason": "r", "kept": True}
    chain = [{"number": n, "parent_trial": n - 1, **named} for n in range(1, 3001)]
    lines = list(recorded_run._tree(chain))
    assert len(lines) == 3001
    assert lines[-1].startswith("   " * 2999 + "└─ 3000")
