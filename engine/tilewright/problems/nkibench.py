"""Problems of NKIBench: a folder with ``summary.json``, kernels and references of numpy.

A reference is a module with ``get_inputs``, ``forward`` and two functions that bring inputs into
the kernel's layout and its results back. ``summary.json`` says which kernel belongs to which
reference; names of files have another order of dimensions, so they are not read.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tilewright.errors import InputError
from tilewright.problems.model import Case, Entry, EntryKind, OwnRule, Problem, ProblemError
from tilewright.problems.modules import SMALL
from tilewright.problems.pyfile import PythonFile, read_python
from tilewright.textfile import utf8_text

SUMMARY = "summary.json"
KERNELS = ("kernel", "optimized_kernel")
"""What a file under test calls its kernel; the first is looked for first."""
FORWARD, TO_KERNEL, FROM_KERNEL = "forward", "transform_to_nki_inputs", "transform_nki_outputs"
_FUNCTIONS = frozenset(("get_inputs", FORWARD, TO_KERNEL, FROM_KERNEL))
_SEEDS = (0, 21, 42, 63, 84)
_TOLERANCE = 2e-5
_TOLERANCES = {"mamba": 3e-5}
_REFUSED = "float16"
_RTOL, _ATOL = 1e-4, 1e-5
"""Elementwise: many times the error of another order of sums in fp32, and far below what lower
precision gives."""


def is_reference(file: PythonFile) -> bool:
    """Whether a file is a reference of NKIBench."""
    return set(file.functions) >= _FUNCTIONS


def problem(reference: Path, source: Path, content_hash: str) -> Problem:
    """The problem of a reference, for a file with a kernel.

    Raises:
        ProblemError: the file has no kernel under a name that NKIBench calls.
    """
    file = read_python(source)
    names = [name for name in KERNELS if name in file.callables]
    if file.parses and not names:
        found = ", ".join(file.callables) or "no function at all"
        raise ProblemError(
            f"it defines none of {', '.join(KERNELS)}, which NKIBench calls (it has {found}); give "
            "the kernel one of these names",
            str(source),
        )
    name, layout = (names or KERNELS)[0], str(reference)
    case = Case(SMALL, 0, {}, None, (), inputs_from_module=True, rtol=_RTOL, atol=_ATOL)
    return Problem(
        path=layout,
        content_hash=content_hash,
        entry=Entry(EntryKind.FUNCTION, name, layout=layout),
        reference=Entry(EntryKind.FUNCTION, FORWARD, layout, layout=layout),
        cases={SMALL: (case,)},
        default_category=SMALL,
        own_rule=own_rule(reference),
    )


def own_rule(reference: Path) -> OwnRule:
    """NKIBench's own verdict on a problem: its seeds, its tolerance, its rule on the text."""
    name = next((name for name in _TOLERANCES if reference.stem.startswith(f"{name}_")), "")
    return OwnRule("NKIBench", _TOLERANCES.get(name, _TOLERANCE), _SEEDS, _REFUSED)


def holds_refused(rule: OwnRule, text: str) -> bool:
    """Whether a kernel's text holds what the rule refuses, each line up to its first ``#``."""
    kept = (line.partition("#")[0] for line in text.splitlines())
    return bool(rule.refused) and any(rule.refused in line for line in kept)


def reference_of(kernel: Path) -> Path | None:
    """The reference that a ``summary.json`` above a kernel's folder gives for it.

    Raises:
        ProblemError: the summary names one that is not there, or cannot be read.
    """
    wanted = kernel.resolve()
    summary = wanted.parent.parent / SUMMARY
    if not wanted.is_file() or not summary.is_file():
        return None
    for task, path in _implementations(summary):
        if (summary.parent / path).resolve() == wanted:
            return _existing(summary, task)
    return None


def named_reference(folder: Path, source: Path | None) -> Path | None:
    """The reference of a file under test in a folder of NKIBench; None where it is no such folder.

    Raises:
        ProblemError: the folder does not say which of its problems is meant.
    """
    if not (folder / SUMMARY).is_file():
        return None
    found = [task for task, path in _implementations(folder / SUMMARY) if _is(folder, path, source)]
    if found:
        return _existing(folder / SUMMARY, found[0])
    raise ProblemError(
        f"it lists no kernel {source}; name the file in reference/ of the problem that is meant",
        str(folder / SUMMARY),
    )


def _is(folder: Path, path: str, source: Path | None) -> bool:
    return source is not None and (folder / path).resolve() == source.resolve()


def _existing(summary: Path, task: str) -> Path:
    found = summary.parent / task
    if not found.is_file():
        raise ProblemError(f"it names the reference {task}, which is not there", str(summary))
    return found


def _implementations(summary: Path) -> Iterator[tuple[str, str]]:
    """(reference, kernel), relative to the summary's folder."""
    try:
        listed = json.loads(utf8_text(summary))
    except (ValueError, InputError) as error:
        raise ProblemError(f"it cannot be read as JSON: {error}", str(summary)) from None
    problems = listed.values() if isinstance(listed, Mapping) else ()
    for problem in problems:
        for case in _mappings(problem, "cases"):
            for one in case.get("impls") or ():
                if isinstance(one, Mapping) and {"task", "kernel"} <= one.keys():
                    yield str(one["task"]), str(one["kernel"])


def _mappings(value: Any, key: str) -> Iterator[Mapping[str, Any]]:
    inner = value.get(key) if isinstance(value, Mapping) else None
    for one in (inner or {}).values() if isinstance(inner, Mapping) else ():
        if isinstance(one, Mapping):
            yield one
