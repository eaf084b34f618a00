"""``tests``: a pytest file with the file under test behind forwarded calls.

-> results ``[{test, outcome, file, line, message, unsupported}]``, calls (as of the job ``calls``),
exit (pytest's code). What speaks of a candidate comes from this process, in which it never runs.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from ..protocol import JobError
from ..trials import forwarded_calls
from ..trials.version import surroundings

if TYPE_CHECKING:
    from ..messages.jobs import Tested, TestResult, TestsJob

_LONGEST = 600
_TAIL = 2000


def perform(job: TestsJob) -> Tested:
    """Run the tests once."""
    tests, source = str(job["tests"]), str(job["source"])
    os.environ.pop("PYTEST_ADDOPTS", None)
    with forwarded_calls.forwarded(job, source) as module:
        pytest = _pytest()
        torch.manual_seed(int(job.get("seed") or 0))
        findings = _Findings(tests)
        said = io.StringIO()
        named = f"{tests}::{job['test']}" if job.get("test") else tests
        with (
            surroundings(str(job["device"]), tests),
            _found_by_import(module, source, tests),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
        ):
            code = pytest.main([*_options(job), named], plugins=[findings])
        return {
            "results": findings.results, "calls": module.calls, "exit": int(code),
            "printed": said.getvalue()[-_TAIL:],
        }  # fmt: skip


def _pytest() -> Any:
    try:
        return importlib.import_module("pytest")
    except ImportError as error:
        raise JobError(
            f"{sys.executable} has no pytest, which runs the tests of the problem: pip install "
            "pytest there"
        ) from error


def _options(job: TestsJob) -> list[str]:
    """No file of settings is read and nothing is kept; conftest.py counts from the topmost one."""
    folders = [str(Path(path).parent) for path in (*job.get("conftests", ()), job["tests"])]
    top = min(folders, key=len)
    return ["-q", "-c", os.devnull, "--rootdir", top, "--confcutdir", top, "-p", "no:cacheprovider"]


@contextlib.contextmanager
def _found_by_import(module: ModuleType, source: str, tests: str) -> Iterator[None]:
    """Have every import of the file under test find ``module``, by whatever name tests import it.

    In addition to what pytest adds, the outermost folder of the file's package can be imported
    from.
    """
    root = Path(source).parent
    while (root / "__init__.py").is_file():
        root = root.parent
    finder = _Finder(module, source)
    sys.meta_path.insert(0, finder)
    sys.path[:0] = list(dict.fromkeys([str(Path(tests).parent), str(root)]))
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one file, and gives the module that stands for it."""

    def __init__(self, module: ModuleType, source: str) -> None:
        self._module = module
        self._source = os.path.realpath(source)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The file under test, where that is what the name leads to."""
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is None or not found.origin or os.path.realpath(found.origin) != self._source:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=self._source)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The one that there is."""
        del spec
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""


class _Findings:
    """A plugin that notes what became of each test."""

    def __init__(self, tests: str) -> None:
        self.results: list[TestResult] = []
        self._tests = os.path.realpath(tests)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test that was called or skipped; failures come with their place below."""
        if report.outcome == "skipped" or (report.when == "call" and report.outcome == "passed"):
            self._note(report.nodeid, str(report.outcome))

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """A test, a fixture or an import that failed."""
        del report
        error, line = call.excinfo.value, 0
        for entry in call.excinfo.traceback:
            if os.path.realpath(str(entry.path)) == self._tests:
                line = int(entry.lineno) + 1
        message = " ".join(str(error).split())[:_LONGEST]
        self._note(
            node.nodeid, "failed", line=line, message=f"{type(error).__name__}: {message}",
            unsupported=isinstance(error, forwarded_calls.NotForwardedError),
        )  # fmt: skip

    def _note(
        self, test: str, outcome: str, line: int = 0, message: str = "", unsupported: bool = False
    ) -> None:
        self.results.append({
            "test": test, "outcome": outcome, "line": line, "message": message,
            "unsupported": unsupported,
        })  # fmt: skip
