"""Loops of the host that launch a kernel once for each row, page or sequence."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.detectors.common import first_line
from tilewright.analysis.detectors.host_code.facts import launch_uses
from tilewright.analysis.host_graph.model import HostGraph, Use
from tilewright.analysis.model import Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.tiles.parameters import pointer_parameters
from tilewright.source.model import Launch, Module

_EXTENTS = frozenset({"shape", "size", "numel"})


@dataclass(frozen=True)
class _Turn:
    """What names stand for in one turn of a loop: its counters, and rows of tensors."""

    counters: frozenset[str]
    rows: frozenset[str]

    def is_row(self, node: ast.expr | None) -> bool:
        """``x[b]``, ``x[b, :n]``, or a name of such a part."""
        if isinstance(node, ast.Name):
            return node.id in self.rows
        if not isinstance(node, ast.Subscript):
            return isinstance(node, ast.Call) and self.is_part(node)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(isinstance(p, ast.Name) and p.id in self.counters for p in parts)

    def is_part(self, call: ast.Call) -> bool:
        """``x[b].view(-1)``, ``x.select(0, b)``: a view of a row."""
        if not isinstance(call.func, ast.Attribute):
            return False
        if call.func.attr == "select":
            return any(isinstance(a, ast.Name) and a.id in self.counters for a in call.args)
        is_view = call.func.attr in ("view", "reshape", "contiguous", "unsqueeze", "squeeze")
        return is_view and self.is_row(call.func.value)


def launches_for_each_row(module: Module, graph: HostGraph) -> Iterator[Finding]:
    """``for b in range(len(x)): kernel[grid](x[b], y[b])``, and calls of wrappers like it."""
    uses: dict[ast.AST, list[Use]] = {}
    for use in launch_uses(graph.uses):
        if use.place.loops:
            uses.setdefault(use.node, []).append(use)
    for loop in nodes_like(graph.node, ast.For) if uses else ():
        if not _is_over_rows(loop) or _is_over_tensors(loop):
            continue
        turn = _turn(loop)
        for call in _calls_in(loop):
            touched = [use for use in uses.get(call, []) if _is_of_memory(module, use)]
            launch = touched[0].launch if touched else None
            if launch is None or not _touches_rows(turn, touched, _is_kept(turn, loop, call)):
                continue
            if _goes_further(module, turn, launch):
                continue
            yield Finding(
                launch.range,
                f"The host launches {launch.kernel} once for each row, and each launch has one "
                "row's work; with the row as an axis of the grid one launch does all.",
                launch.kernel,
                related=(Related("the loop", first_line(module, loop)),),
            )


def _goes_further(module: Module, turn: _Turn, launch: Launch) -> bool:
    """Whether a kernel that is given ``x[b]`` adds the step from row to row of x to an address.

    Then it continues what the launch before has left in the row. A step that is only multiplied
    leads from program to program.
    """
    owners = {
        ast.unparse(argument.value)
        for argument in launch.arguments.values()
        if isinstance(argument, ast.Subscript) and turn.is_row(argument)
    }
    strides = {f"{owner}.stride(0)" for owner in owners}
    steps = {name for name, value in launch.arguments.items() if ast.unparse(value) in strides}
    kernel = module.kernel(launch.kernel)
    if kernel is None or not steps:
        return False
    factors = {
        id(side)
        for product in nodes_like(kernel.node, ast.BinOp)
        if isinstance(product.op, ast.Mult)
        for side in (product.left, product.right)
    }
    used = nodes_like(kernel.node, ast.Name)
    return any(name.id in steps and id(name) not in factors for name in used)


def _is_of_memory(module: Module, use: Use) -> bool:
    """Whether the kernel may take the argument for an address: numbers are no rows."""
    kernel = module.kernel(use.launch.kernel) if use.launch is not None else None
    role = use.role
    if kernel is None or role is None or role.reads or role.writes or role.is_sure:
        return True
    return use.parameter in pointer_parameters(module, kernel)


def _calls_in(loop: ast.For) -> Iterator[ast.Call]:
    """The calls that statements of a loop's body are."""
    for statement in loop.body:
        value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        if isinstance(value, ast.Call):
            yield value
            # ``parts.append(kernel_of(x[b]))``
            yield from (a for a in value.args if isinstance(a, ast.Call))


def _is_over_rows(loop: ast.For) -> bool:
    """``range(n)``, ``enumerate(rows)``, ``zip(x, y)``, ``x.unbind()``: steps of one."""
    if not isinstance(loop.iter, ast.Call):
        return False
    name = ast.unparse(loop.iter.func)
    if name == "range":
        return len(loop.iter.args) < 3 and not all(
            isinstance(a, ast.Constant) for a in loop.iter.args
        )
    return name in ("enumerate", "zip") or name.endswith(".unbind")


def _is_over_tensors(loop: ast.For) -> bool:
    """Whether a loop takes tensors from lists and asks each for its extents, which may differ."""
    if not isinstance(loop.iter, ast.Call) or ast.unparse(loop.iter.func) != "zip":
        return False
    names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in _EXTENTS
        and isinstance(node.value, ast.Name)
        and node.value.id in names
        for statement in loop.body
        for node in ast.walk(statement)
    )


def _turn(loop: ast.For) -> _Turn:
    names = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
    assert isinstance(loop.iter, ast.Call)
    name = ast.unparse(loop.iter.func)
    if name == "range":
        counters, rows = set(names), set[str]()
    elif name == "enumerate":
        counters, rows = set(names[:1]), set(names[1:])
    else:
        counters, rows = set[str](), set(names)
    for statement in loop.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            turn = _Turn(frozenset(counters), frozenset(rows))
            if isinstance(target, ast.Name) and turn.is_row(statement.value):
                rows.add(target.id)
    return _Turn(frozenset(counters), frozenset(rows))


def _is_kept(turn: _Turn, loop: ast.For, call: ast.Call) -> bool:
    """Whether the result of a call becomes a row of a tensor, or an element of a list."""
    for statement in loop.body:
        if isinstance(statement, ast.Assign) and statement.value is call:
            return any(turn.is_row(target) for target in statement.targets)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            outer = statement.value
            is_append = isinstance(outer.func, ast.Attribute) and outer.func.attr == "append"
            if is_append and call in outer.args:
                return True
    return False


def _touches_rows(turn: _Turn, uses: list[Use], is_kept: bool) -> bool:
    """Whether a launch works on rows, and writes to its own alone."""
    rows = 0
    for use in uses:
        if use.launch is None or use.role is None:
            return False
        argument = use.launch.arguments.get(use.parameter or "")
        # What a wrapper has allocated is no argument of its call.
        is_result = argument is None and is_kept
        is_row = turn.is_row(argument) or is_result
        writes = use.role.writes or not use.role.is_sure
        if writes and not is_row:
            return False
        rows += is_row
    return rows >= 2
