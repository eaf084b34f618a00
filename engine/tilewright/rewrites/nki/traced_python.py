"""Python that cannot be traced, in the form that NKI traces: masks, conditions, loops, names."""

import ast

from tilewright.analysis.nki import Flow, Kind, View
from tilewright.analysis.nki.catalogue import NL
from tilewright.analysis.nki.model import Binding, Loop, LoopKind
from tilewright.rewrites.calls import local_name
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.nki.sites import Site, at_site, in_parentheses, moved

_MOST_UNROLLED = 64
_LOGICAL = {ast.And: "logical_and", ast.Or: "logical_or"}


@rewrite("nki_mask_boolean_operator", "Join the comparisons with &", Numerics.EXACT)
@at_site
def join_masks(site: Site) -> None:
    """Join the comparisons of a mask with ``&``."""
    node = site.node(ast.BoolOp)
    if node is None or not isinstance(node.op, ast.And):
        chain = site.node(ast.Compare)
        if chain is None or len(chain.ops) != 2:
            raise RefusedError("a mask is a conjunction: 'or' and 'not' have no form in it")
        return _split_chain(site, chain)
    if any(isinstance(value, ast.BoolOp | ast.UnaryOp) for value in node.values):
        raise RefusedError("a mask is a conjunction: 'or' and 'not' have no form in it")
    texts = [in_parentheses(site.source(value), value) for value in node.values]
    start, end = site.patch.span(node)
    site.patch.splice(start, end, " & ".join(texts))


def _split_chain(site: Site, chain: ast.Compare) -> None:
    """``(a <= b) & (b < c)`` of ``a <= b < c``."""
    middle = chain.comparators[0]
    if not isinstance(middle, ast.Name):
        raise RefusedError("the middle of the chain is not a name, and would be computed twice")
    start, end = site.patch.span(chain)
    place = site.patch.span(middle)
    left = site.patch.text[start : place[1]]
    right = site.patch.text[place[0] : end]
    site.patch.splice(start, end, f"({left}) & ({right})")


@rewrite("nki_tile_truth_value", "Combine the tiles element by element", Numerics.EXACT)
@at_site
def logical_call(site: Site) -> None:
    """Combine tiles element by element."""
    node = site.node(ast.BoolOp)
    if node is None:
        negation = site.node(ast.UnaryOp)
        if negation is None or not isinstance(negation.op, ast.Not):
            raise moved()
        name = local_name(site.module, NL + "logical_not")
        site.patch.replace(negation, f"{name}({site.source(negation.operand)})")
        return
    if len(node.values) != 2:
        raise RefusedError("more than two tiles are combined")
    if not all(site.flow.fact(value).is_tile for value in node.values):
        raise RefusedError("one side is no tile, and may decide without the other")
    name = local_name(site.module, NL + _LOGICAL[type(node.op)])
    site.patch.replace(node, f"{name}({', '.join(map(site.source, node.values))})")


@rewrite("nki_loop_index_as_integer", "Unroll the loop with static_range", Numerics.EXACT)
@at_site
def unroll_loop(site: Site) -> None:
    """Unroll the loops whose index has to be an integer."""
    node = site.node(ast.expr)
    fact = site.flow.fact(node)
    if node is None or fact.kind is not Kind.LOOP or not fact.loops:
        raise moved()
    turns = 1
    for loop in sorted(fact.loops, key=lambda one: one.number):
        trip = site.flow.number(loop.trip)
        if trip is None or (turns := turns * trip) > _MOST_UNROLLED:
            raise RefusedError(
                f"the loop has more than {_MOST_UNROLLED} iterations, or unknown many"
            )
        if not _rename_range(site, loop, "static_range"):
            raise RefusedError("the loop is not written as a call of nl")


def _rename_range(site: Site, loop: Loop, name: str) -> bool:
    """Give a loop another range of ``nl``."""
    node = loop.node
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
        return False
    if loop.kind not in (LoopKind.AFFINE, LoopKind.SEQUENTIAL):
        return False
    site.patch.replace(node.iter.func, local_name(site.module, NL + name))
    return True


@rewrite("nki_shadowed_accumulator", "Write into the tile made before the loop", Numerics.EXACT)
@at_site
def assign_in_place(site: Site) -> None:
    """Write into the tile outside of the loop."""
    statement = site.node(ast.Assign)
    binding = next((b for b in site.flow.bindings if b.statement is statement), None)
    if statement is None or binding is None or binding.before is None:
        raise moved()
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        raise RefusedError("the statement has more than one target")
    if not _same_shape(site.flow, binding):
        raise RefusedError("the new tile is not shown to have the shape of the one outside")
    name = statement.targets[0].id
    added = _added(statement.value, name)
    if added is not None:
        site.patch.replace(statement, f"{name} += {site.source(added)}")
        return
    for region in binding.path:
        loop = region.loop if region not in binding.before.path else None
        if loop is not None and loop.kind is LoopKind.AFFINE:
            _rename_range(site, loop, "sequential_range")
    site.patch.replace(statement.targets[0], f"{name}[...]")


def _same_shape(flow: Flow, binding: Binding) -> bool:
    before = binding.before.fact.storage.node if binding.before is not None else None
    if binding.value is None or before is None:
        return False
    views = [flow.value(binding.value), flow.value(before)]
    shapes = [flow.numbers(v.shape) for v in views if isinstance(v, View) and not v.blocks]
    known = [shape for shape in shapes if shape is not None and None not in shape]
    return len(known) == 2 and known[0] == known[1]


def _added(value: ast.expr, name: str) -> ast.expr | None:
    """What is added to the name in ``name + value``."""
    match value:
        case ast.BinOp(left=ast.Name(id=left), op=ast.Add(), right=right) if left == name:
            return right
    return None
