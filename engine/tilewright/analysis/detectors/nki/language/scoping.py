"""Tiles that end with the block they are made in, and what follows for accumulators."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import source_of
from tilewright.analysis.detectors.nki.kernels import (
    DESCRIBING,
    Reports,
    nki_detector,
    older,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nki import Binding, Fact, Flow, Kind, Region
from tilewright.source.model import Module

_CONVERSIONS = ("nki.language.copy", "nki.language.static_cast", "nki.isa.tensor_copy")


def _closed(fact: Fact, path: tuple[Region, ...]) -> Region | None:
    """The block a tile was made in, if it has ended at ``path``."""
    return next((r for r in fact.storage.path if r.closes and r not in path), None)


def _rebinds(flow: Flow, binding: Binding) -> Region | None:
    """The loop in which a name is given a new tile computed from the outer one it stood for."""
    before = binding.before
    if before is None or binding.value is None or not isinstance(binding.statement, ast.Assign):
        return None
    if not (binding.fact.kind is Kind.TILE and before.fact.is_tile):
        return None
    if any(call.node is binding.value for call in flow.calls_of(*_CONVERSIONS)):
        return None  # The outer tile in another type, the same in each turn.
    loop = next((r for r in binding.path if r.loop and r.closes and r not in before.path), None)
    if loop is None or loop in before.fact.storage.path:
        return None
    described = {
        id(node.value)
        for node in ast.walk(binding.value)
        if isinstance(node, ast.Attribute) and node.attr in DESCRIBING
    }
    reads = any(
        isinstance(node, ast.Name) and flow.bound.get(node) is before
        for node in ast.walk(binding.value)
        if id(node) not in described
    )
    return loop if reads else None


@detector("nki_tile_out_of_scope")
def tile_out_of_scope(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    for kernel, flow in older(module):
        seen: set[tuple[str, Region]] = set()
        for read in flow.reads:
            fact = read.binding.fact
            if not fact.is_tile or fact.node is None:
                continue
            region = _closed(fact, read.path)
            if region is None or (read.node.id, region) in seen:
                continue
            if _rebinds(flow, read.binding) is not None:
                continue
            seen.add((read.node.id, region))
            where = module.index.range_of(fact.storage.node or read.node)
            block = "loop" if region.loop else "branch"
            text = (
                f"{read.node.id} is a tile made inside the {block} at line {region.node.lineno}, "
                f"and its memory is given up where that block ends: make it before the block and "
                f"write into it there."
            )
            yield Finding(
                module.index.range_of(read.node),
                text,
                kernel.name,
                (Related(f"{read.node.id} is made here", where),),
            )


@nki_detector("nki_shadowed_accumulator", older)
def shadowed_accumulator(module: Module, flow: Flow) -> Reports:
    for binding in flow.bindings:
        loop = _rebinds(flow, binding)
        if loop is not None:
            text = (
                f"{binding.name} becomes a new tile that ends with this iteration of the loop at "
                f"line {loop.node.lineno}; the one outside keeps its value. To update it, "
                f"assign to {binding.name}[...]."
            )
            yield binding.statement, text


@nki_detector("nki_assign_to_value", older)
def assign_to_value(module: Module, flow: Flow) -> Reports:
    for write in flow.writes:
        if write.base.kind in (Kind.INDEX, Kind.MASK, Kind.LOOP):
            text = (
                f"{source_of(module, write.target.value)} is an index, which describes "
                f"positions and has no storage: nisa.iota turns it into a tile."
            )
            yield write.statement, text


@nki_detector("nki_loop_reduce_misuse", older)
def loop_reduce_misuse(module: Module, flow: Flow) -> Reports:
    assigned = {id(write.statement.value) for write in flow.writes}
    for call in flow.calls_of("nki.language.loop_reduce"):
        node = call.node
        loops = {r.index for r in call.path if r.index is not None}
        for index in _reduced(node):
            known = flow.fact(index).kind in (Kind.LOOP, Kind.NUMBER)
            if known and index.id not in loops:
                text = (
                    f"{index.id} is not the index of a loop around this reduction, so that "
                    f"there is nothing to reduce over."
                )
                yield index, text
        if isinstance(call.statement, ast.Expr) and call.statement.value is node:
            text = (
                "The reduction is carried by what it is assigned to, and here it is assigned "
                "to nothing."
            )
            yield node, text
        elif id(node) not in assigned and not isinstance(call.statement, ast.Assign):
            text = "loop_reduce is used inside an expression, before all iterations have been run."
            yield node, text


def _reduced(node: ast.Call) -> list[ast.Name]:
    """The loop indices a reduction names."""
    given = next((k.value for k in node.keywords if k.arg == "loop_indices"), None)
    if given is None and len(node.args) > 2:
        given = node.args[2]
    parts = given.elts if isinstance(given, ast.Tuple | ast.List) else [given]
    return [part for part in parts if isinstance(part, ast.Name)]
