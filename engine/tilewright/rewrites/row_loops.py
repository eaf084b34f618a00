"""Loops of a kernel that walk one row in blocks: what they are, and whether one block can do it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.flow import flow_of
from tilewright.rewrites.model import RefusedError
from tilewright.rewrites.padding import Padding, reduction_of
from tilewright.rewrites.pointers import Shapes
from tilewright.rewrites.scope import (
    argument,
    assignments,
    block_of,
    is_tl_call,
    names_in,
    parents,
    set_in,
    statements,
    targets_of,
    tl_name,
    value_in,
)
from tilewright.source.model import Kernel, Module


@dataclass(frozen=True)
class RowLoop:
    """A loop over a row of ``extent`` elements, ``block`` in each iteration."""

    node: ast.For
    index: str
    extent: str
    block: str


@dataclass(frozen=True)
class Masking:
    """A value whose padded lanes must be made neutral before it is reduced."""

    value: ast.expr
    mask: ast.expr
    reduction: str


@dataclass(frozen=True)
class RowPasses:
    """The passes over one row, and the values that need masking in a wider block."""

    loops: tuple[RowLoop, ...]
    maskings: tuple[Masking, ...]

    @property
    def extent(self) -> str:
        return self.loops[0].extent

    @property
    def block(self) -> str:
        return self.loops[0].block


def row_loops(module: Module, kernel: Kernel) -> list[RowLoop]:
    """The loops of a kernel that walk a row."""
    found: list[RowLoop] = []
    for loop in flow_of(module, kernel).loops.values():
        node, row = loop.node, loop.row
        if row is None or not isinstance(node, ast.For) or node.orelse:
            continue
        if isinstance(node.target, ast.Name) and row[1] in kernel.constexprs:
            found.append(RowLoop(node, node.target.id, *row))
    return found


def row_passes(module: Module, kernel: Kernel, first: ast.For) -> RowPasses:
    """All passes beside one loop, if each can be done by a single block that spans the row."""
    block = block_of(kernel.node, first)
    loops = [loop for loop in row_loops(module, kernel) if loop.node in block]
    if len(loops) < 2 or len({(loop.extent, loop.block) for loop in loops}) != 1:
        raise RefusedError("there are not two loops over the same row here")
    every = [n for n in ast.walk(kernel.node) if isinstance(n, ast.For | ast.While)]
    around = [n for n in parents(kernel.node, first) if isinstance(n, ast.For | ast.While)]
    if len(every) != len(loops) + len(around):
        raise RefusedError("the kernel has loops other than those over the row")
    check = _Check(module, kernel, loops)
    for reason in check.reasons():
        raise RefusedError(reason)
    return RowPasses(tuple(loops), tuple(check.maskings))


class _Check:
    """The preconditions of doing every pass with one block that spans the row."""

    def __init__(self, module: Module, kernel: Kernel, loops: list[RowLoop]) -> None:
        self._module = module
        self._kernel = kernel
        self._loops = loops
        self._extent, self._block = loops[0].extent, loops[0].block
        self._shapes = Shapes(module, kernel)
        self.maskings: list[Masking] = []
        self._inside = {id(s) for loop in loops for s in statements(loop.node)}

    def reasons(self) -> Iterator[str]:
        """Why not, one sentence each; nothing when all holds."""
        if {self._extent, self._block} & set_in(self._kernel.node):
            yield f"{self._extent} or {self._block} is changed in the kernel"
        if self._other_uses_of_block():
            yield f"{self._block} is used as a number, not only as the tile size"
        for loop in self._loops:
            yield from self._body_reasons(loop)
        yield from self._carried_reasons()

    def _other_uses_of_block(self) -> bool:
        allowed: set[int] = set()
        for node in ast.walk(self._kernel.node):
            if is_tl_call(self._module, node, "arange", "zeros", "full"):
                allowed.update(id(n) for n in ast.walk(node))
        for loop in self._loops:
            allowed.update(id(n) for n in ast.walk(loop.node.iter))
            for node in ast.walk(loop.node):
                step = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
                if step and names_in(node) == {loop.index, self._block}:
                    allowed.update(id(n) for n in ast.walk(node))
        body = self._kernel.node.body
        return any(
            isinstance(n, ast.Name) and n.id == self._block and id(n) not in allowed
            for statement in body
            for n in ast.walk(statement)
        )

    def _body_reasons(self, loop: RowLoop) -> Iterator[str]:
        self._padding = Padding(self._module, self._is_row_mask)
        ready: set[str] = {loop.index}
        mine = set_in(loop.node)
        others = {n for o in self._loops if o is not loop for n in set_in(o.node)} - mine
        for statement in loop.node.body:
            if not self._is_simple(statement):
                yield f"line {statement.lineno} is more than an assignment or a store"
                return
            yield from self._access_reasons(statement)
            yield from self._reduction_reasons(loop, statement)
            yield from self._vector_reasons(statement, others)
            if isinstance(statement, ast.Assign):
                for name in targets_of(statement):
                    value = value_in(statement, name)
                    if value is not None:
                        self._padding.see(name, value)
            ready.update(targets_of(statement))

    def _is_simple(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Expr):
            return is_tl_call(self._module, statement.value, "store")
        if isinstance(statement, ast.AugAssign):
            return isinstance(statement.target, ast.Name)
        return isinstance(statement, ast.Assign) and all(
            isinstance(t, ast.Name) for t in statement.targets
        )

    def _access_reasons(self, statement: ast.stmt) -> Iterator[str]:
        for node in ast.walk(statement):
            if not is_tl_call(self._module, node, "load", "store"):
                continue
            assert isinstance(node, ast.Call)
            pointer = argument(node, 0, "pointer")
            place = 1 if tl_name(self._module, node.func) == "load" else 2
            mask = argument(node, place, "mask")
            if self._shapes.shape_of(pointer) != () and (
                mask is None or not self._is_row_mask(mask)
            ):
                yield f"line {node.lineno} has no mask against {self._extent}"

    def _is_row_mask(self, mask: ast.expr) -> bool:
        if isinstance(mask, ast.Name):
            values = {
                ast.dump(v): v
                for s in assignments(self._kernel.node, mask.id)
                if (v := value_in(s, mask.id)) is not None
            }
            return len(values) == 1 and self._is_row_mask(next(iter(values.values())))
        if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd):
            return self._is_row_mask(mask.left) or self._is_row_mask(mask.right)
        match mask:
            case ast.Compare(left=left, ops=[ast.Lt()], comparators=[ast.Name(id=bound)]):
                shape = self._shapes.shape_of(left) or ()
                return bound == self._extent and self._block in shape
        return False

    def _reduction_reasons(self, loop: RowLoop, statement: ast.stmt) -> Iterator[str]:
        for node in ast.walk(statement):
            kind = reduction_of(self._module, node)
            if kind == "other":
                yield f"line {statement.lineno} reduces in a way that padding may change"
            elif kind is not None:
                assert isinstance(node, ast.Call)
                yield from self._neutral_reasons(loop, node.args[0], kind)

    def _vector_reasons(self, statement: ast.stmt, others: set[str]) -> Iterator[str]:
        for name in names_in(statement) & others:
            if self._shapes.names.get(name) != ():
                yield f"{name} is made in another pass, block by block"

    def _neutral_reasons(self, loop: RowLoop, value: ast.expr, kind: str) -> Iterator[str]:
        if self._padding.is_neutral(value, kind):
            return
        mask = self._row_mask_in(loop)
        if mask is None:
            yield f"line {value.lineno} reduces lanes beyond the row, and no mask is at hand"
        else:
            self.maskings.append(Masking(value, mask, kind))

    def _row_mask_in(self, loop: RowLoop) -> ast.expr | None:
        for node in ast.walk(loop.node):
            if is_tl_call(self._module, node, "load"):
                assert isinstance(node, ast.Call)
                mask = argument(node, 1, "mask")
                if mask is not None and self._is_row_mask(mask):
                    return mask
        return None

    def _carried_reasons(self) -> Iterator[str]:
        """Names that outlive an iteration: accumulators of a known kind, and nothing else."""
        for loop in self._loops:
            self._padding = Padding(self._module, self._is_row_mask)
            seen: set[str] = set()
            mine = set_in(loop.node)
            for statement in loop.node.body:
                reads = _reads(statement)
                for name in sorted((reads & mine) - seen):
                    yield from self._accumulator_reasons(loop, statement, name)
                if isinstance(statement, ast.Assign):
                    for name in targets_of(statement):
                        value = value_in(statement, name)
                        if value is not None:
                            self._padding.see(name, value)
                seen.update(targets_of(statement))
            yield from self._escape_reasons(loop, mine)

    def _accumulator_reasons(self, loop: RowLoop, statement: ast.stmt, name: str) -> Iterator[str]:
        if self._shapes.names.get(name) == ():
            return
        found = accumulation(self._module, statement)
        if found is None or found[0] != name:
            yield f"{name} is carried from block to block in a way that is not a plain reduction"
            return
        _, kind, value = found
        if kind == "sum" and not self._starts_at_zero(name):
            yield f"{name} does not start at zero, so its number of lanes matters"
        if self._shapes.shape_of(value) != ():
            yield from self._neutral_reasons(loop, value, kind)

    def _starts_at_zero(self, name: str) -> bool:
        starts = [
            value
            for s in assignments(self._kernel.node, name)
            if id(s) not in self._inside and (value := value_in(s, name)) is not None
        ]
        return bool(starts) and all(self._is_zero(v) for v in starts)

    def _is_zero(self, value: ast.expr) -> bool:
        if is_tl_call(self._module, value, "full"):
            assert isinstance(value, ast.Call)
            filled = argument(value, 1, "value")
            return isinstance(filled, ast.Constant) and filled.value == 0
        return is_tl_call(self._module, value, "zeros")

    def _escape_reasons(self, loop: RowLoop, mine: set[str]) -> Iterator[str]:
        """A tile that leaves its loop may only be reduced, in the way it was gathered."""
        kinds = {f[0]: f[1] for s in loop.node.body if (f := accumulation(self._module, s))}
        for statement in statements(self._kernel.node):
            if id(statement) in self._inside or isinstance(statement, ast.For):
                continue
            for name in sorted(_reads(statement) & mine):
                if self._shapes.names.get(name) == ():
                    continue
                if not self._only_reduced(statement, name, kinds.get(name)):
                    yield f"{name} is used after its loop other than by reducing it"

    def _only_reduced(self, statement: ast.stmt, name: str, kind: str | None) -> bool:
        reduced = [
            node.args[0]
            for node in ast.walk(statement)
            if isinstance(node, ast.Call) and reduction_of(self._module, node) == kind
        ]
        plain = [n for n in reduced if isinstance(n, ast.Name) and n.id == name]
        reads = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id == name]
        return kind is not None and len(plain) == len(reads)


def _reads(statement: ast.stmt) -> set[str]:
    found = {
        n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        found.add(statement.target.id)
    return found


def accumulation(module: Module, statement: ast.stmt) -> tuple[str, str, ast.expr] | None:
    """(name, "sum" | "max" | "min", value) of ``acc += v`` and ``acc = tl.maximum(acc, v)``."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
            return name, "sum", value
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.BinOp(left=a, op=ast.Add(), right=b)
        ):
            kind = "sum"
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[a, b]) as call):
            kind = {"maximum": "max", "minimum": "min"}.get(tl_name(module, call.func) or "", "")
        case _:
            return None
    for own, value in ((a, b), (b, a)):
        if isinstance(own, ast.Name) and own.id == name and name not in names_in(value):
            return (name, kind, value) if kind else None
    return None
