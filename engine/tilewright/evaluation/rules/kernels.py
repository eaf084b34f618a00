"""Rules on the bodies and decorators of kernels."""

import ast
from collections.abc import Iterator

from tilewright.evaluation.rules.allowlists import is_beyond
from tilewright.evaluation.rules.model import Finding
from tilewright.evaluation.rules.view import View, line_of
from tilewright.problems.permissions import ASSEMBLY

_ASSEMBLY = ("triton.language.inline_asm_elementwise",)
_LANGUAGES = ("triton.", "nki.", "math.", "neuronxcc.")


def kernels(view: View) -> Iterator[Finding]:
    """Assembly, code of other libraries, and decorators that are not the language's."""
    for kernel in view.module.kernels:
        for decorator in kernel.other_decorators:
            yield Finding(
                f"the decorator {decorator} on a kernel", kernel.range.line,
                "decorate kernels with triton.jit, autotune and heuristics alone",
            )  # fmt: skip
    for node in view.kernels:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield from _name(view, node)
        elif isinstance(node, ast.Try | ast.With | ast.ClassDef | ast.AsyncFunctionDef):
            yield Finding(f"{type(node).__name__.lower()} in a kernel", line_of(node))
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield Finding(f"a store to {ast.unparse(node)} in a kernel", line_of(node))


def _name(view: View, node: ast.Name | ast.Attribute) -> Iterator[Finding]:
    if isinstance(view.parent(node), ast.Attribute):
        return
    dotted = view.dotted(node)
    if dotted is None or view.is_annotation(node):
        return
    if is_beyond(dotted):
        allowed_by = (ASSEMBLY,) if dotted in _ASSEMBLY else ()
        way_out = "write it in the language of the kernel"
        yield Finding(dotted, line_of(node), way_out, allowed_by=allowed_by)
    elif "." in dotted and not dotted.startswith(_LANGUAGES):
        root = dotted.partition(".")[0]
        if root in view.modules or root in ("torch", "numpy"):
            yield Finding(f"{dotted} in a kernel", line_of(node), "use triton.language alone")
