"""Compile and compare corpus files, each in a process of its own: a crash is a result."""

import ast
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType

from comparing import Tally, compare
from guessing import guesses
from loading import JitFunction, jit_functions, load
from refusals import REFUSALS
from specializing import build_ttir

from tilewright.source import parse_module
from tilewright.source.model import Kernel, Language, Module

WANTED = 2
SECONDS_A_KERNEL = 20
SECONDS_A_FILE = 240


@dataclass(frozen=True)
class NotCompiled:
    """A kernel, or a whole file, of which there is no TTIR."""

    file: str
    kernel: str
    reason: str


@dataclass
class FileReport:
    """One file: how many kernels compiled, in how many specializations, and what differs."""

    file: str
    kernels: int = 0
    helpers: int = 0
    specializations: int = 0
    failed: list[NotCompiled] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)


class _TookTooLong(BaseException):
    """The time of a kernel is over."""


def report_file(root: Path, path: Path) -> FileReport:
    """Compile and compare the kernels of one file."""
    name = str(path.relative_to(root))
    module = parse_module(path.read_text(), name)
    report = FileReport(name)
    wanted = [k for k in module.kernels if k.language is Language.TRITON]
    if not wanted:
        return report
    try:
        jits = jit_functions(load(root, path))
    except REFUSALS as error:
        report.failed += [NotCompiled(name, k.name, _import_reason(error)) for k in wanted]
        return report
    called = _called(module)
    for kernel in wanted:
        if kernel.name in called and not module.launches_of(kernel.name):
            report.helpers += 1
        elif kernel.name not in jits:
            report.failed.append(NotCompiled(name, kernel.name, "not at the file's top level"))
        else:
            _kernel(module, kernel, jits[kernel.name], path, report)
    return report


def _called(module: Module) -> frozenset[str]:
    """Names of the file's jit functions that other kernels call: they are compiled with those."""
    return frozenset(
        call.func.id
        for kernel in module.kernels
        for call in ast.walk(kernel.node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if call.func.id != kernel.name
    )


def _kernel(
    module: Module, kernel: Kernel, jit: JitFunction, path: Path, report: FileReport
) -> None:
    built, reasons = 0, []
    with _time_limit(SECONDS_A_KERNEL):
        try:
            for guess in guesses(module, kernel, jit):
                try:
                    _, recording = build_ttir(jit.function, guess)
                except REFUSALS as error:
                    reasons.append(_compile_reason(error))
                    continue
                seen = recording.files.get(str(path), {})
                report.tally.add(compare(module, seen, guess.launch(kernel.name), str(guess)))
                built += 1
                if built == WANTED:
                    break
        except _TookTooLong:
            reasons.append("took too long")
    report.specializations += built
    report.kernels += bool(built)
    if not built:
        report.failed.append(NotCompiled(module.path, kernel.name, reasons[0]))


class _time_limit:
    def __init__(self, seconds: int) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        def over(number: int, frame: FrameType | None) -> None:
            raise _TookTooLong

        signal.signal(signal.SIGALRM, over)
        signal.alarm(self._seconds)

    def __exit__(self, *error: object) -> None:
        signal.alarm(0)


def _import_reason(error: BaseException) -> str:
    return f"import: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _compile_reason(error: BaseException) -> str:
    """What the compiler says, of the innermost function where one called another."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line.strip("^ ")]
    return re.sub(r"\s+", " ", said[-1] if said else type(error).__name__)[:200]


def report_files(root: Path, paths: Iterable[Path], workers: int = 2) -> Iterator[FileReport]:
    """Reports of many files, each in a forked process of its own, in no particular order."""
    fork = multiprocessing.get_context("fork")
    pending = list(paths)[::-1]
    running: dict[Connection, tuple[multiprocessing.process.BaseProcess, Path, float]] = {}
    while pending or running:
        while pending and len(running) < workers:
            path = pending.pop()
            here, there = fork.Pipe(duplex=False)
            process = fork.Process(target=_send, args=(there, root, path), daemon=True)
            process.start()
            there.close()
            running[here] = (process, path, time.monotonic() + SECONDS_A_FILE)
        ready = wait(list(running), timeout=1)
        late = [c for c, (_, _, end) in running.items() if time.monotonic() > end]
        for connection in {*ready, *late}:
            process, path, _ = running.pop(connection)
            yield _received(connection, str(path.relative_to(root)), process)


def _send(connection: Connection, root: Path, path: Path) -> None:
    # Native code prints whole modules that do not verify.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    connection.send(report_file(root, path))
    connection.close()


def _received(
    connection: Connection, name: str, process: multiprocessing.process.BaseProcess
) -> FileReport:
    try:
        report = connection.recv() if connection.poll() else None
    except EOFError:
        report = None
    process.kill()
    process.join()
    if report is None:
        report = FileReport(name)
        reason = f"the process ended with {process.exitcode}"
        report.failed.append(NotCompiled(name, "(all of the file)", reason))
    return report
