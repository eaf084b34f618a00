"""What several rewinds ask of a kernel, and the facts they suppose of its arguments."""

import ast
from dataclasses import replace

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.tiles import Shape, tiles_of
from tilewright.analysis.values import Flow, Value
from tilewright.rewrites.scope import is_tl_call
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import ArgumentFacts, LaunchFacts

PLAIN = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Constant)


def tl_calls(module: Module, kernel: Kernel, *names: str) -> list[ast.Call]:
    """Calls of functions of ``triton.language`` in a kernel's body, in text order."""
    found = [
        node
        for statement in kernel.node.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and is_tl_call(module, node, *names)
    ]
    return sorted(found, key=lambda call: (call.lineno, call.col_offset))


def loops_of(kernel: Kernel) -> list[ast.For | ast.While]:
    """The kernel's loops, in text order."""
    found = [n for n in ast.walk(kernel.node) if isinstance(n, ast.For | ast.While)]
    return sorted(found, key=lambda loop: loop.lineno)


def covers(outer: ast.stmt, inner: ast.AST) -> bool:
    """Whether a statement that begins on an earlier line holds a node."""
    line = getattr(inner, "lineno", 0)
    return outer.lineno < line <= (outer.end_lineno or outer.lineno)


def enclosing(kernel: Kernel, node: ast.AST) -> tuple[list[ast.stmt], list[ast.If]]:
    """The loops around a node, and the conditionals around it."""
    around = [s for s in ast.walk(kernel.node) if isinstance(s, ast.stmt) and covers(s, node)]
    loops: list[ast.stmt] = [s for s in around if isinstance(s, ast.For | ast.While)]
    return loops, [s for s in around if isinstance(s, ast.If)]


def pointers_of(flow: Flow) -> list[str]:
    """The pointer parameters that a kernel loads or stores through, in program order."""
    return list(dict.fromkeys(access.base for access in flow.accesses if access.base))


def with_types(
    context: AnalysisContext, kernel: Kernel, pointers: list[str], kind: str
) -> AnalysisContext:
    """The context with a launch whose tensors have elements of one type."""
    arguments = tuple(ArgumentFacts(name, "tensor", f"*{kind}") for name in pointers)
    return replace(context, launches=(LaunchFacts(kernel.name, (64, 64), arguments),))


def is_load(value: Value | None) -> bool:
    """Whether a value is a loaded tile, transposed or not."""
    return value is not None and _straight(value).op == "load"


def loaded_base(value: Value) -> str | None:
    """The pointer parameter that a tile is loaded through; None if it is no loaded tile."""
    inner = _straight(value)
    return pointer_base(inner.operands[0]) if inner.op == "load" else None


def _straight(value: Value) -> Value:
    """A value without the transposes around it."""
    while value.is_call("triton.language.trans") or (
        value.op == "attribute" and value.detail == "T"
    ):
        value = value.operands[0]
    return value


def enclosed(text: str, node: ast.expr) -> str:
    """A node's text, in parentheses unless it binds tighter than any operator."""
    return text if isinstance(node, PLAIN) else f"({text})"


def product_blocks(module: Module, kernel: Kernel) -> list[str]:
    """The two constexprs that are the sides of every product tile of a kernel."""
    tiles = tiles_of(module, kernel)
    dots = flow_of(module, kernel).calls("triton.language.dot")
    found = {names_of_sides(tiles.facts_of(value).shape) for _, value, _ in dots}
    (only,) = found if len(found) == 1 else ((),)
    return list(only) if len(set(only)) == 2 and set(only) <= set(kernel.constexprs) else []


def names_of_sides(shape: Shape | None) -> tuple[str, ...]:
    """A shape whose sides are all parameters, by their names; else nothing."""
    sides = [] if shape is None else list(shape)
    names = [str(s.detail) for s in sides if not isinstance(s, int) and s.op == "param"]
    return tuple(names) if len(names) == len(sides) else ()
