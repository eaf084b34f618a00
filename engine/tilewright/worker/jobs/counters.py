"""``counters``: a profiler starts one call of a version by itself; what it says is given back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..protocol import JobError

if TYPE_CHECKING:
    from ..messages.jobs import Counted, CountersJob, Tool

_MOST_TEXT = 8 << 20
_TAIL = 2000
_VERSION_S = 10.0
_READ_OUT_S = 30.0
_OUT, _PROGRAM, _PYTHON = "{out}", "{program}", "{python}"


def perform(job: CountersJob) -> Counted:
    """Start ``tool`` around the version and give back what it wrote, unread.

    The tool's own processes are not kept from writing files, as it could not work; the process
    that imports the file under test confines itself before it does.
    """
    tool = job["tool"]
    path = program_path(tool["executables"], tool.get("places") or ())
    if path is None:
        raise JobError(f"there is no {tool['executables'][0]} on the device's host")
    out = Path.cwd() / "counters"
    out.mkdir()
    command = command_of(path, tool, _program(job, out), str(out))
    ended = subprocess.run(command, capture_output=True, cwd=out, check=False)
    printed = ended.stdout.decode("utf-8", "replace")
    for file, arguments in (tool.get("then") or {}).items():
        _read_out(path, [argument.replace(_OUT, str(out)) for argument in arguments], out / file)
    return {
        "tool": tool["executables"][0],
        "path": path,
        "version": version_of(path, tool.get("version") or ()),
        "code": ended.returncode,
        "stdout": printed[-_MOST_TEXT:],
        "stderr": ended.stderr.decode("utf-8", "replace")[-_TAIL:],
        "files": written(out, tool.get("files") or ()),
        "said": last_json_line(printed),
        "module": Path(job["module"]).name,
    }


def _read_out(path: str, arguments: list[str], file: Path) -> None:
    """What the tool prints of its own report, into a file; nothing where it made none."""
    with file.open("wb") as into:
        subprocess.run(
            [path, *arguments], stdout=into, stderr=subprocess.DEVNULL, check=False,
            timeout=_READ_OUT_S,
        )  # fmt: skip


def program_path(names: Sequence[str], places: Sequence[str]) -> str | None:
    """The first of these programs on the path, or in places (patterns of files) next to it."""
    for name in names:
        if name == _PYTHON:
            return sys.executable
        if path := shutil.which(name):
            return path
    for place in places:
        for file in sorted(Path("/").glob(place.lstrip("/")), reverse=True):
            if os.access(file, os.X_OK):
                return str(file)
    return None


def version_of(path: str, arguments: Sequence[str]) -> str | None:
    """The last line that the tool says of its version; None if it is not asked or does not say."""
    if not arguments:
        return None
    asked = subprocess.run(
        [path, *arguments], capture_output=True, text=True, timeout=_VERSION_S, check=False
    )
    lines = [line.strip() for line in asked.stdout.splitlines() if line.strip()]
    return lines[-1] if lines and asked.returncode == 0 else None


def command_of(path: str, tool: Tool, program: Sequence[str], out: str) -> list[str]:
    """The command line: ``{program}`` among the arguments is what to run, ``{out}`` a folder."""
    command = [path]
    for argument in tool["arguments"]:
        # Where the tool is the interpreter itself, the program needs no second one.
        started = program[1:] if program[0] == path else program
        command += started if argument == _PROGRAM else [argument.replace(_OUT, out)]
    return command


def _program(job: CountersJob, out: Path) -> list[str]:
    """What runs one call of the version; the job stands in a file, launches and all."""
    told = out / "job.json"
    marks = {name: job["tool"].get(name) for name in ("marks", "proton")}
    kept = {name: value for name, value in job.items() if name not in ("tool", "confinement")}
    told.write_text(json.dumps({**kept, **marks, "scratch": str(out)}), encoding="utf-8")
    package = __name__.rsplit(".", 2)[0]
    root = str(Path(__file__).parents[2 + package.count(".")])
    code = (
        f"import sys; sys.path.insert(0, {root!r}); "
        f"from {package}.profiling.target import main; main({str(told)!r})"
    )
    return [sys.executable, "-c", code]


def written(out: Path, patterns: Sequence[str]) -> dict[str, str]:
    """The text of files that the tool left, by their name."""
    return {
        str(file.relative_to(out)): file.read_text("utf-8", "replace")[-_MOST_TEXT:]
        for pattern in patterns
        for file in sorted(out.rglob(pattern))
        if file.is_file()
    }


def last_json_line(printed: str) -> dict[str, Any] | None:
    """The program's own last line of JSON; None where it did not come that far."""
    for line in reversed(printed.splitlines()):
        if line.startswith('{"profiled"'):
            value: dict[str, Any] = json.loads(line)
            return value
    return None
