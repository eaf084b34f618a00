"""``tilewright watch``: what is saved is checked again, once, and what is gone is said to be."""

import json
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilewright.checking.file_watch import FileWatch, Settling
from tilewright.cli import watch
from tilewright.errors import InputError

pytest.importorskip("watchdog", reason="the package watchdog is not installed")
EXAMPLES = Path(__file__).parents[2] / "examples"
PATIENCE_S = 600


class Watching:
    """A running ``tilewright watch`` and the JSON lines that it prints."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "tilewright", "watch", str(folder), *options]
        self.process = subprocess.Popen(
            [*command, "--format", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))

    def next(self, event: str) -> Any:
        """The next line, which has to be of this event."""
        line = self._lines.get(timeout=PATIENCE_S)
        assert line["event"] == event, line
        return line

    def until(self, event: str) -> Any:
        """The next line of an event."""
        while (line := self._lines.get(timeout=PATIENCE_S))["event"] != event:
            pass
        return line

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=PATIENCE_S)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("softmax.py", "softmax.yaml", "layernorm.py", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def watching(folder: Path) -> Iterator[Watching]:
    made = Watching(folder, "--no-profile")
    yield made
    made.process.kill()
    made.process.wait()


def save(file: Path, text: str) -> None:
    """As most editors do: another file takes the place."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text)
    beside.replace(file)


def test_what_is_saved_is_checked_again(folder: Path, watching: Watching) -> None:
    first = {Path(watching.next("checked")["path"]).name for _ in range(3)}
    assert first == {"softmax.py", "layernorm.py", "references.py"}
    assert watching.next("watching")["files"] == 3
    file = folder / "layernorm.py"
    text = file.read_text()
    file.write_text(text)  # the same text is no news
    save(file, text.replace("mask=mask, other=0.0", ""))
    changed = watching.next("checked")
    assert changed["path"] == str(file)
    assert "missing_boundary_check" in {issue["id"] for issue in changed["issues"]}
    (folder / "softmax.yaml").write_text((folder / "softmax.yaml").read_text() + "\n# more\n")
    assert Path(watching.next("checked")["path"]).name == "softmax.py"
    file.unlink()
    assert watching.next("gone")["path"] == str(file)
    (folder / "broken.py").write_bytes(b"x = '\xff\xfe'\n")
    assert watching.next("fault")["path"].endswith("broken.py")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "skipped.py").write_text(text)
    save(file, text)
    assert watching.next("checked")["path"] == str(file)
    assert watching.end() == 0


@pytest.mark.slow
@pytest.mark.triton
def test_what_is_saved_is_profiled(folder: Path) -> None:
    made = Watching(folder, "--target", "cuda:90", "--device", "interpreter")
    made.until("watching")
    file = folder / "softmax.py"
    save(file, file.read_text() + "\n# saved\n")
    made.until("profiling")
    save(file, file.read_text() + "\n# saved again, which ends the first profile\n")
    found = made.until("profiled")
    assert made.end() == 0
    assert found["path"] == str(file)
    assert found["result"]["kernels"]


def test_files_of_the_folder_do_not_take_the_place_of_pythons_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(watch, "_Profile", commands.append)
    profiles = watch._Profiles(watch._Text(), None, "interpreter")
    profiles.want(Path("softmax.py"))
    profiles.turn()
    assert commands[0][1:] == [
        "-P", "-m", "tilewright", "profile", "softmax.py", "--device", "interpreter"
    ]  # fmt: skip


def test_nothing_to_watch_is_an_error_of_usage(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tilewright", "watch", str(tmp_path / "nowhere")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert "nothing is there; name a file or a folder" in done.stderr


def test_without_watchdog_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchdog.events", None)
    with pytest.raises(InputError, match=r"pip install 'tilewright\[watch\]'"):
        FileWatch([tmp_path], lambda path: None)


def test_looking_in_turns_sees_changes_too(tmp_path: Path) -> None:
    seen: queue.SimpleQueue[Path] = queue.SimpleQueue()
    watch = FileWatch([tmp_path], seen.put, poll_s=0.1)
    (tmp_path / "new.py").write_text("x = 1\n")
    assert seen.get(timeout=PATIENCE_S) == tmp_path / "new.py"
    watch.close()


def test_a_file_that_is_written_in_steps_is_settled_once() -> None:
    settling, one, two = Settling(0.25), Path("one.py"), Path("two.py")
    settling.add(one, 0.0)
    settling.add(two, 0.1)
    settling.add(one, 0.2)
    assert settling.settled(0.3) == []
    assert settling.settled(0.36) == [two]
    assert settling.settled(0.5) == [one]
    assert not settling
