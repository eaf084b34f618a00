"""What a kernel is run on: specs and modules, read without importing or running anything."""

from tilewright.problems.dtypes import DTYPE_BYTES, input_bytes, size_bytes
from tilewright.problems.formula import FormulaError, evaluate
from tilewright.problems.loading import find_problem, load_problem, problem_or_flaw
from tilewright.problems.model import (
    Case,
    Dim,
    Entry,
    EntryKind,
    Input,
    LaunchCase,
    Problem,
    ProblemError,
    View,
)

__all__ = [
    "DTYPE_BYTES",
    "Case",
    "Dim",
    "Entry",
    "EntryKind",
    "FormulaError",
    "Input",
    "LaunchCase",
    "Problem",
    "ProblemError",
    "View",
    "evaluate",
    "find_problem",
    "input_bytes",
    "load_problem",
    "problem_or_flaw",
    "size_bytes",
]
