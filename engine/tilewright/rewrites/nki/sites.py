"""The place of an issue in an interpreted NKI kernel: its node, and what is around it."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.nki import Flow, Operation, nki_flow
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import NewText, RefusedError
from tilewright.rewrites.scope import kernel_of
from tilewright.source.model import Kernel, Language, Module

N = TypeVar("N", bound=ast.expr | ast.stmt)


@dataclass(frozen=True)
class Site:
    """An issue of one kernel, and the edits that are collected for it."""

    module: Module
    kernel: Kernel
    flow: Flow
    issue: Issue
    patch: Patch

    def node(self, kind: type[N]) -> N | None:
        """The node of a kind that the issue underlines, the outermost of several."""
        for node in ast.walk(self.kernel.node):
            if isinstance(node, kind) and self.module.index.range_of(node) == self.issue.range:
                return node
        return None

    def operations(self, statement: ast.stmt | None) -> list[Operation]:
        """What a statement does, in order."""
        return [o for o in self.flow.operations if o.statement is statement]

    def source(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node."""
        return self.patch.source(node)


Edit = Callable[[Site], None]


def at_site(edit: Edit) -> NewText:
    """A rewrite from a function that collects edits, or refuses."""

    @wraps(edit)
    def apply(module: Module, issue: Issue, context: AnalysisContext) -> str:
        kernel = kernel_of(module, issue)
        if kernel is None or kernel.language is not Language.NKI:
            raise moved()
        site = Site(module, kernel, nki_flow(module, kernel), issue, Patch(module))
        edit(site)
        text = site.patch.apply()
        if text == module.text:
            raise moved()
        return text

    return apply


def moved() -> RefusedError:
    """The answer where nothing of the expected form stands at the issue."""
    return RefusedError("the text has changed since the issue was found")


def in_parentheses(text: str, node: ast.expr) -> str:
    """An expression as an operand: in parentheses unless it is a name, a call or the like."""
    simple = ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.Constant
    return text if isinstance(node, simple) else f"({text})"


def parts_of(node: ast.Subscript) -> Sequence[ast.expr]:
    """The indices of a subscript, one for each dimension it names."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
