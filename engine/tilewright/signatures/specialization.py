"""Which launches Triton's JIT would make one and the same kernel for."""

import math

from tilewright.targets.model import ArgumentFacts, LaunchFacts

# AMD's compiler is told whether a tensor is smaller than this many bytes.
_POINTER_RANGE = 2**31
_WIDEST = 8


def specialization_key(launch: LaunchFacts) -> str:
    """Equal for launches that compile alike on every backend."""
    arguments = [_of_argument(argument) for argument in launch.arguments]
    return repr((launch.kernel, arguments, sorted(launch.options.items())))


def _of_argument(argument: ArgumentFacts) -> tuple[object, ...]:
    small = math.prod(argument.shape or ()) * _WIDEST < _POINTER_RANGE
    fixed = argument.kind in ("constexpr", "none", "tuple") or argument.value == 1
    value = argument.value if fixed else None
    return (argument.name, argument.type, argument.divisible_by_16, small, value)
