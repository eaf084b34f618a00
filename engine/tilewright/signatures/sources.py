"""The signatures of a file's kernels, from the surest source that has any."""

import ast
import math
from collections.abc import Iterator
from pathlib import Path

from tilewright.problems.model import Entry, EntryKind, Problem
from tilewright.source.model import Kernel, Language, Module
from tilewright.source.text import digest
from tilewright.targets.model import ArgumentFacts, LaunchFacts

# AMD's compiler knows whether a tensor is smaller than this many bytes.
_POINTER_RANGE = 2**31
_WIDEST = 8


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


def specialization_key(launch: LaunchFacts) -> str:
    """Equal for launches that compile alike on every backend."""
    arguments = [_of_argument(argument) for argument in launch.arguments]
    return repr((launch.kernel, arguments, sorted(launch.options.items())))


def _of_argument(argument: ArgumentFacts) -> tuple[object, ...]:
    small = math.prod(argument.shape or ()) * _WIDEST < _POINTER_RANGE
    fixed = argument.kind in ("constexpr", "none", "tuple") or argument.value == 1
    value = argument.value if fixed else None
    return (argument.name, argument.type, argument.divisible_by_16, small, value)
