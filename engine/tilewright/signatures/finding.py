"""The signatures of a file's kernels, from the surest source that has any."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tilewright.problems.model import Entry, EntryKind, Problem
from tilewright.source.model import Kernel, Language, Module
from tilewright.source.text import digest


def inferable(module: Module) -> Iterator[Kernel]:
    """The kernels that can be compiled by themselves: not those that only others call."""
    for kernel in module.kernels:
        is_called = module.is_helper(kernel) or returns_value(module, kernel)
        if kernel.language is Language.TRITON and not is_called:
            yield kernel


def returns_value(module: Module, kernel: Kernel) -> bool:
    """Whether it returns something and nothing launches it: kernels elsewhere call it."""
    returns = any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(kernel.node))
    return returns and not module.launches_of(kernel.name)


def problem_without_spec(path: Path) -> Problem:
    """A problem without cases: its kernels can be compiled, and nothing of it can be run."""
    entry = Entry(EntryKind.FUNCTION, path.stem)
    return Problem(str(path), digest(str(path)), entry, None, {}, "inferred")
