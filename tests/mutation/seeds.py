"""Faults for which there is no rewrite to go back from, put into kernels that do not have them."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from tilewright.analysis.detectors.common import decorators_known
from tilewright.analysis.flow import flow_of
from tilewright.source import parse_module
from tilewright.source.host import bound_names, host_of
from tilewright.source.model import Kernel, Launch, Module


@dataclass(frozen=True)
class Seeded:
    """A text with one fault; the issue is expected on one of these lines."""

    text: str
    lines: frozenset[int]


_MEASURES = re.compile(r"^def _?(bench|check|compare|measure|profile|test)|\.Event")
Seed = Callable[[Module, Kernel], Iterator[Seeded]]


def drop_barrier(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Take out the barrier in front of the atomic that releases a lock."""
    lines = module.text.split("\n")
    for number in range(kernel.range.line, kernel.range.end_line):
        is_barrier = lines[number - 1].strip() == "tl.debug_barrier()"
        if is_barrier and "tl.atomic_xchg(" in lines[number]:
            yield Seeded("\n".join(lines[: number - 1] + lines[number:]), frozenset({number}))


def forget_axis(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Put 0 for the program id of an axis with several programs."""
    calls = [n for n in ast.walk(kernel.node) if _is_call(n, "program_id")]
    if any(_is_call(n, "atomic_add", "atomic_cas") for n in ast.walk(kernel.node)):
        return
    if module.helpers_of(kernel) or any(len(ast.unparse(c)) != 16 for c in calls):
        return
    for call in calls:
        axis = int(ast.unparse(call)[-2])
        grids = [launch.grid for launch in module.launches_of(kernel.name)]
        counts = [g.elts[axis] for g in grids if isinstance(g, ast.Tuple) and axis < len(g.elts)]
        same = [c for c in calls if ast.unparse(c) == ast.unparse(call)]
        is_one = len(same) == 1 and counts and len(counts) == len(grids)
        if is_one and all(isinstance(c, ast.Call) and len(c.args) == 2 for c in counts):
            yield Seeded(_replaced(module, call, "0"), frozenset(c.lineno for c in counts))


def exchange_arguments(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Pass two neighbours that have their parameters' names in each other's place.

    Only where the kernel's decorators are known: another may take arguments in another order.
    """
    if not decorators_known(module, kernel):
        return
    for launch in module.launches_of(kernel.name):
        names = [a.id if isinstance(a, ast.Name) else "" for a in launch.node.args]
        own = [p.name.removesuffix("_ptr") for p in kernel.parameters]
        for place, (one, two) in enumerate(pairwise(names)):
            if one and two and [one, two] == own[place : place + 2]:
                text = _exchanged(module, *launch.node.args[place : place + 2])
                if text is not None:
                    yield Seeded(text, frozenset({launch.node.args[place].lineno}))
                    break


def fix_block(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Fix the block of rows that the launch made as long as they are."""
    is_walked = any(isinstance(n, ast.For | ast.While) for n in ast.walk(kernel.node))
    is_tuned = kernel.autotune is not None
    for launch in module.launches_of(kernel.name) if not is_walked and not is_tuned else ():
        for keyword in launch.node.keywords:
            given = ast.unparse(keyword.value)
            host = host_of(module, launch)
            if not given.startswith("triton.next_power_of_2(") or host is None:
                continue
            if any(isinstance(n, ast.If | ast.Assert) for n in ast.walk(host)):
                continue
            extent = given.removeprefix("triton.next_power_of_2(").removesuffix(")")
            if not re.search(rf"\b{re.escape(extent)} = \w+\.shape", ast.unparse(host)):
                continue
            block = f"arange(0, {keyword.arg})"
            if block in ast.unparse(kernel.node) and f"{block} < " not in kernel.text:
                text = _replaced(module, keyword.value, "64")
                yield Seeded(text, frozenset({keyword.value.lineno}))


def exchange_strides(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Pass the two strides of a matrix, whose extents are passed too, in the other order."""
    for launch in module.launches_of(kernel.name):
        host = host_of(module, launch)
        arguments = launch.node.args
        for one, two in pairwise(arguments):
            tensor = ast.unparse(one).removesuffix(".stride(0)")
            is_pair = ast.unparse(two) in (f"{tensor}.stride(1)", f"{tensor}.stride(-1)")
            if host is None or not is_pair or not _passes_extents(host, launch, tensor):
                continue
            text = _exchanged(module, one, two)
            if text is not None and " < " in kernel.text:
                yield Seeded(text, frozenset({one.lineno}))


def exchange_owners(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Give two tensors each other's stride at the launch.

    It is reported there where the strides' names say whose they are, else in the kernel.
    """
    for launch in module.launches_of(kernel.name):
        strides = [a for a in launch.node.args if ast.unparse(a).endswith(".stride(0)")]
        host = None if "make_block_ptr" in kernel.text else host_of(module, launch)
        for one, two in pairwise(strides):
            names = {ast.unparse(s).removesuffix(".stride(0)") for s in (one, two)}
            is_local = len(names) == 2 and all(map(str.isidentifier, names))
            if is_local and host is not None and not _are_made(host, names):
                text = _exchanged(module, one, two)
                lines = range(kernel.range.line, kernel.range.end_line + 1)
                if text is not None:
                    yield Seeded(text, frozenset((*lines, one.lineno)))


def drop_guard(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Subtract the running maximum itself, where it was replaced if it is -inf."""
    for node in ast.walk(kernel.node):
        if _is_call(node, "where") and isinstance(node, ast.Call) and len(node.args) == 3:
            test, _, kept = (ast.unparse(a) for a in node.args)
            if test == f"{kept} == float('-inf')":
                lines = range(node.lineno, kernel.range.end_line + 1)
                yield Seeded(_replaced(module, node, kept), frozenset(lines))


def lengthen_axis(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Ask for 70,000 programs along axis 1, in functions that compare no sizes."""
    for launch in module.launches_of(kernel.name):
        grid, host = launch.grid, host_of(module, launch)
        is_tuple = isinstance(grid, ast.Tuple) and len(grid.elts) > 1 and _is_on_one_line(grid)
        if is_tuple and host is not None and not _compares(host):
            assert isinstance(grid, ast.Tuple)
            yield Seeded(_replaced(module, grid.elts[1], "70000"), frozenset({grid.lineno}))


def add_in_place(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Add what each program stores in a row of its own to one row for all of them."""
    flow = flow_of(module, kernel)
    has_others = any(a.kind == "atomic" for a in flow.accesses) or "num_programs" in kernel.text
    for store in flow.writes if not has_others and _grows(module, kernel) else ():
        if store.branches or not store.node.args:
            continue
        match store.node.args[0]:
            case ast.BinOp(
                left=ast.BinOp(left=ast.Name(id=base), op=ast.Add(), right=row),
                op=ast.Add(),
                right=cols,
            ):
                values = [flow.values.get(part) for part in (row, cols)]
                masked = [] if store.mask is None else [store.mask]
            case _:
                continue
        parts = [value.operations for value in (*values, *masked) if value is not None]
        is_row = len(parts) > 1 and "program_id" in parts[0] and "arange" not in parts[0]
        is_shared = "arange" in parts[1] and not any("program_id" in p for p in parts[1:])
        if is_row and is_shared and _is_on_one_line(store.node):
            text = ast.unparse(store.node).replace("tl.store(", "tl.atomic_add(", 1)
            text = text.replace(ast.unparse(store.node.args[0]), f"{base} + {ast.unparse(cols)}", 1)
            yield Seeded(_replaced(module, store.node, text), frozenset({store.node.lineno}))


def launch_for_rows(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Launch once for each row of the tensors, two or more, that the kernel is given by name.

    Only in functions that neither test nor measure.
    """
    pointers = {access.base for access in flow_of(module, kernel).accesses}
    for launch in module.launches_of(kernel.name):
        host = host_of(module, launch)
        statement = _statement(host, launch) if host is not None else None
        given = [launch.arguments.get(name or "") for name in sorted(map(str, pointers))]
        names = [node for node in given if isinstance(node, ast.Name)]
        is_plain = len({node.id for node in names}) > 1 and len(names) == len(given)
        if statement is None or not is_plain or not _is_on_one_line(statement):
            continue
        if host is None or _MEASURES.search(ast.unparse(host)):
            continue
        text = module.text
        for node in sorted(names, key=lambda n: n.col_offset, reverse=True):
            text = _replaced(parse_module(text), node, f"{node.id}[row]")
        lines = text.split("\n")
        line, indent = lines[statement.lineno - 1], " " * statement.col_offset
        loop = f"{indent}for row in range({names[0].id}.shape[0]):"
        lines[statement.lineno - 1 : statement.lineno] = [loop, f"    {line}"]
        yield Seeded("\n".join(lines), frozenset({statement.lineno + 1}))


def launch_one(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Launch one program, where the only one of a file's launches sums over a loop."""
    launches = module.launches_of(kernel.name)
    if len(launches) != 1 or len(module.launches) != 1 or not _sums_over_extent(kernel):
        return
    grid = launches[0].grid
    if isinstance(grid, ast.Tuple) and _is_on_one_line(grid):
        yield Seeded(_replaced(module, grid, "(1,)"), frozenset({grid.lineno}))


def follow_by_softmax(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Take the softmax of a product that a function returns, and a product with that."""
    launches = module.launches_of(kernel.name)
    if len(launches) != 1 or "tl.dot(" not in kernel.text or not launches[0].is_complete:
        return
    host = host_of(module, launches[0])
    returned = host.body[-1] if host is not None else None
    stored = {access.base for access in flow_of(module, kernel).writes}
    made = [launches[0].arguments.get(name or "") for name in stored]
    if isinstance(returned, ast.Return) and len(made) == 1 and isinstance(made[0], ast.Name):
        name = made[0].id
        if returned.value is not None and ast.unparse(returned.value) == name:
            text = f"torch.matmul(torch.softmax({name}, dim=-1), {name})"
            yield Seeded(_replaced(module, returned.value, text), frozenset({returned.lineno}))


SEEDS: dict[str, Seed] = {
    "lock_without_barrier": drop_barrier,
    "grid_axis_unused": forget_axis,
    "exchanged_arguments": exchange_arguments,
    "columns_left_out": fix_block,
    "walked_axis_mismatch": exchange_strides,
    "stride_of_other_tensor": exchange_owners,
    "empty_row_nan": drop_guard,
    "grid_limit": lengthen_axis,
    "contended_atomics": add_in_place,
    "repeated_launches": launch_for_rows,
    "single_program": launch_one,
    "unfused_attention": follow_by_softmax,
}
"""How each issue without a rewrite is put into a kernel."""


def _is_on_one_line(node: ast.expr | ast.stmt) -> bool:
    return node.lineno == node.end_lineno


def _compares(host: ast.FunctionDef) -> bool:
    """Whether a function asks for sizes, and may keep long grids out."""
    tests = (n.test for n in ast.walk(host) if isinstance(n, ast.If | ast.IfExp | ast.Assert))
    return any(isinstance(n, ast.Compare) for test in tests for n in ast.walk(test))


def _grows(module: Module, kernel: Kernel) -> bool:
    """Whether every launch has as many programs as a tensor has rows."""
    launches = module.launches_of(kernel.name)
    return bool(launches) and all(
        isinstance(launch.grid, ast.Tuple) and "shape" in ast.unparse(launch.grid.elts[0])
        for launch in launches
    )


def _statement(host: ast.FunctionDef, launch: Launch) -> ast.stmt | None:
    """The statement of the function's own block that a launch is all of."""
    for statement in host.body:
        if isinstance(statement, ast.Expr) and statement.value is launch.node:
            return statement
    return None


def _sums_over_extent(kernel: Kernel) -> bool:
    """Whether the kernel's one loop runs to a number known at the launch, and only sums."""
    loops = [n for n in ast.walk(kernel.node) if isinstance(n, ast.For)]
    extents = {p.name for p in kernel.parameters if not p.is_constexpr}
    if len(loops) != 1 or not isinstance(loops[0].iter, ast.Call) or len(loops[0].iter.args) < 2:
        return False
    end = loops[0].iter.args[1]
    summed = [n for n in loops[0].body if isinstance(n, ast.AugAssign)]
    sets = [n for n in loops[0].body if not isinstance(n, ast.Assign | ast.AugAssign)]
    local = {t.id for n in loops[0].body if isinstance(n, ast.Assign) for t in _names(n)}
    carried = {n.target.id for n in summed if isinstance(n.target, ast.Name)} & local
    is_sum = bool(summed) and all(isinstance(n.op, ast.Add) for n in summed)
    return is_sum and not sets and not carried and isinstance(end, ast.Name) and end.id in extents


def _names(node: ast.Assign) -> Iterator[ast.Name]:
    return (t for t in node.targets if isinstance(t, ast.Name))


def _passes_extents(host: ast.FunctionDef, launch: Launch, tensor: str) -> bool:
    """Whether the host unpacks a matrix' shape once, and the launch passes both extents."""
    passed = {ast.unparse(a) for a in launch.node.args}
    for node in ast.walk(host):
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == f"{tensor}.shape":
            target = node.targets[0]
            names = [ast.unparse(e) for e in target.elts] if isinstance(target, ast.Tuple) else []
            rebound = [s for s in host.body if s is not node and {tensor, *names} & bound_names(s)]
            return len(names) == 2 and set(names) <= passed and not rebound
    return False


def _are_made(host: ast.FunctionDef, names: set[str]) -> bool:
    """Whether the host makes or checks either of the tensors."""
    if any(isinstance(n, ast.Assert) for n in ast.walk(host)):
        return True
    return any(names & bound_names(statement) for statement in host.body)


def _is_call(node: ast.AST, *names: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
    )


def _replaced(module: Module, node: ast.expr, text: str) -> str:
    lines = module.text.split("\n")
    line = lines[node.lineno - 1]
    assert node.lineno == node.end_lineno
    lines[node.lineno - 1] = line[: node.col_offset] + text + line[node.end_col_offset :]
    return "\n".join(lines)


def _exchanged(module: Module, one: ast.expr, two: ast.expr) -> str | None:
    """The text with two expressions of one line in each other's place."""
    if not one.lineno == one.end_lineno == two.lineno == two.end_lineno:
        return None
    lines = module.text.split("\n")
    line = lines[one.lineno - 1]
    lines[one.lineno - 1] = (
        line[: one.col_offset]
        + line[two.col_offset : two.end_col_offset]
        + line[one.end_col_offset : two.col_offset]
        + line[one.col_offset : one.end_col_offset]
        + line[two.end_col_offset :]
    )
    return "\n".join(lines)
