"""Folders made from a seed, checked as a person would, and held against what can be read in them.

    python tests/cli/folder_fuzz.py --folders 2000

Of each folder: the check ends, with the right exit code, soon; every file that Python itself could
read is reported, every other one is named with a reason; what is found in an untouched example does
not depend on what else is there. ``--corpus FOLDER`` takes texts from there instead.
"""

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import random
import resource
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import odd_bytes
import odd_texts

ROOT = Path(__file__).parents[2]
FORMATS = ("json", "text", "github", "sarif")
SKIPPED = {".git", ".venv", "venv", "node_modules", "__pycache__", "site-packages"}
SECONDS_PER_1000_LINES = 2.0
CHARACTERS_PER_LINE = 100
"""A line that is longer counts as several."""
LARGEST = 4 * 1024 * 1024
SILENCE_S = 100.0
MEMORY = 6 << 30


@dataclass(frozen=True)
class Corpus:
    """Files that folders are made of: Python sources and specs."""

    sources: tuple[Path, ...]
    specs: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Sequence[Path]) -> "Corpus":
        sources = [p for f in folders for p in sorted(f.rglob("*.py")) if p.stat().st_size < 60_000]
        return cls(tuple(sources), tuple(p for f in folders for p in sorted(f.rglob("*.yaml"))))


OWN = (ROOT / "examples", ROOT / "tests" / "analysis" / "kernels")


@dataclass(frozen=True)
class Made:
    """A folder that was made, and the sources that stand in it as they are elsewhere."""

    folder: Path
    whole: dict[str, Path] = field(default_factory=dict)


def make_folder(folder: Path, seed: int, corpus: Corpus) -> Made:
    """Fill a folder with two to seven entries, in it and below it."""
    rng = random.Random(seed)
    whole: dict[str, Path] = {}
    names = odd_texts.names(rng)
    places = [folder, folder, folder / "below", folder / "package.py", folder / ".hidden"]
    for _ in range(rng.randint(2, 7)):
        place = rng.choice(places)
        place.mkdir(parents=True, exist_ok=True)
        stem = os.fsencode(place) + b"/" + next(names)
        _make_entry(stem, rng, corpus, whole)
    if rng.random() < 0.15:
        text = rng.choice(odd_texts.SETTINGS)
        (folder / "pyproject.toml").write_bytes(text.encode("latin-1", errors="replace"))
    return Made(folder, whole)


def _make_entry(stem: bytes, rng: random.Random, corpus: Corpus, whole: dict[str, Path]) -> None:
    kind = rng.random()
    python = stem + b".py"
    if kind < 0.18:
        source = rng.choice(corpus.sources)
        shutil.copy(source, python)
        whole[os.fsdecode(python)] = source
    elif kind < 0.4:
        _write(python, odd_bytes.mutated(rng.choice(corpus.sources).read_bytes(), rng))
    elif kind < 0.66:
        text = rng.choice(odd_texts.TEXTS)(rng)
        data = text.encode(errors="surrogatepass")
        _write(python, odd_bytes.mutated(data, rng) if rng.random() < 0.15 else data)
    elif kind < 0.76:
        text = rng.choice(corpus.sources).read_text(errors="replace")
        _write(python, odd_bytes.encoded(text, rng))
    elif kind < 0.86:
        texts = [p.read_text(errors="replace") for p in rng.sample(corpus.sources, 2)]
        texts.append(rng.choice(odd_texts.TEXTS)(rng).encode(errors="replace").decode())
        _write(stem + b".ipynb", odd_bytes.notebook(texts, rng))
    else:
        _make_no_file(python, rng)
    if rng.random() < 0.3:
        known = [path.read_bytes() for path in corpus.specs]
        _write(stem + rng.choice((b".yaml", b".yml")), odd_bytes.specs(rng, known))
    if rng.random() < 0.05:
        _write(stem + b".tilewright.json", odd_bytes.mutated(b'{"version": 1, "hash": "x"}', rng))


def _write(path: bytes, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _make_no_file(path: bytes, rng: random.Random) -> None:
    kind = rng.randrange(9)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        with socket.socket(socket.AF_UNIX) as bound, contextlib.suppress(OSError):
            bound.bind(path)
    elif kind == 2:
        os.symlink("/dev/zero", path)
    elif kind == 3:
        os.symlink(b"nowhere", path)
    elif kind == 4:
        os.symlink(os.path.basename(path), path)
    elif kind == 5:
        os.symlink(b".", path)
    elif kind == 6:
        os.mkdir(path)
        _write(path + b"/__init__.py", b"import triton\n")
    elif kind == 7:
        _write(path, b"")
    else:
        _write(path, b"import triton\n" + b"#" * 79 * rng.choice((100, 60_000)) + b"\n")


@dataclass(frozen=True)
class Expected:
    """What a check has to say of a folder, by Python's own means."""

    readable: frozenset[str]
    unreadable: frozenset[str]
    either: frozenset[str]
    lines: float


def expected_of(folder: Path) -> Expected:
    """Which files can be read, and how many lines they have."""
    sorts: dict[str, set[str]] = {"readable": set(), "unreadable": set(), "either": set()}
    lines = 0.0
    for place, folders, files in os.walk(os.fsencode(folder)):
        folders[:] = [name for name in folders if os.fsdecode(name) not in SKIPPED]
        for name in files:
            path = os.path.join(place, name)
            if name.endswith((b".py", b".ipynb")):
                sorts[_sort_of(path)].add(os.fsdecode(path))
            if os.path.isfile(path):
                size = os.path.getsize(path)
                with open(path, "rb") as file:
                    ends = file.read(LARGEST).count(b"\n")
                lines += max(ends, size / CHARACTERS_PER_LINE)
    return Expected(*(frozenset(found) for found in sorts.values()), lines)


def _sort_of(path: bytes) -> str:
    """Whether Python can decode a source, or a notebook has cells; of the odd ones, either."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return "unreadable"
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return "unreadable"
    if path.endswith(b".ipynb"):
        return _sort_of_notebook(data)
    if b"\0" in data or len(data) > LARGEST:
        return "either"
    ends = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(ends).readline)
        if encoding.replace("_", "-") in ("idna", "punycode", "hex", "utf-16"):
            return "either"
        data.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        return "unreadable"
    return "readable"


def _sort_of_notebook(data: bytes) -> str:
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return "unreadable"
    cells = found.get("cells") if isinstance(found, dict) else None
    good = isinstance(cells, list) and all(
        isinstance(cell, dict)
        and isinstance(source := cell.get("source", ""), str | list)
        and all(isinstance(line, str) for line in source)
        for cell in cells
    )
    return "readable" if good else "either"


@dataclass(frozen=True)
class Told:
    """What a check in JSON said and how it ended."""

    code: int
    text: bytes
    seconds: float
    error: str = ""


def checked_here(folder: Path, form: str) -> Told:
    """The command line in this process, its standard output as bytes; CPU seconds."""
    from tilewright.cli.app import app
    from tilewright.cli.boundary import run

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    arguments, sys.argv = sys.argv, ["tilewright", "check", str(folder), "--format", form]
    start, code = time.process_time(), 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            run(app)
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = arguments
    seconds = time.process_time() - start
    for stream in (out, errors):
        stream.flush()
    error = errors.buffer.getvalue().decode(errors="replace")  # type: ignore[attr-defined]
    return Told(code, out.buffer.getvalue(), seconds, error)  # type: ignore[attr-defined]


def checked_by_command(folder: Path, form: str) -> Told:
    """The real command, as a process of its own."""
    command = [sys.executable, "-m", "tilewright", "check", str(folder), "--format", form]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(command, capture_output=True, timeout=SILENCE_S, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime
    return Told(ended.returncode, ended.stdout, seconds, ended.stderr.decode(errors="replace"))


def plain(path: str) -> str:
    """A path as it is told where a byte of it is no UTF-8."""
    return "".join(f"\\x{ord(c) - 0xDC00:02x}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in path)


def complaints(made: Made, told: Told, form: str, found_in: "Alone") -> Iterator[str]:
    """What is wrong with how a folder was checked; nothing where all is well."""
    expected = expected_of(made.folder)
    if told.code not in (0, 1, 2):
        yield f"exit code {told.code}: {told.error[-600:]}"
        return
    if "Traceback" in told.error:
        yield f"a traceback: {told.error[-600:]}"
    try:
        text = told.text.decode()
        value = json.loads(text) if form in ("json", "sarif") else None
    except ValueError as error:
        yield f"{form} cannot be decoded: {error}"
        return
    settings = made.folder / "pyproject.toml"
    if form == "json" and settings.exists() and b"exclude" in settings.read_bytes():
        # What the project leaves out is in neither list.
        yield from _wrong_code(value, told.code)
    elif form == "json":
        yield from _wrong_in(value, made, told, expected, found_in)
    elif form == "github":
        odd = [line for line in text.splitlines() if not line.startswith("::")]
        if odd:
            yield f"no annotation: {odd[0][:80]!r}"


def _wrong_in(
    value: Any, made: Made, told: Told, expected: Expected, found_in: "Alone"
) -> Iterator[str]:
    files = {file["path"]: file for file in value["files"]}
    faults = {fault["path"] for fault in value["faults"]}
    for path in map(plain, expected.readable):
        if path not in files:
            yield f"a readable file is not reported: {path!r}"
    for path in map(plain, expected.unreadable):
        if path in files or path not in faults:
            yield f"a file that cannot be read is not named: {path!r}"
    for path in map(plain, expected.either):
        if (path in files) == (path in faults):
            yield f"neither reported nor named: {path!r}"
    for fault in value["faults"]:
        if not fault["message"] or not fault["path"]:
            yield f"a fault without place or reason: {fault}"
    yield from _wrong_code(value, told.code)
    if not (made.folder / "pyproject.toml").exists():
        yield from _changed(made, files, found_in)


def _wrong_code(value: Any, code: int) -> Iterator[str]:
    found = any(f["issues"] or f["problems"] or f["notices"] for f in value["files"])
    misused = any(fault["path"].endswith("pyproject.toml") for fault in value["faults"])
    if misused or (value["faults"] and not value["files"]):
        wanted = 2
    else:
        wanted = 1 if found or value["faults"] else 0
    if code != wanted:
        yield f"exit code {code}, and not {wanted}"


class Alone:
    """How many issues an untouched source has, by its file; what a spec tells is left out."""

    def __init__(self) -> None:
        self._known: dict[Path, list[str]] = {}

    def ids(self, source: Path) -> list[str]:
        if source not in self._known:
            from tilewright.analysis import AnalysisContext
            from tilewright.checking import check_text
            from tilewright.checking.configuration import default_configuration

            rules = default_configuration().rules
            done = check_text(source.read_text(), str(source), rules, AnalysisContext())
            self._known[source] = [issue.id for issue in done.issues]
        return self._known[source]


def _changed(made: Made, files: dict[str, Any], found_in: Alone) -> Iterator[str]:
    for path, source in made.whole.items():
        stem = os.path.splitext(path)[0]
        if (
            plain(path) not in files
            or os.path.exists(stem + ".yaml")
            or os.path.exists(stem + ".yml")
        ):
            continue
        found = files[plain(path)]["issues"]
        # A version of Triton that is installed makes issues of its own.
        missing = Counter(found_in.ids(source)) - Counter(issue["id"] for issue in found)
        if missing:
            yield f"not found in {path!r} any more: {missing}"


@dataclass(frozen=True)
class Outcome:
    """What was wrong with one folder, and the CPU seconds of its check."""

    seed: int
    wrong: tuple[str, ...]
    seconds: float
    lines: float

    @property
    def seconds_per_1000_lines(self) -> float:
        """No part of ``wrong``, as it depends on the machine."""
        return self.seconds / max(1.0, self.lines / 1000)


def one(seed: int, corpus: Corpus, alone: Alone, *, by_command: bool) -> Outcome:
    """Make a folder, check it, judge it, remove it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        made = make_folder(Path(scratch) / "f", seed, corpus)
        form = FORMATS[seed // 40 % 4] if by_command else "json"
        told = (checked_by_command if by_command else checked_here)(made.folder, form)
        wrong = tuple(complaints(made, told, form, alone))
        return Outcome(seed, wrong, told.seconds, expected_of(made.folder).lines)


def _serve(seeds: Sequence[int], corpus: Corpus, command_every: int, answers: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    alone = Alone()
    for seed in seeds:
        by_command = command_every > 0 and seed % command_every == 0
        answers.send(one(seed, corpus, alone, by_command=by_command))


def outcomes(seeds: Sequence[int], corpus: Corpus, command_every: int) -> Iterator[Outcome]:
    """Each folder's outcome; a process that is silent for long or ends is a hang or a crash."""
    context = multiprocessing.get_context("fork")
    left = list(seeds)
    while left:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_serve, args=(left, corpus, command_every, there))
        process.start()
        there.close()
        while left:
            try:
                found: Outcome | None = here.recv() if here.poll(SILENCE_S) else None
                what = "it hangs"
            except EOFError:
                found, what = None, "the process ended"
            if found is None:
                process.kill()
                yield Outcome(left.pop(0), (what,), SILENCE_S, 0)
                break
            left.pop(0)
            yield found
        process.kill()
        process.join()
        here.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folders", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument(
        "--command-every", type=int, default=40, help="by the real command; 0: none"
    )
    parser.add_argument(
        "--corpus", type=Path, action="append", help="folder of sources; repeatable"
    )
    parser.add_argument("--keep", type=Path, help="make the folder of --first there and stop")
    given = parser.parse_args()
    corpus = Corpus.of(given.corpus or OWN)
    if given.keep:
        make_folder(given.keep, given.first, corpus)
        return 0
    wrong: Counter[str] = Counter()
    slowest: list[tuple[float, int]] = []
    for outcome in outcomes(
        range(given.first, given.first + given.folders), corpus, given.command_every
    ):
        slowest.append((outcome.seconds_per_1000_lines, outcome.seed))
        said = list(outcome.wrong)
        if outcome.seconds_per_1000_lines > SECONDS_PER_1000_LINES:
            said.append(f"{outcome.seconds:.1f} s for {outcome.lines:.0f} lines")
        for what in said:
            print(f"{outcome.seed}: {what}", flush=True)
        wrong["folders"] += bool(said)
    slowest.sort(reverse=True)
    print(
        f"{given.folders} folders, {wrong['folders']} with something wrong; slowest of a thousand lines:"
    )
    print(", ".join(f"{seconds:.2f} s (seed {seed})" for seconds, seed in slowest[:5]))
    return 1 if wrong["folders"] else 0


if __name__ == "__main__":
    sys.exit(main())
