"""The arguments that a problem calls its entry point with, as facts of a launch."""

from tilewright.problems.model import Case, Input, Problem
from tilewright.targets.model import ArgumentFacts

_TYPES = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "bool": "i1",
    "int8": "i8",
    "uint8": "u8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
}


def entry_arguments(problem: Problem) -> tuple[ArgumentFacts, ...] | None:
    """The arguments of the first default case; None if the module makes its own."""
    cases = problem.cases.get(problem.default_category, ())
    if not cases or cases[0].inputs_from_module:
        return None
    return tuple(_argument(one, cases[0]) for one in cases[0].inputs)


def _argument(given: Input, case: Case) -> ArgumentFacts:
    if given.value is not None:
        kind = type(given.value).__name__
        return ArgumentFacts(given.name, kind, {"float": "fp32"}.get(kind, "i32"), given.value)
    strides: list[int] = []
    step = 1
    for extent in reversed(given.shape):
        strides.insert(0, step)
        step *= extent
    element = _TYPES.get(given.dtype or case.dtype or "", given.dtype)
    return ArgumentFacts(
        given.name, "tensor", f"*{element}", None, given.shape, tuple(strides), True
    )
