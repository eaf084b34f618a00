"""``tilewright optimize`` as a process of its own, with a key that must not leave it.

While it runs, the environment of every process that it starts and every file that it writes are
searched for the key; afterwards the files are searched once more.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KEY = "sk-test-7c41f0a9e2b85d36"
_MARK = "TILEWRIGHT_TEST_MARK"
_EVERY_S = 0.25
_FORK_S = 60.0
_MOST_BYTES = 8 << 20
TILEWRIGHT = ("-m", "tilewright")
ON_PRETENDED_GPU = (str(Path(__file__).with_name("pretended_run.py")),)


@dataclass
class Watch:
    """Where the key was seen outside the engine, and how much was searched."""

    leaks: set[str] = field(default_factory=set)
    processes: set[int] = field(default_factory=set)
    files: int = 0


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    stdout: str
    stderr: str
    watch: Watch

    @property
    def result(self) -> dict[str, Any]:
        """What ``--format json`` gives."""
        return dict(json.loads(self.stdout))

    @property
    def trials(self) -> list[dict[str, Any]]:
        return list(self.result["trials"])


@dataclass(frozen=True)
class Bed:
    """A folder with a kernel, an environment and the processes in it."""

    folder: Path
    base_url: str

    @property
    def mark(self) -> str:
        return f"{_MARK}={self.folder}"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def environment(self) -> dict[str, str]:
        """Of the engine: the key, the endpoint, and folders of its own for all that it writes."""
        for name in ("home", "scratch"):
            (self.folder / name).mkdir(exist_ok=True)
        return {
            **os.environ,
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": self.base_url,
            "TILEWRIGHT_HOME": str(self.home),
            "TILEWRIGHT_SERVICE": "0",
            "TMPDIR": str(self.folder / "scratch"),
            _MARK: str(self.folder),
        }

    def start(
        self, options: Sequence[str], program: Sequence[str] = TILEWRIGHT
    ) -> "subprocess.Popen[str]":
        """Start a command in the folder."""
        return subprocess.Popen(
            [sys.executable, *program, *options],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *options: str, program: Sequence[str] = TILEWRIGHT) -> Ended:
        """Run a command to its end and watch for the key."""
        engine = self.start(options, program)
        with self.watched(engine.pid) as watch:
            out, err = engine.communicate()
        if KEY in out + err:
            watch.leaks.add("the output")
        return Ended(engine.returncode, out, err, watch)

    def optimize(self, file: str, *options: str, program: Sequence[str] = TILEWRIGHT) -> Ended:
        """``optimize FILE`` with the scripted model and its result as JSON."""
        given = ("optimize", file, "--model", "scripted", "--format", "json", *options)
        return self.run(*given, program=program)

    @contextlib.contextmanager
    def watched(self, engine: int) -> Iterator[Watch]:
        """Look for the key all the time, in the end once more in every file."""
        watch, done = Watch(), threading.Event()
        searched: dict[Path, tuple[int, int]] = {}

        def look() -> None:
            while not done.wait(_EVERY_S):
                self._search_processes(watch, engine)
                self._search_files(watch, self.folder / "scratch", searched)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield watch
        finally:
            done.set()
            thread.join()
            watch.files = self._search_files(watch, self.folder, {})

    def processes(self) -> dict[int, bytes]:
        """Live processes that carry the mark: pid to environment."""
        found: dict[int, bytes] = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                environment = (entry / "environ").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if self.mark.encode() in environment.split(b"\0") and state != "Z":
                    found[int(entry.name)] = environment
        return found

    def end_processes(self) -> None:
        """Kill what a killed engine may have left."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def orphans(self, within_s: float = 60.0) -> dict[int, bytes]:
        """Processes that are still there after so long."""
        deadline = time.monotonic() + within_s
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def _search_processes(self, watch: Watch, engine: int) -> None:
        for pid in {*self.processes(), *_descendants(engine)} - {engine}:
            watch.processes.add(pid)
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                environment = Path(f"/proc/{pid}/environ").read_bytes()
                if KEY.encode() in environment + command and not self._is_fork(pid, engine):
                    watch.leaks.add(f"the process {command.replace(bytes(1), b' ').decode()[:200]}")

    def _is_fork(self, pid: int, engine: int) -> bool:
        """Whether a process is a copy of the engine that becomes another program at once."""
        own = Path(f"/proc/{engine}/cmdline").read_bytes()
        deadline = time.monotonic() + _FORK_S
        while time.monotonic() < deadline:
            try:
                if Path(f"/proc/{pid}/cmdline").read_bytes() != own:
                    environment = Path(f"/proc/{pid}/environ").read_bytes()
                    return KEY.encode() not in environment
            except OSError:
                return True  # it has ended
            time.sleep(0.01)
        return False

    def _search_files(
        self, watch: Watch, folder: Path, searched: dict[Path, tuple[int, int]]
    ) -> int:
        """Search what was written since it was ``searched``: when (ns) and how large it was."""
        files = 0
        # Folders disappear while this looks at them, which os.walk passes over.
        paths = (Path(at, name) for at, _, names in os.walk(folder) for name in names)
        for path in paths:
            with contextlib.suppress(OSError):
                written = path.stat()
                version = (written.st_mtime_ns, written.st_size)
                if not path.is_file() or written.st_size > _MOST_BYTES:
                    continue
                files += 1
                if searched.get(path) != version:
                    searched[path] = version
                    if KEY.encode() in path.read_bytes():
                        watch.leaks.add(str(path))
        return files


def _descendants(ancestor: int) -> set[int]:
    """Processes that a process has started, and theirs, whatever their environment."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = stat.read_text()
            parents[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found = {ancestor}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {ancestor}
