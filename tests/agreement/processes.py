"""Corpus files one by one, each in a forked process: a crash or a hang is a result."""

import contextlib
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from agreement import FileReport, NotCompiled, report_file

SECONDS_A_FILE = 240


def report_files(root: Path, paths: Iterable[Path], workers: int = 2) -> Iterator[FileReport]:
    """Reports of many files, each in a forked process of its own, in no particular order."""
    fork = multiprocessing.get_context("fork")
    pending = list(paths)[::-1]
    running: dict[Connection, tuple[BaseProcess, Path, float]] = {}
    while pending or running:
        while pending and len(running) < workers:
            path = pending.pop()
            here, there = fork.Pipe(duplex=False)
            started = fork.Process(target=_send, args=(there, root, path), daemon=True)
            started.start()
            there.close()
            running[here] = (started, path, time.monotonic() + SECONDS_A_FILE)
        ready = wait(list(running), timeout=1)
        late = [c for c, (_, _, end) in running.items() if time.monotonic() > end]
        for connection in [c for c in running if c in ready or c in late]:
            process, path, _ = running.pop(connection)
            yield _received(connection, str(path.relative_to(root)), process)


def _send(connection: Connection, root: Path, path: Path) -> None:
    # Native code prints whole modules that do not verify.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    connection.send(report_file(root, path))
    connection.close()


def _received(connection: Connection, name: str, process: BaseProcess) -> FileReport:
    """The report; for a process that ended without one, or did not end, a report that says so."""
    late = not connection.poll()
    report = None
    if not late:
        with contextlib.suppress(EOFError):
            report = connection.recv()
            assert isinstance(report, FileReport)
    if late:
        process.kill()
    process.join()
    if report is None:
        reason = "took too long" if late else f"the process ended with {process.exitcode}"
        report = FileReport(name, failed=[NotCompiled(name, "(all of the file)", reason)])
    return report
