"""Which of several kernels the host takes for which problem."""

import ast
from collections.abc import Iterator

from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Flow, Loop, walk
from tilewright.source.host import host_of, last_assigned, resolve
from tilewright.source.model import Kernel, Launch, Module

_CLASSES = ("vocab", "logit", "classes")
_HEADS = ("head_dim", "headdim", "head_size", "d_head", "dhead", "dim_head", "dim_per_head")
_LONG = (
    *("tile", "multi_block", "multiblock", "multi_pass", "multipass"),
    *("split", "large", "long", "chunk", "looped"),
)


def is_for_long_rows(module: Module, kernel: Kernel) -> bool:
    """Whether a kernel is the one for rows too long for a block: by name, or by the host's choice.

    The host chooses where a conditional on a size launches this kernel on one side and another
    one on the other.
    """
    name = kernel.name.lower()
    if any(mark in name for mark in _LONG):
        return True
    return any(_is_chosen_by_size(module, launch) for launch in module.launches_of(kernel.name))


def _is_chosen_by_size(module: Module, launch: Launch) -> bool:
    host = host_of(module, launch)
    if host is None:
        return False
    for node in nodes_like(host, ast.If):
        if _compares_sizes(node.test):
            for one, two in ((node.body, node.orelse), (node.orelse, node.body)):
                if launch.kernel in _launched(one) and _launched(two) - {launch.kernel}:
                    return True
    return False


def _compares_sizes(test: ast.expr) -> bool:
    return any(
        isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        for node in ast.walk(test)
        if isinstance(node, ast.Compare)
        for op in node.ops
    )


def _launched(block: list[ast.stmt]) -> set[str]:
    """Names called as ``name[grid](...)``, whether or not this file defines the kernel."""
    return {
        ast.unparse(node.func.value)
        for statement in block
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)
    }


def fits_block_to_loop(module: Module, kernel: Kernel, loop: Loop) -> bool:
    """Whether the host computes the block from the extent that a loop goes over in blocks.

    Such a loop turns once, or a few times for the longest rows.
    """
    if loop.bounds is None:
        return False
    names = {str(v.detail) for bound in loop.bounds[1:] for v in walk(bound) if v.op == "param"}
    blocks = names & set(kernel.constexprs)
    if blocks & set(kernel.heuristics):
        return True
    return any(
        _computes_from(module, launch, name, names - {name})
        for launch in module.launches_of(kernel.name)
        for name in blocks
    )


def _computes_from(module: Module, launch: Launch, block: str, extents: set[str]) -> bool:
    given = [launch.arguments[name] for name in extents if name in launch.arguments]
    texts = {
        ast.unparse(form)
        for node in given
        for form in (node, resolve(module, launch, node))
        if not isinstance(form, ast.Constant)
    }
    return block in launch.arguments and any(
        isinstance(part, ast.expr) and ast.unparse(part) in texts
        for part in ast.walk(_computed(module, launch, launch.arguments[block]))
    )


def _computed(module: Module, launch: Launch, node: ast.expr) -> ast.expr:
    """What an argument was computed by; for one of several names, the whole right-hand side."""
    node = resolve(module, launch, node)
    found = last_assigned(module, launch, node.id) if isinstance(node, ast.Name) else None
    return node if found is None else found.value


def is_capped_vocabulary(
    module: Module, kernel: Kernel, flow: Flow, loop: Loop, base: str | None
) -> bool:
    """Whether a loop goes over classes, in blocks that the host caps at a longest length.

    Their number is known by a name, or by a label, loaded before, that picks one of the row.
    """
    if not any(True for _ in _capping(module, kernel, loop)):
        return False
    return is_over_classes(module, kernel, loop, base) or _is_picked_from(flow, base)


def takes_longer_rows(module: Module, kernel: Kernel, loop: Loop) -> bool:
    """Whether the host caps the block, and refuses no row that is longer than it."""
    return any(
        not _is_compared(host_of(module, launch), launch.arguments[block])
        for launch, block in _capping(module, kernel, loop)
    )


def _is_compared(host: ast.FunctionDef | None, block: ast.expr) -> bool:
    """Whether a host function raises where a comparison with the block says so."""
    if host is None:
        return False
    named = ast.unparse(block)
    tests = [check.test for check in nodes_like(host, ast.Assert)]
    tests += [
        check.test
        for check in nodes_like(host, ast.If)
        if any(isinstance(statement, ast.Raise) for statement in check.body)
    ]
    return any(
        isinstance(part, ast.Compare)
        and named in {ast.unparse(side) for side in (part.left, *part.comparators)}
        for test in tests
        for part in ast.walk(test)
    )


def _capping(module: Module, kernel: Kernel, loop: Loop) -> Iterator[tuple[Launch, str]]:
    """The launches that cap the block of a loop at a longest length, with its parameter."""
    if loop.bounds is None or loop.bounds[2].op != "param":
        return
    block = str(loop.bounds[2].detail)
    for launch in module.launches_of(kernel.name):
        if block in launch.arguments:
            computed = _computed(module, launch, launch.arguments[block])
            if _is_capped(computed):
                yield launch, block


def is_over_classes(module: Module, kernel: Kernel, loop: Loop, base: str | None) -> bool:
    """Whether a loop goes over a vocabulary or the like, by the names of what it reads."""
    spelled = _spelled(module, kernel, _extents(loop) | {base or ""})
    return any(word in spelled for word in _CLASSES)


def is_over_a_head(module: Module, kernel: Kernel, loop: Loop) -> bool:
    """Whether a loop goes over one head of attention: so few elements that a cache has them."""
    spelled = _spelled(module, kernel, _extents(loop))
    return any(word in spelled for word in _HEADS)


def _extents(loop: Loop) -> set[str]:
    """The parameters that say how far a loop goes."""
    ends = walk(loop.bounds[1]) if loop.bounds is not None else ()
    return {str(v.detail) for v in ends if v.op == "param"}


def _spelled(module: Module, kernel: Kernel, names: set[str]) -> str:
    """Parameters and what launches give for them, as one text in small letters."""
    launches = module.launches_of(kernel.name)
    given = [x.arguments[n] for x in launches for n in names if n in x.arguments]
    return " ".join((*names, *map(ast.unparse, given))).lower()


def _is_capped(node: ast.expr) -> bool:
    """``min(MOST, next_power_of_2(n))``, or ``next_power_of_2(min(n, MOST))``."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name) and node.func.id == "min":
        return any("next_power_of_2" in ast.unparse(part) for part in node.args)
    is_rounded = ast.unparse(node.func).endswith("next_power_of_2")
    return is_rounded and any(ast.unparse(part).startswith("min(") for part in node.args)


def _is_picked_from(flow: Flow, base: str | None) -> bool:
    """Whether one element of the row is loaded by an index that is itself loaded."""
    return any(
        access.base == base
        and "arange" not in access.pointer.operations
        and any(part.op == "load" for part in walk(access.pointer))
        for access in flow.loads
    )
