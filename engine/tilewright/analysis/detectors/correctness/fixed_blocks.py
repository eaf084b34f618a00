"""Detector of rows that are longer than the one block a kernel takes of them."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import constants_at, nodes_of, triton_kernels
from tilewright.analysis.detectors.correctness.masks import terms, unexpanded
from tilewright.analysis.detectors.correctness.unmasked import is_open_extent
from tilewright.analysis.detectors.registry import Reports, kernel_detector
from tilewright.analysis.model import Related
from tilewright.analysis.per_kernel import per_module
from tilewright.analysis.values import Flow, Value, walk
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.host import host_of, resolve
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.node_memo import per_node


@kernel_detector("columns_left_out", triton_kernels)
def columns_left_out(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """A row in one block of a fixed size, with nothing that keeps rows that short."""
    launches = module.launches_of(kernel.name)
    blocks = _single_blocks(flow) if launches and kernel.autotune is None else {}
    for block, bound in blocks.items():
        for launch in launches:
            found = _too_long(module, launch, block, bound)
            if found is not None:
                node, size = found
                extent = ast.unparse(launch.arguments[bound])
                text = (
                    f"{kernel.name} takes {block}={size} columns of each row and no more, and "
                    f"nothing here keeps {extent} below: columns from {size} on are left out."
                )
                yield node, text, (Related("the kernel", kernel.name_range),)


def _single_blocks(flow: Flow) -> dict[str, str]:
    """Block to extent, both parameters, of ``arange(0, block) < extent`` with no other blocks.

    Nothing else in the kernel may count up to the extent, or move on by the block.
    """
    found: dict[str, str] = {}
    compared = {v for v in flow.values.values() if v.op == "compare" and v.detail == "Lt"}
    masks = [a.mask for a in flow.accesses if a.mask is not None]
    used = {unexpanded(term) for mask in masks for term in terms(mask)}
    for value in compared:
        index, bound = (unexpanded(v) for v in value.operands)
        if index.op != "arange" or not index.operands[0].is_const(0) or bound.op != "param":
            continue
        block = index.operands[1]
        is_free = block.op == "param" and block is not bound and value in used
        if is_free and not _is_used_elsewhere(flow, block, bound, index):
            found[str(block.detail)] = str(bound.detail)
    return found


def _is_used_elsewhere(flow: Flow, block: Value, bound: Value, index: Value) -> bool:
    """Whether the kernel walks the extent, or the block, in another way."""
    for loop in flow.loops.values():
        ends = loop.bounds
        if ends is None or any(block in walk(v) or bound in walk(v) for v in ends):
            return True
    for value in set(flow.values.values()):
        if value.is_binary("Mult") and block in value.operands and _has_program(value):
            return True
        if value.is_binary("Add", "Sub") and index in map(unexpanded, value.operands):
            other = [v for v in map(unexpanded, value.operands) if v is not index]
            if any(v.op not in ("param", "binary") or block in walk(v) for v in other):
                return True
            if any(v.op == "program_id" for o in other for v in walk(o)) and _is_moved(other):
                return True
    return False


def _has_program(value: Value) -> bool:
    return "program_id" in value.operations


def _is_moved(others: list[Value]) -> bool:
    """Whether a sum adds a program's own block to the columns, rather than a row's start."""
    return any(v.op in ("program_id", "loop_index") for v in others)


def _too_long(
    module: Module, launch: Launch, block: str, bound: str
) -> tuple[ast.expr, int] | None:
    """The block's argument and number, where the extent is free and the host compares nothing."""
    given, extent = launch.arguments.get(block), launch.arguments.get(bound)
    host = host_of(module, launch)
    if given is None or extent is None or host is None or launch.is_warmup:
        return None
    size = _fixed_size(module, launch, given)
    if size is None or not is_open_extent(module, launch, extent):
        return None
    names = _names_in(extent) | _names_in(given)
    is_asked = bool(names & _tested(host)) or _is_asked_around(module, host)
    return None if is_asked else (given, size)


@per_module
def _is_asked_around(module: Module, host: ast.FunctionDef) -> bool:
    """Whether a function that leads to this one, or that this one calls, compares anything."""
    return any(map(_compares_sizes, _connected(module, host)))


def _connected(module: Module, host: ast.FunctionDef) -> Iterator[ast.AST]:
    """What may have asked before: the file's functions that name the host's, and those it names."""
    kernels = {id(kernel.node) for kernel in module.kernels}
    named = _mentioned_in(host)
    for top in module.tree.body:
        if isinstance(top, ast.ClassDef) and host in ast.walk(top):
            yield top
        for node in ast.walk(top):
            if not isinstance(node, ast.FunctionDef) or node is host or id(node) in kernels:
                continue
            if node.name in named or host.name in _mentioned_in(node):
                yield node


def _compares_sizes(root: ast.AST) -> bool:
    """Whether anything is compared with more than 1: what is above or below 0 or 1 has no limit."""
    return any(
        isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        for node in ast.walk(root)
        if isinstance(node, ast.Compare) and not any(map(_is_at_most_one, node.comparators))
        for operator in node.ops
    )


def _is_at_most_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value <= 1


def _mentioned_in(root: ast.AST) -> set[str]:
    """Names in a function, and the last parts of dotted ones."""
    attributes = {n.attr for n in ast.walk(root) if isinstance(n, ast.Attribute)}
    return attributes | {n.id for n in ast.walk(root) if isinstance(n, ast.Name)}


def _fixed_size(module: Module, launch: Launch, node: ast.expr) -> int | None:
    """A block's size where the source states it, also as the lesser of it and what would do."""
    value = resolve(module, launch, node)
    if isinstance(value, ast.Call) and module.names.is_call(value, "min") and len(value.args) == 2:
        sizes = [_number(module, launch, part) for part in value.args]
        known = [size for size in sizes if size is not None]
        return known[0] if len(known) == 1 else None
    return _number(module, launch, value)


def _number(module: Module, launch: Launch, node: ast.expr) -> int | None:
    try:
        value = Evaluator(constants_at(module, launch), {}, module.names).value(node)
    except Undecidable:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 1 else None


@per_node
def _tested(host: ast.FunctionDef) -> frozenset[str]:
    """The names in all that a function tests."""
    return frozenset().union(*map(_names_in, _tests(host)))


def _tests(host: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in nodes_of(host):
        if isinstance(node, ast.Assert | ast.If | ast.IfExp | ast.While):
            yield node.test
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if any(word in name.lower() for word in ("check", "assert", "expect")):
                yield from node.args


def _names_in(node: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
