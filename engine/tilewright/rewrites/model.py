"""What a deterministic rewrite is, and the table of all that are registered."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from types import ModuleType
from typing import ParamSpec, TypeVar

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.errors import TilewrightError
from tilewright.source.model import Module

P = ParamSpec("P")
T = TypeVar("T")


class Numerics(StrEnum):
    """What a rewrite may do to results: nothing, another order of the same sums, or fewer bits."""

    EXACT = "exact"
    REASSOCIATING = "reassociating"
    PRECISION_REDUCING = "precision_reducing"


@dataclass(frozen=True)
class Refusal:
    """Why a rewrite does not apply here: the precondition that does not hold, in one sentence."""

    reason: str


class RefusedError(TilewrightError):
    """Raised where a precondition does not hold; a rewrite gives its message as a ``Refusal``."""


def refusal_returned(function: Callable[P, T]) -> Callable[P, T | Refusal]:
    """The function, with a ``Refusal`` as its result where it raises ``RefusedError``."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T | Refusal:
        try:
            return function(*args, **kwargs)
        except RefusedError as refused:
            return Refusal(str(refused))

    return call


def accepted(result: T | Refusal) -> T:
    """A result that is no ``Refusal``; raises ``RefusedError`` for one."""
    if isinstance(result, Refusal):
        raise RefusedError(result.reason)
    return result


NewText = Callable[[Module, Issue, AnalysisContext], str]
Apply = Callable[[Module, Issue, AnalysisContext], str | Refusal]


@dataclass(frozen=True)
class Rewrite:
    """A rewrite of one issue.

    Attributes:
        name: "dot_accumulator"; also the proposer's name.
        issue: the taxonomy id it fixes.
        title: imperative, for a light bulb: "Accumulate inside tl.dot".
        apply: gives the whole new text, or the precondition that does not hold.
        needs_launch: refuses wherever no launch of the issue's kernel was captured.
    """

    name: str
    issue: str
    title: str
    numerics: Numerics
    apply: Apply
    needs_launch: bool = False


_OF_MODULE: dict[str, list[Rewrite]] = {}


def rewrite(
    issue: str, title: str, numerics: Numerics, *, name: str = "", needs_launch: bool = False
) -> Callable[[NewText], NewText]:
    """Register a function as a rewrite; the arguments are the attributes of ``Rewrite``.

    The function raises ``RefusedError`` where a precondition does not hold.

    Args:
        name: the function's name unless it rewrites several issues.
    """

    def register(new_text: NewText) -> NewText:
        apply = refusal_returned(new_text)
        made = Rewrite(name or apply.__name__, issue, title, numerics, apply, needs_launch)
        _OF_MODULE.setdefault(apply.__module__, []).append(made)
        return new_text

    return register


def rewrites_of(*modules: ModuleType) -> tuple[Rewrite, ...]:
    """The rewrites that modules define, in their order."""
    return tuple(one for module in modules for one in _OF_MODULE.get(module.__name__, ()))
