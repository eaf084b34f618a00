"""Rewrites of NKI kernels that make one instruction of two or three."""

import ast

from tilewright.analysis.detectors.nki.instructions.elementwise import is_column
from tilewright.analysis.detectors.nki.instructions.fusions import function_of, is_added
from tilewright.analysis.detectors.nki.kernels import producer, same_mask
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.nki import LoopKind, Operation, Storage
from tilewright.analysis.nki.catalogue import ISA, NL
from tilewright.rewrites.calls import local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.nki.statements import (
    NOT_HERE,
    Link,
    StatementSite,
    drop_producer,
    is_rounded,
    is_true,
    link_of,
    move_before,
    others,
    positional_only_known,
    prefix,
    put_call,
    site_of,
    source,
    wrapped,
)
from tilewright.rewrites.scope import block_of, statement_of
from tilewright.source.model import Module

_ARITHMETIC = frozenset({"add", "subtract", "multiply", "maximum", "minimum", "divide", "power"})
_COMMUTATIVE = frozenset({"add", "multiply", "maximum", "minimum"})
_SCALAR = ("data", "op0", "operand0", "reverse0")


def _is_single(operation: Operation) -> bool:
    """A tensor_scalar with one arithmetic operation."""
    return (
        operation.name == ISA + "tensor_scalar"
        and "op1" not in operation.given
        and "operand1" not in operation.given
        and function_of(operation, "op0") in _ARITHMETIC
        and positional_only_known(operation)
    )


@rewrite(
    "nki_unfused_activation",
    "Pass the factor or the shift to the activation",
    Numerics.REASSOCIATING,
)
def nki_activation_operand(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """``op((data * s) + b)`` in one pass of the Scalar engine."""
    site = site_of(module, issue)
    used = next(site.named(ISA + "activation"), None)
    if used is None:
        raise RefusedError(NOT_HERE)
    link = link_of(site, used, used.operands.get("data"))
    made = link.made
    if not _is_single(made) or (is_true(made, "reverse0") and not _commutes(made)):
        raise RefusedError("the tile is not scaled or shifted by one tensor_scalar")
    if is_rounded(made, used):
        raise RefusedError("the intermediate is rounded to a type that is given")
    patch = Patch(module)
    folded = _folded(patch, made, used)
    kept = others(patch, used, "op", "data", "scale" if folded[0].startswith("scale") else "bias")
    arguments = {"op": source(patch, used, "op"), "data": source(patch, made, "data")}
    put_call(patch, used, patch.source(_function(used)), arguments, [*folded, *kept])
    drop_producer(site, patch, link)
    return patch.apply()


def _folded(patch: Patch, made: Operation, used: Operation) -> list[str]:
    """The keyword arguments that do what the tensor_scalar did."""
    op, operand = function_of(made, "op0"), source(patch, made, "operand0")
    column = "operand0" in made.operands
    if op == "multiply" and ("scale" not in used.given or _is_one(used, "scale")):
        kind = made.operands["operand0"].dtype if column else "float32"
        if kind not in (None, "float32"):
            raise RefusedError("a scale for each partition has to be float32")
        return [f"scale={operand}"]
    if op == "add" and column and not {"scale", "bias"} & used.given.keys():
        return [f"bias={operand}"]
    if op == "subtract" and column and not {"scale", "bias"} & used.given.keys():
        made_function = patch.source(_function(made))
        multiply = patch.source(made.given["op0"]).replace("subtract", "multiply")
        if "dst" in used.given:
            raise RefusedError("the negated column needs a tile of its own")
        return [f"bias={made_function}({operand}, {multiply}, -1.0)"]
    raise RefusedError(f"the activation has no free place for this {op}")


def _function(operation: Operation) -> ast.expr:
    assert isinstance(operation.node, ast.Call)
    return operation.node.func


def _commutes(operation: Operation) -> bool:
    return function_of(operation, "op0") in _COMMUTATIVE


def _is_one(operation: Operation, parameter: str) -> bool:
    node = operation.given.get(parameter)
    return isinstance(node, ast.Constant) and node.value == 1


@rewrite(
    "nki_unfused_tensor_scalar",
    "Apply both operations in one tensor_scalar",
    Numerics.REASSOCIATING,
)
def nki_two_op_scalar(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """Two tensor_scalar with one operation each become one with two."""
    site = site_of(module, issue)
    used = next((o for o in site.named(ISA + "tensor_scalar")), None)
    if used is None or not _is_single(used):
        raise RefusedError(NOT_HERE)
    link = link_of(site, used, used.operands.get("data"))
    made = link.made
    if not _is_single(made):
        raise RefusedError("the tile is not made by a tensor_scalar with one arithmetic operation")
    if is_rounded(made, used):
        raise RefusedError("the intermediate is rounded to a type that is given")
    patch = Patch(module)
    if _engine(patch, made) != _engine(patch, used):
        raise RefusedError("the two instructions name different engines")
    arguments = {name: source(patch, made, name) for name in _SCALAR[:3]}
    first = [f"reverse0={source(patch, made, 'reverse0')}"] if "reverse0" in made.given else []
    second = [f"op1={source(patch, used, 'op0')}", f"operand1={source(patch, used, 'operand0')}"]
    if "reverse0" in used.given:
        second.append(f"reverse1={source(patch, used, 'reverse0')}")
    keywords = [*first, *second, *others(patch, used, *_SCALAR)]
    put_call(patch, used, patch.source(_function(used)), arguments, keywords)
    drop_producer(site, patch, link)
    return patch.apply()


def _engine(patch: Patch, operation: Operation) -> str:
    return source(patch, operation, "engine") if "engine" in operation.given else ""


@rewrite("nki_broadcast_tensor_tensor", "Pass the column to tensor_scalar", Numerics.EXACT)
def nki_column_operand(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """tensor_tensor with a column that is spread: tensor_scalar takes the column as it is."""
    site = site_of(module, issue)
    used = next(site.named(ISA + "tensor_tensor"), None)
    if used is None or not positional_only_known(used):
        raise RefusedError(NOT_HERE)
    for name, tile in (("data2", "data1"), ("data1", "data2")):
        call = _spread(site, used, name)
        if call is None:
            continue
        op = function_of(used, "op")
        if op not in _ARITHMETIC:
            raise RefusedError("the operation is no arithmetic one that tensor_scalar has")
        patch = Patch(module)
        arguments = {"data": source(patch, used, tile), "op0": source(patch, used, "op")}
        arguments["operand0"] = _column(site, patch, call)
        turned = ["reverse0=True"] if name == "data1" and op not in _COMMUTATIVE else []
        kept = others(patch, used, "data1", "data2", "op")
        put_call(patch, used, prefix(patch, used) + "tensor_scalar", arguments, [*turned, *kept])
        return patch.apply()
    raise RefusedError("neither operand is a column that this statement spreads")


def _spread(site: StatementSite, used: Operation, name: str) -> ast.Call | None:
    """The ``broadcast_to`` that gives an operand, where it spreads a column, in this statement."""
    view, node = used.operands.get(name), used.given.get(name)
    if view is None or not view.broadcast or not isinstance(node, ast.Call):
        return None
    return node if is_column(site.flow, view) else None


def _column(site: StatementSite, patch: Patch, call: ast.Call) -> str:
    """The text of what ``x.broadcast_to(shape)`` or ``nl.broadcast_to(x, shape)`` spreads."""
    is_function = site.module.names.resolve(call.func) == NL + "broadcast_to"
    if not is_function and isinstance(call.func, ast.Attribute):
        return patch.source(call.func.value)
    keyword = next((k.value for k in call.keywords if k.arg in ("x", "src")), None)
    return patch.source(call.args[0] if keyword is None else keyword)


@rewrite("nki_unfused_reduction", "Add up in the activation", Numerics.REASSOCIATING)
def nki_activation_sum(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """The Scalar engine adds up what it writes: activation and tensor_reduce become one."""
    site = site_of(module, issue)
    used = next(site.named(ISA + "tensor_reduce", NL + "sum"), None)
    if used is None:
        raise RefusedError(NOT_HERE)
    data = used.operands.get("data", used.operands.get("x"))
    made = _activation(site, used)
    sides = site.flow.numbers(data.shape) if data is not None else None
    if sides is None or sides[0] is None:
        raise RefusedError("the number of partitions is not known")
    return _summed(site, made, used, sides[0])


def _activation(site: StatementSite, used: Operation) -> Operation:
    """The activation that makes what is added up, in the same iteration and under the same mask."""
    data = used.operands.get("data", used.operands.get("x"))
    made = producer(site.flow, data) if data is not None else None
    if made is None or made.name != ISA + "activation" or not positional_only_known(made):
        raise RefusedError("what is added up is not the result of one activation")
    if made.loops != used.loops or made.branches != used.branches:
        raise RefusedError("the activation stands in another loop or branch")
    if not same_mask(made.mask, used.mask):
        raise RefusedError("the activation has another mask")
    if "negate" in used.given or "reduce_op" in made.given or "reduce_res" in made.given:
        raise RefusedError("the sum is negated, or the activation reduces already")
    return made


def _summed(site: StatementSite, made: Operation, used: Operation, partitions: int) -> str:
    patch = Patch(site.module)
    statement = used.statement
    if not patch.owns_lines(statement) or not patch.owns_lines(made.statement):
        raise RefusedError("an instruction shares its line with another statement")
    total = _sum_tile(site, patch, made, used, partitions)
    arguments = {"op": source(patch, made, "op"), "data": source(patch, made, "data")}
    keywords = [f"reduce_op={local_name(site.module, NL + 'add')}", f"reduce_res={total}"]
    keywords += others(patch, made, "op", "data")
    put_call(patch, made, prefix(patch, made) + "activation_reduce", arguments, keywords)
    patch.delete_lines(statement)
    return patch.apply()


def _sum_tile(
    site: StatementSite, patch: Patch, made: Operation, used: Operation, partitions: int
) -> str:
    """The name of the tile for the sums, which exists before the activation."""
    statement = used.statement
    if "dst" in used.given:
        tile = used.operands["dst"].storage
        if tile.order > made.order:
            _allocate_before(site, patch, tile, made)
        return source(patch, used, "dst")
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name) or getattr(statement, "value", None) is not used.node:
        raise RefusedError("the sum is part of a larger expression")
    first, last = made.statement.lineno, statement.lineno
    if any(r.node.id == target.id and first <= r.node.lineno <= last for r in site.flow.reads):
        raise RefusedError(f"{target.id} is something else before the sum")
    array = local_name(site.module, NL + "ndarray")
    kind = local_name(site.module, NL + "float32")
    new = f"{target.id} = {array}(({partitions}, 1), dtype={kind}){patch.newline}"
    place = patch.line_start(first)
    patch.splice(place, place, patch.indent(made.statement) + new)
    return target.id


def _allocate_before(site: StatementSite, patch: Patch, tile: Storage, made: Operation) -> None:
    """Move the statement that allocates a tile before an instruction of the same block."""
    place = statement_of(site.kernel.node, tile.node) if tile.node is not None else None
    block = block_of(site.kernel.node, made.statement)
    if not isinstance(place, ast.Assign) or place not in block:
        raise RefusedError(f"{tile.name} is allocated after the activation, in another block")
    move_before(patch, place, made.statement)


@rewrite(
    "nki_unfused_tensor_tensor",
    "Apply both operations in one scalar_tensor_tensor",
    Numerics.REASSOCIATING,
)
def nki_scalar_tensor_tensor(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """A tensor_scalar that feeds a tensor_tensor: scalar_tensor_tensor does both in one pass."""
    site = site_of(module, issue)
    added = next((o for o in site.operations if is_added(o)), None)
    if added is not None:
        return _added(site, added)
    used = next(site.named(ISA + "tensor_tensor"), None)
    if used is None or not positional_only_known(used):
        raise RefusedError(NOT_HERE)
    refusal = RefusedError("neither operand is made by one tensor_scalar")
    for name, other in (("data1", "data2"), ("data2", "data1")):
        try:
            link = link_of(site, used, used.operands.get(name))
        except RefusedError as refused:
            refusal = refused
            continue
        if _is_single(link.made):
            return _joined(site, link, name, other)
    raise refusal


def _added(site: StatementSite, used: Operation) -> str:
    """``total += data op0 operand0`` becomes an assignment of scalar_tensor_tensor."""
    statement, patch = used.statement, Patch(site.module)
    link = link_of(site, used, used.operands.get("value"))
    created = used.operands["dst"].storage.loops
    if any(loop.kind is LoopKind.AFFINE and loop not in created for loop in used.loops):
        raise RefusedError("an affine_range carries the sum, which only += may")
    made = link.made
    plain = isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add)
    if not _is_single(made) or "dtype" in made.given or not isinstance(statement, ast.AugAssign):
        raise RefusedError("what is added is not made by one tensor_scalar")
    if not plain:
        raise RefusedError("the tile is not added")
    target = patch.source(statement.target)
    whole = isinstance(statement.target, ast.Name)
    arguments = [f"{n}={source(patch, made, n)}" for n in _SCALAR if n in made.given]
    arguments += [f"op1={local_name(site.module, NL + 'add')}", f"operand1={target}"]
    call = f"{prefix(patch, made)}scalar_tensor_tensor({', '.join(arguments)})"
    line = f"{target}[...] = {call}" if whole else f"{target} = {call}"
    patch.replace(statement, wrapped(patch, statement, line))
    drop_producer(site, patch, link)
    return patch.apply()


def _joined(site: StatementSite, link: Link, name: str, other: str) -> str:
    made, used, patch = link.made, link.used, Patch(site.module)
    if "dtype" in made.given or "engine" in made.given or "engine" in used.given:
        raise RefusedError("an engine or the type of the intermediate is given")
    if function_of(used, "op") not in _ARITHMETIC:
        raise RefusedError("the second operation is no arithmetic one")
    arguments = [f"{n}={source(patch, made, n)}" for n in _SCALAR if n in made.given]
    arguments += [f"op1={source(patch, used, 'op')}", f"operand1={source(patch, used, other)}"]
    if name == "data2" and function_of(used, "op") not in _COMMUTATIVE:
        arguments.append("reverse1=True")
    arguments += others(patch, used, "data1", "data2", "op")
    put_call(patch, used, prefix(patch, used) + "scalar_tensor_tensor", {}, arguments)
    drop_producer(site, patch, link)
    return patch.apply()
