"""``tilewright memory``: list, show, mine, forget, export."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import ROOT, run
from memory_entries import entry, evaluation

from tilewright.cli import memory as command
from tilewright.devices.model import DeviceInfo
from tilewright.memory.bank import Bank, Learned
from tilewright.memory.mining import GoodKernel
from tilewright.store.store import StoreError, open_store
from tilewright.targets.registry import parse_target

EXAMPLE = "examples/softmax.py"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A device that judges nothing: what is asked of it is scripted by each test."""
    target = parse_target("cuda:90")
    info = DeviceInfo("cuda:0", "a GPU", target, True, "2.13", "3.9.0", "3.11")
    found = SimpleNamespace(info=info)

    @contextmanager
    def opened(*given: object) -> Iterator[SimpleNamespace]:
        yield found

    monkeypatch.setattr(command, "device_for", opened)
    monkeypatch.setattr(command, "target_for", lambda *given: SimpleNamespace(target=target))
    monkeypatch.setattr(GoodKernel, "_launches", lambda self: ())
    return found


def fill(*entries: Any) -> None:
    store = open_store()
    bank = Bank(store)
    bank.merge(Learned(entries))
    bank.close()
    store.close()


def test_an_empty_memory_says_how_it_is_filled() -> None:
    ended = run("memory", "list")
    assert ended.returncode == 0
    assert "tilewright memory mine FILE" in ended.stdout
    assert json.loads(run("memory", "list", "--format", "json").stdout) == {
        "experiences": [], "schedules": [],
    }  # fmt: skip


def test_entries_are_listed_shown_exported_and_forgotten(tmp_path: Path) -> None:
    one, other = entry(diff="+ hoisted"), entry(kernel="b", ratio=0.7, project="/q")
    fill(one, other)
    listed = run("memory", "list").stdout
    assert "1.300x [1.290, 1.310]" in listed
    assert "2 experiences, 0 schedules" in listed
    rows = json.loads(run("memory", "list", "--format", "json").stdout)["experiences"]
    assert [row["id"] for row in rows] == [other.id, one.id]
    assert rows[1]["outcome"] == "helped"
    shown = run("memory", "show", one.id[:7]).stdout
    assert "+ hoisted" in shown
    assert (
        json.loads(run("memory", "show", one.id, "--format", "json").stdout)["diff"] == "+ hoisted"
    )
    file = tmp_path / "bank.json"
    assert run("memory", "export", str(file)).returncode == 0
    assert len(json.loads(file.read_text())["experiences"]) == 2
    assert run("memory", "forget", one.id[:7]).stdout.strip() == "1 entries removed"
    ended = run("memory", "forget", "--project", "/q", "--format", "json")
    assert json.loads(ended.stdout) == {"removed": 1}


def test_what_cannot_be_done_names_the_way_out(tmp_path: Path) -> None:
    ended = run("memory", "show", "abcd")
    assert ended.returncode == 2
    assert "`tilewright memory list` lists them" in ended.stderr
    ended = run("memory", "forget")
    assert ended.returncode == 2
    assert "--project FOLDER" in ended.stderr
    ended = run("memory", "export", str(tmp_path))
    assert ended.returncode == 2
    assert "cannot be written there" in ended.stderr
    orphan = tmp_path / "kernel.py"
    orphan.write_text((ROOT / EXAMPLE).read_text())
    ended = run("memory", "mine", str(orphan))
    assert ended.returncode == 2
    assert "there is no spec to run it on" in ended.stderr


def test_a_device_that_cannot_time_stores_nothing(device: SimpleNamespace) -> None:
    device.info = DeviceInfo("interpreter", "the interpreter", None, False, "2.13", "3.9.0", "3.11")
    ended = run("memory", "mine", EXAMPLE)
    assert ended.returncode == 4
    assert "0 judged, 0 stored" in ended.stdout
    assert "the interpreter cannot time a kernel, so nothing is measured" in ended.stderr
    assert json.loads(run("memory", "list", "--format", "json").stdout)["experiences"] == []


def test_mining_stores_what_cost_time(
    device: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / EXAMPLE).read_text()

    def judge(self: GoodKernel, given: str) -> Any:
        return evaluation(text, given, 0.7 if "float64" in given else 1.0)

    monkeypatch.setattr(GoodKernel, "judge", judge)
    ended = run("memory", "mine", EXAMPLE, "--budget", "4", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    (row,) = json.loads(ended.stdout)["files"]
    assert row["judged"] == 4
    assert row["stored"] == row["effects"]["slower"] >= 1
    assert row["effects"]["no measurable effect"] == 4 - row["stored"]
    stored = json.loads(run("memory", "list", "--format", "json").stdout)["experiences"]
    assert {one["issue"] for one in stored} == {"dtype_float64"}
    assert {one["path"] for one in stored} == {EXAMPLE}
    assert {one["project"] for one in stored} == {str(ROOT)}
    assert run("memory", "mine", EXAMPLE, "--budget", "4").stdout.count("+ dtype_float64") == 1


def test_an_unreadable_entry_is_removed_as_its_message_says() -> None:
    fill(entry())
    store = open_store()
    store._connection.execute("UPDATE memory SET value = '{}'")
    store.close()
    ended = run("memory", "list")
    assert ended.returncode == 2
    assert f"`tilewright memory forget {entry().id}` removes it" in ended.stderr
    assert run("memory", "forget", entry().id).stdout.strip() == "1 entries removed"
    assert run("memory", "list").returncode == 0


def test_a_project_that_is_gone_is_forgotten_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    fill(entry(project=str((tmp_path / "real").resolve() / "gone")))
    ended = run("memory", "forget", "--project", str(tmp_path / "link" / "gone"))
    assert ended.stdout.strip() == "1 entries removed"


def test_control_characters_of_an_entry_are_shown_and_not_obeyed() -> None:
    hostile = entry(title="\x1b]0;owned\x07", diff="+ x = 1  # \x1b[2J\n- y = 2")
    fill(hostile)
    shown = run("memory", "show", hostile.id).stdout
    assert "\x1b" not in shown
    assert "+ x = 1  # \\x1b[2J\n- y = 2" in shown


def test_a_damaged_store_is_named_with_the_way_out(home: Path) -> None:
    fill(*(entry(kernel=str(n), diff="+" * 4000) for n in range(20)))
    file = home / "store.sqlite"
    held = file.read_bytes()
    file.write_bytes(held[:8192] + b"\xff" * (len(held) - 8192))
    for asked in (["list"], ["forget", "--all"]):
        ended = run("memory", *asked)
        assert ended.returncode == 2, ended.stderr
        assert f"{file}: not a usable store" in ended.stderr.replace("\n", "")


def test_a_store_that_is_in_use_is_not_called_damaged(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(entry())
    connect = sqlite3.connect
    with closing(connect(home / "store.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(sqlite3, "connect", lambda path, **given: connect(
            path, **{**given, "timeout": 0}
        ))  # fmt: skip
        with pytest.raises(StoreError, match="another process writes to the store"):
            open_store()
