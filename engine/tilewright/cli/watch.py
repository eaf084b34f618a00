"""``tilewright watch``: check and profile on save, for people without an editor plugin."""

import json
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.analysis.model import AnalysisContext
from tilewright.checking import Checked
from tilewright.checking.file_watch import FileWatch, Settling
from tilewright.checking.present import as_json, as_lines, fault_as_json, summary
from tilewright.checking.walk import files_to_check, is_walked
from tilewright.cli.check import Chosen, checked_files
from tilewright.cli.inputs import read_sources, target_of
from tilewright.cli.output import ERR, OUT, Format
from tilewright.cli.session import stop_on_signal
from tilewright.errors import InputError, Stopped
from tilewright.source.text import digest
from tilewright.textfile import one_line

_TURN_S = 0.1
_IDLE_S = 1.0
_PATIENCE_S = 5.0
_SPECS = (".yaml", ".yml")


def watch(
    path: Annotated[Path, typer.Argument(help="A Python file, a notebook, or a folder of them.")],
    target: Annotated[str | None, typer.Option(help="Chip, e.g. cuda:90.")] = None,
    device: Annotated[str, typer.Option(help="Where to profile; see `tilewright devices`.")] = (
        "auto"
    ),
    profile: Annotated[
        bool, typer.Option("--profile/--no-profile", help="Also profile what was saved.")
    ] = True,
    poll: Annotated[
        float | None,
        typer.Option(min=0.1, help="Look every POLL seconds; for folders on a network."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="text, or json: a line each.")] = (
        Format.TEXT
    ),
) -> None:
    """Check and profile kernels below PATH whenever they are saved. Ctrl-C ends it.

    All files are checked at the start. A file that is saved with another text is checked again,
    and profiled if it has kernels; so is one whose spec is saved. A newer save ends a profile.
    """
    if not path.exists():
        raise InputError("nothing is there; name a file or a folder", str(path))
    chosen = Chosen(AnalysisContext(target_of(target)), None, None, False, None)
    show = _Lines() if form is Format.JSON else _Text()
    changed: queue.SimpleQueue[Path] = queue.SimpleQueue()
    seen = FileWatch([path.absolute()], changed.put, poll)
    profiles = _Profiles(show, target, device) if profile else None
    session = _Session(path.absolute(), chosen, show, profiles)
    try:
        with stop_on_signal():
            session.start()
            session.follow(changed)
    except Stopped:
        pass  # the only way for it to end
    finally:
        seen.close()
        if profiles is not None:
            profiles.stop()


class _Text:
    """Lines for a person."""

    def watching(self, path: Path, files: list[Checked]) -> None:
        for file in files:
            self._issues(file)
        OUT.print(f"{summary(files, 0)}; watching {one_line(str(path))}, Ctrl-C to end")

    def checked(self, file: Checked) -> None:
        OUT.print(f"-- {time.strftime('%H:%M:%S')} {summary([file], 0)}")
        self._issues(file)

    def _issues(self, file: Checked) -> None:
        for line in as_lines(file):
            OUT.print(line)
        OUT.file.flush()

    def show_removed(self, path: Path) -> None:
        OUT.print(f"-- {one_line(str(path))} is gone")

    def fault(self, error: InputError) -> None:
        ERR.print(f"tilewright: {one_line(str(error))}")

    def profiling(self, path: Path) -> None:
        OUT.print(f"-- profiling {one_line(str(path))}")

    def profiled(self, path: Path, output: str) -> None:
        OUT.print(output.rstrip())

    def not_profiled(self, path: Path, reason: str) -> None:
        ERR.print(f"-- {one_line(str(path))}: not profiled: {one_line(reason)}")


class _Lines:
    """One JSON object a line."""

    def watching(self, path: Path, files: list[Checked]) -> None:
        for file in files:
            self.checked(file)
        self._say("watching", path=str(path), files=len(files))

    def checked(self, file: Checked) -> None:
        self._say("checked", **as_json(file))

    def show_removed(self, path: Path) -> None:
        self._say("gone", path=str(path))

    def fault(self, error: InputError) -> None:
        self._say("fault", **fault_as_json(error))

    def profiling(self, path: Path) -> None:
        self._say("profiling", path=str(path))

    def profiled(self, path: Path, output: str) -> None:
        self._say("profiled", path=str(path), result=json.loads(output))

    def not_profiled(self, path: Path, reason: str) -> None:
        self._say("not_profiled", path=str(path), reason=reason)

    def _say(self, event: str, **facts: Any) -> None:
        sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
        sys.stdout.flush()


class _Session:
    """What is known of the files, and what a change of one means."""

    def __init__(
        self, root: Path, chosen: Chosen, show: _Text | _Lines, profiles: "_Profiles | None"
    ) -> None:
        self._root, self._chosen, self._show, self._profiles = root, chosen, show, profiles
        self._texts: dict[Path, str] = {}

    def start(self) -> None:
        """Check all files."""
        found = [file for path in self._files() for file in self._check(path)]
        self._show.watching(self._root, found)

    def follow(self, changed: "queue.SimpleQueue[Path]") -> None:
        """Handle changes as they settle; ends by an exception only."""
        settling = Settling()
        while True:
            busy = settling or (self._profiles is not None and self._profiles.busy)
            try:
                settling.add(changed.get(timeout=_TURN_S if busy else _IDLE_S), time.monotonic())
            except queue.Empty:
                for path in settling.settled(time.monotonic()):
                    self.saved(path)
            if self._profiles is not None:
                self._profiles.turn()

    def saved(self, path: Path) -> None:
        """A path was written or is gone."""
        if path.suffix in _SPECS or path.name == "pyproject.toml":
            self._recheck_near(path)
        elif self._is_ours(path):
            if not path.exists():
                self._remove_file(path)
                return
            self._again(path)

    def _is_ours(self, path: Path) -> bool:
        return path == self._root or is_walked(path, self._root)

    def _recheck_near(self, path: Path) -> None:
        """A spec is of the files with its name; a configuration of all files below."""
        for file in self._files():
            near = file.is_relative_to(path.parent)
            if near and (path.suffix not in _SPECS or file.stem == path.stem):
                self._texts.pop(file, None)
                self._again(file)

    def _remove_file(self, path: Path) -> None:
        if self._texts.pop(path, None) is not None:
            self._show.show_removed(path)
        if self._profiles is not None:
            self._profiles.drop(path)

    def _again(self, path: Path) -> None:
        for file in self._check(path):
            self._show.checked(file)
            if self._profiles is not None and file.module.kernels and not file.module.problems:
                self._profiles.want(path)

    def _files(self) -> Iterator[Path]:
        for found in files_to_check([self._root], isolated=False):
            if isinstance(found, Path):
                yield found

    def _check(self, path: Path) -> Iterator[Checked]:
        """A file as it is now; nothing if its text is the one that was checked before."""
        chosen = self._chosen.anew()
        for where, text in read_sources([path], chosen.faults, isolated=True):
            known = digest(text)
            if self._texts.get(where) != known:
                self._texts[where] = known
                yield from checked_files([(where, text)], chosen)
                yield from chosen.specs
        for error in chosen.faults.all:
            self._show.fault(error)


class _Profiles:
    """One profile at a time, each in a process of its own; a newer save takes its place."""

    def __init__(self, show: _Text | _Lines, target: str | None, device: str) -> None:
        self._show = show
        self._options = ["--device", device, *(["--target", target] if target else [])]
        self._options += ["--format", "json"] if isinstance(show, _Lines) else []
        self._wanted: list[Path] = []
        self._running: tuple[Path, _Profile] | None = None

    @property
    def busy(self) -> bool:
        return bool(self._wanted) or self._running is not None

    def want(self, path: Path) -> None:
        """Profile a file, instead of what is being done for it."""
        self.drop(path)
        self._wanted.append(path)

    def drop(self, path: Path) -> None:
        """End what is being done for a file."""
        self._wanted = [each for each in self._wanted if each != path]
        if self._running is not None and self._running[0] == path:
            self.stop()

    def turn(self) -> None:
        """Report a profile that has ended, and start the next one."""
        if self._running is not None and self._running[1].code is not None:
            path, process = self._running
            self._running = None
            output, errors = process.outputs()
            if output.strip():
                self._show.profiled(path, output)
            else:
                self._show.not_profiled(path, errors.strip() or f"exit code {process.code}")
        if self._running is None and self._wanted:
            path = self._wanted.pop(0)
            self._show.profiling(path)
            # -P: a file called queue.py in the folder of the command must not become Python's own.
            command = [sys.executable, "-P", "-m", "tilewright", "profile", str(path)]
            command += self._options
            self._running = (path, _Profile(command))

    def stop(self) -> None:
        """End what runs."""
        if self._running is None:
            return
        _, process = self._running
        self._running = None
        process.end()


class _Profile:
    """A running command whose outputs, however long, go to files."""

    def __init__(self, command: list[str]) -> None:
        # Closed by ``outputs``, after the process has ended.
        self._files = (tempfile.TemporaryFile(), tempfile.TemporaryFile())  # noqa: SIM115
        self._process = subprocess.Popen(command, stdout=self._files[0], stderr=self._files[1])

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    def outputs(self) -> tuple[str, str]:
        """What it printed to standard output and to standard error."""
        texts = []
        for file in self._files:
            with file:
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return texts[0], texts[1]

    def end(self) -> None:
        """End it softly first: its sandbox has processes to take along."""
        self._process.terminate()
        try:
            self._process.wait(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.outputs()
