"""Accesses whose lanes step over whole rows, as the kernel's text and its launches show."""

import ast
from collections.abc import Iterator

from tilewright.analysis.model import Finding
from tilewright.analysis.tiles.infer import tiles_of
from tilewright.analysis.tiles.model import TileFacts
from tilewright.analysis.tiles.polynomial import Polynomial
from tilewright.analysis.values import Access, Flow
from tilewright.knowledge.model import HINT
from tilewright.source.host import last_assigned, resolve
from tilewright.source.model import Kernel, Launch, Module


def column_walks(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """Tiles whose neighbours lie an extent apart, while neighbouring programs are adjacent."""
    tiles = tiles_of(module, kernel)
    launches = module.launches_of(kernel.name)
    if not launches:
        return
    for access in flow.accesses:
        facts = tiles.facts_of(access.pointer)
        steps = _steps(kernel, facts)
        if not steps or not _programs_are_adjacent(facts):
            continue
        if all(_is_extent(module, launch, name) for launch in launches for name in steps):
            yield _finding(module, kernel, access, steps)


def _finding(module: Module, kernel: Kernel, access: Access, steps: list[str]) -> Finding:
    return Finding(
        module.index.range_of(access.node),
        f"Neighbouring elements of this tile of {access.base or 'memory'} are {' * '.join(steps)} "
        "elements apart, and it is the next program that reads the next address: each lane moves "
        "a memory sector for one element. A block of neighbouring columns in one program reads "
        "whole sectors.",
        kernel.name,
        # How many elements there are is not known: a few stay in a cache.
        severity=HINT,
    )


def _steps(kernel: Kernel, facts: TileFacts) -> list[str]:
    """The run-time parameters by which neighbours differ along each axis; [] where one is near."""
    if not facts.shape or facts.strides is None:
        return []
    found: list[str] = []
    for side, stride in zip(facts.shape, facts.strides, strict=False):
        if side == 1:
            continue
        names = _parameters(kernel, stride)
        if not names:
            return []
        found += [name for name in names if name not in found]
    return found


def _parameters(kernel: Kernel, stride: Polynomial | None) -> list[str]:
    if stride is None or stride.number is not None or len(stride.monomials) != 1:
        return []
    values = stride.values
    if any(v.op != "param" or v.detail in kernel.constexprs for v in values):
        return []
    return sorted(str(v.detail) for v in values)


def _programs_are_adjacent(facts: TileFacts) -> bool:
    """Whether one step of a program id is one element."""
    return facts.affine is not None and any(
        term.index.op == "program_id" and term.coefficient.number == 1
        for term in facts.affine.terms
    )


def _is_extent(module: Module, launch: Launch, parameter: str) -> bool:
    """Whether a launch passes an extent of a tensor: ``x.shape[2]``, or a name unpacked from it."""
    node = launch.arguments.get(parameter)
    if node is None:
        return False
    if isinstance(node, ast.Name):
        assigned = last_assigned(module, launch, node.id)
        if assigned is not None and assigned.value is not None:
            return _asks_extent(assigned.value)
    return _asks_extent(resolve(module, launch, node))


def _asks_extent(node: ast.expr) -> bool:
    """``x.shape``, ``x.shape[2]``, ``x.size(2)``."""
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "size"
    return isinstance(node, ast.Attribute) and node.attr == "shape"
