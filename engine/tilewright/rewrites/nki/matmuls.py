"""Rewrites of NKI kernels around the Tensor engine: where products are summed and transposed."""

import ast

from tilewright.analysis.detectors.nki.instructions.matmuls import is_product, sum_target
from tilewright.analysis.detectors.nki.kernels import (
    full_dims,
    only_use,
    producer,
    reads_of,
)
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.nki import Memory, Operation, Storage, View
from tilewright.analysis.nki.catalogue import ISA, NL
from tilewright.rewrites.calls import append_keywords, local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.nki.statements import (
    NOT_HERE,
    StatementSite,
    changed_between,
    check_deletable,
    move_before,
    site_of,
    writes_to,
)
from tilewright.rewrites.scope import keyword, statement_of
from tilewright.source.model import Module

_BANK_BYTES = 2048
_PARTITIONS = 128
_READ_PSUM = frozenset(
    {
        *(ISA + n for n in ("tensor_copy", "activation", "activation_reduce", "tensor_scalar")),
        *(ISA + n for n in ("tensor_tensor", "scalar_tensor_tensor", "tensor_reduce")),
        *(NL + n for n in ("copy", "store", "add", "subtract", "multiply", "divide", "maximum")),
        *(NL + n for n in ("exp", "gelu", "relu", "sigmoid", "silu", "tanh", "sqrt", "rsqrt")),
        *("assign", "forget"),
    }
)


@rewrite("nki_psum_accumulation_missed", "Add up in PSUM", Numerics.REASSOCIATING)
def nki_psum_sum(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """Accumulate products where the Tensor engine adds them."""
    site = site_of(module, issue)
    used = next((o for o in site.operations if sum_target(site.flow, o)), None)
    target = sum_target(site.flow, used) if used else None
    if used is None or target is None or not used.loops:
        raise RefusedError(NOT_HERE)
    if used.name == "assign":
        _check_fit(site, used, target.storage)
        return _augmented(site, used, target)
    return _destination(site, used, target)


def _check_fit(site: StatementSite, used: Operation, tile: Storage) -> None:
    """Refuse a sum that cannot lie in PSUM."""
    sides = site.flow.numbers(tile.shape)
    if sides is None or len(sides) != 2 or None in sides or tile.dtype != "float32":
        raise RefusedError("the sum is not a float32 tile of two dimensions that are known")
    if (sides[0] or 0) > _PARTITIONS or (sides[1] or 0) * 4 > _BANK_BYTES:
        raise RefusedError("the sum is larger than a bank of PSUM")
    for reader in reads_of(site.flow).get(tile, ()):
        if reader is used or used.loops[-1] in reader.loops:
            continue
        if reader.name not in _READ_PSUM or "engine" in reader.given:
            raise RefusedError(f"{reader.short} does not read PSUM, or an engine is named for it")
        psum = [v for v in reader.reads if v.memory is Memory.PSUM and v.storage is not tile]
        if psum:
            raise RefusedError(f"{reader.short} would read two tiles in PSUM")


def _augmented(site: StatementSite, used: Operation, target: View) -> str:
    """``total += nc_matmul(...)``: the tile moves to PSUM."""
    tile, statement, patch = target.storage, used.statement, Patch(site.module)
    created = tile.node
    if not isinstance(created, ast.Call) or site.module.names.resolve(created.func) != NL + "zeros":
        raise RefusedError(f"{tile.name} is not created by nl.zeros")
    if not isinstance(statement, ast.AugAssign):
        raise RefusedError("the product is not added by +=")
    if [w for w in writes_to(site.flow, tile) if w is not used]:
        raise RefusedError(f"{tile.name} is changed by another instruction")
    _inline_product(site, patch, used, statement)
    given = keyword(created, "buffer")
    psum = local_name(site.module, NL + "psum")
    if given is not None:
        patch.replace(given.value, psum)
    elif len(created.args) > 2:
        raise RefusedError("the buffer is not given by its name")
    else:
        append_keywords(patch, created, [f"buffer={psum}"])
    return patch.apply()


def _inline_product(
    site: StatementSite, patch: Patch, used: Operation, statement: ast.AugAssign
) -> None:
    """Put the call of the product where a name or a copy of it is added."""
    view = used.operands["value"]
    made, gone = producer(site.flow, view), list[Operation]()
    while made is not None and not made.name.endswith("matmul"):
        gone.append(made)
        made = producer(site.flow, made.operands["src"])
    if made is None or not isinstance(made.node, ast.Call):
        raise RefusedError("the product that is added is not followed to its call")
    if made.node is statement.value:
        return
    for one in (made, *gone):
        result = one.result
        if result is None or only_use(site.flow, result) is None:
            raise RefusedError("the product is used elsewhere as well")
    changed = changed_between(site.flow, made, used)
    if changed is not None:
        raise RefusedError(f"{changed} changes between the product and the sum")
    patch.replace(statement.value, patch.source(made.node))
    for place in {id(o.statement): o.statement for o in (made, *gone)}.values():
        if place is statement:
            continue
        check_deletable(patch, place)
        patch.delete_lines(place)


def _destination(site: StatementSite, used: Operation, target: View) -> str:
    """``tensor_tensor(dst=total, total, product)``: the product's own tile carries the sum."""
    loop, patch = used.loops[-1], Patch(site.module)
    product, start = _parts(site, used, target)
    made = producer(site.flow, product)
    allocated = product.storage.node
    place = statement_of(site.kernel.node, allocated) if allocated is not None else None
    if made is None or place is None or place not in loop.node.body:
        raise RefusedError("the tile of the product is not allocated in the body of the loop")
    move_before(patch, place, loop.node)
    check_deletable(patch, used.statement)
    patch.delete_lines(used.statement)
    if start is not None:
        patch.delete_lines(start.statement)
    dst, src = patch.source(used.given["dst"]), patch.source(made.given["dst"])
    end = patch.line_start((loop.node.end_lineno or 0) + 1)
    copy = local_name(site.module, ISA + "tensor_copy")
    text = f"{patch.indent(loop.node)}{copy}(dst={dst}, src={src}){patch.newline}"
    patch.splice(end, end, text)
    return patch.apply()


def _parts(site: StatementSite, used: Operation, target: View) -> tuple[View, Operation | None]:
    """The product that is added, and the memset before, of a sum that begins with zeros."""
    operands = [used.operands[n] for n in ("data1", "data2") if n in used.operands]
    product = next((v for v in operands if is_product(site.flow, v, used)), None)
    made = producer(site.flow, product) if product is not None else None
    if product is None or made is None or made.short != "nc_matmul" or "accumulate" in made.given:
        raise RefusedError("what is added is no product that lies in PSUM")
    if only_use(site.flow, product) is not used or product.shape != product.storage.shape:
        raise RefusedError("the product is used elsewhere as well")
    if product.shape != target.storage.shape:
        raise RefusedError("the product is a part of the sum")
    before = [w for w in writes_to(site.flow, target.storage) if w is not used]
    if target.storage.zeroed and not before:
        return product, None
    zero = before[0] if len(before) == 1 else None
    if zero is None or not _is_zero(zero) or used.loops[-1] in zero.loops:
        raise RefusedError("the sum does not begin with zeros that one memset writes")
    try:
        check_deletable(Patch(site.module), zero.statement)
    except RefusedError:
        raise RefusedError("the memset shares its line with another statement") from None
    return product, zero


def _is_zero(operation: Operation) -> bool:
    node = operation.given.get("value")
    return operation.short == "memset" and isinstance(node, ast.Constant) and node.value == 0


@rewrite("nki_matmul_needs_transpose", "Load the left operand transposed", Numerics.EXACT)
def nki_load_transposed(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """``nl.matmul(x, y)`` of a tile that is loaded for it: load it transposed."""
    site = site_of(module, issue)
    used = next(site.named(NL + "matmul"), None)
    view = used.operands.get("x") if used else None
    if used is None or view is None or "transpose_x" in used.given:
        raise RefusedError(NOT_HERE)
    made = producer(site.flow, view)
    if made is None or made.name != NL + "load" or not isinstance(made.node, ast.Call):
        raise RefusedError("the left operand is not loaded by one nl.load")
    if only_use(site.flow, view) is not used or view.shape != view.storage.shape:
        raise RefusedError("the tile is used elsewhere as well")
    sides = full_dims(site.flow, view)
    if sides is None or len(sides) != 2 or max(sides) > _PARTITIONS or made.mask is not None:
        raise RefusedError("the tile is masked, or not known to be 128 by 128 or less")
    patch = Patch(module)
    patch.replace(made.node.func, local_name(module, NL + "load_transpose2d"))
    assert isinstance(used.node, ast.Call)
    append_keywords(patch, used.node, ["transpose_x=True"])
    patch.fold(used.node)
    return patch.apply()
