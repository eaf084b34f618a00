"""What a precondition is asked about, and what it answers."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilewright.analysis.model import AnalysisContext
from tilewright.knowledge.model import Parameter
from tilewright.source.model import Kernel, Module

Parameters = Mapping[str, Parameter]


@dataclass(frozen=True)
class Subject:
    """A kernel in its file, with what else is known."""

    module: Module
    kernel: Kernel
    context: AnalysisContext

    def text(self, node: ast.expr) -> str:
        """The source of an expression."""
        return self.module.index.slice(self.module.index.range_of(node))


@dataclass(frozen=True)
class Answer:
    """Whether something holds (None: not known), and why, in a few words of this kernel."""

    holds: bool | None
    reason: str


Question = Callable[[Subject, Parameters], Answer]


def words(parameters: Parameters, name: str) -> tuple[str, ...]:
    """A parameter that is a list of names."""
    value = parameters[name]
    return tuple(map(str, value)) if isinstance(value, tuple) else (str(value),)


def whole(parameters: Parameters, name: str) -> int:
    """A parameter that is an integer; ValueError where the knowledge base has another."""
    value = parameters[name]
    if not isinstance(value, int):
        raise ValueError(f"{name} must be an integer, not {value!r}")
    return value
