"""Faults for which there is no rewrite to go back from, put into kernels that do not have them."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from tilewright.analysis.detectors.common import decorators_known
from tilewright.source.host import bound_names, host_of
from tilewright.source.model import Kernel, Launch, Module


@dataclass(frozen=True)
class Seeded:
    """A text with one fault; the issue is expected on one of these lines."""

    text: str
    lines: frozenset[int]


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
    """Give two tensors each other's stride at the launch."""
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
                    yield Seeded(text, frozenset(lines))


def drop_guard(module: Module, kernel: Kernel) -> Iterator[Seeded]:
    """Subtract the running maximum itself, where it was replaced if it is -inf."""
    for node in ast.walk(kernel.node):
        if _is_call(node, "where") and isinstance(node, ast.Call) and len(node.args) == 3:
            test, _, kept = (ast.unparse(a) for a in node.args)
            if test == f"{kept} == float('-inf')":
                lines = range(node.lineno, kernel.range.end_line + 1)
                yield Seeded(_replaced(module, node, kept), frozenset(lines))


SEEDS: dict[str, Seed] = {
    "lock_without_barrier": drop_barrier,
    "grid_axis_unused": forget_axis,
    "exchanged_arguments": exchange_arguments,
    "columns_left_out": fix_block,
    "walked_axis_mismatch": exchange_strides,
    "stride_of_other_tensor": exchange_owners,
    "empty_row_nan": drop_guard,
}
"""How each issue without a rewrite is put into a kernel."""


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
