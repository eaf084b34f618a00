"""What the evaluation of host functions and that of kernels differ in."""

import ast
from collections.abc import Iterator
from enum import Enum
from typing import Any

from tilewright.analysis.instances.model import Known


class End(Enum):
    """How a block of statements ended."""

    RETURN = "return"
    BREAK = "break"
    CONTINUE = "continue"


class Hooks:
    """What an evaluator asks of the language that it evaluates."""

    def call(
        self, node: ast.Call, function: Known, given: list[Known], named: dict[str, Known]
    ) -> Known:
        """The result of a call."""
        raise NotImplementedError

    def member(self, owner: Known, name: str) -> Known:
        """``owner.name``."""
        raise NotImplementedError

    def item(self, node: ast.Subscript, owner: Known) -> Known:
        """``owner[...]`` of what is no container of Python's."""
        raise NotImplementedError

    def computed(self, op: type[ast.operator], one: Known, two: Known) -> Known:
        """An operation on what is no plain number."""
        raise NotImplementedError

    def compared(self, op: type[ast.cmpop], one: Known, two: Known) -> Known:
        """A comparison of what is no plain number."""
        raise NotImplementedError

    def undecided(self, node: ast.If) -> End | None:
        """Run what an unknown condition decides."""
        raise NotImplementedError

    def endless(self, node: ast.For | ast.While) -> None:
        """Run a loop whose turns are not known."""
        raise NotImplementedError

    def asked_to_round(self, value: Known) -> None:
        """A size is rounded to blocks, or bounds indices."""

    def turns(self, node: ast.For, over: Any) -> Iterator[Known]:
        """The iterations of a loop that are evaluated."""
        raise NotImplementedError

    def failed(self, node: ast.expr) -> None:
        """An operation is not one of Python's, or of what is modelled."""

    def divided(self, one: Known, two: Known) -> None:
        """The remainder of a number is asked for."""

    def bounds(self, node: ast.Compare, one: Known, two: Known) -> None:
        """Two values are compared."""

    def changed(self, target: ast.expr) -> None:
        """Something writes through a name."""
