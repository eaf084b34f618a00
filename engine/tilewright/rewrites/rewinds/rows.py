"""The rewind of kernels that hold a row: one loop over the row for each reduction."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.detectors.algorithmic.dispatch import is_for_long_rows
from tilewright.analysis.model import AnalysisContext
from tilewright.rewrites.calls import fresh_name, local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.rewinds.model import Rewind, Rewound
from tilewright.rewrites.scope import is_tl_call, names_in, statements
from tilewright.source.model import Kernel, Module

_BLOCK = 1024
_ELEMENTWISE = {
    *("load", "store", "where", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sqrt_rn"),
    *("maximum", "minimum", "abs", "sigmoid", "erf", "tanh", "fma", "cast", "sum", "max"),
    *("arange", "zeros", "full", "cdiv", "program_id", "pow", "clamp", "float"),
}
_METHODS = ("to", "cast")


@dataclass(frozen=True)
class _Row:
    """A kernel that holds a row: its columns, its block, the row's length, its statements."""

    columns: ast.Assign
    name: str
    block: str
    length: str
    after: tuple[ast.stmt, ...]


@dataclass(frozen=True)
class _Pass:
    """One loop over the row: what it computes, and the lines around it."""

    steps: tuple[ast.stmt, ...]
    before: str
    last: str
    behind: str


def _pass_again(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    patch = Patch(module)
    row = _row(module, kernel, patch)
    if row is None or is_for_long_rows(module, kernel) or not _is_plain(module, kernel, row):
        return
    pieces = _pieces(module, kernel, row, patch)
    passes = [piece for piece in pieces if isinstance(piece, _Pass)]
    repeated = _first_repeat(module, passes)
    if repeated is None or not _fix_block(module, kernel, row, patch):
        return
    lines, place = _written(kernel, row, pieces, patch, repeated)
    start = patch.line_start(row.columns.lineno)
    end = patch.line_start((row.after[-1].end_lineno or 0) + 1)
    line = patch.new_line(start) + place
    patch.splice(start, end, "".join(text + patch.newline for text in lines))
    yield Rewound(patch.apply(), line, context)


def _row(module: Module, kernel: Kernel, patch: Patch) -> _Row | None:
    body = kernel.node.body
    for position, statement in enumerate(body):
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(args=[ast.Constant(value=0), ast.Name(id=block)]) as call,
            ) if is_tl_call(module, call, "arange") and block in kernel.constexprs:
                after = tuple(body[position + 1 :])
                length = _length(after, name, patch)
                if after and length is not None and patch.owns_lines(statement):
                    return _Row(statement, name, block, length, after)
                return None
    return None


def _length(after: tuple[ast.stmt, ...], name: str, patch: Patch) -> str | None:
    """The text of n in ``cols < n``."""
    for statement in after:
        for node in ast.walk(statement):
            match node:
                case ast.Compare(left=ast.Name(id=left), ops=[ast.Lt()], comparators=[bound]):
                    if left == name and isinstance(bound, ast.Name):
                        return patch.source(bound)
    return None


def _is_plain(module: Module, kernel: Kernel, row: _Row) -> bool:
    """Whether all that follows is straight-line code of elementwise steps and full reductions."""
    if kernel.autotune is not None or row.block in kernel.heuristics:
        return False
    if _uses(kernel.node, row.block) != 1 + _shapes(module, row):
        return False
    for statement in row.after:
        inner = [statement, *statements(statement)]
        kinds = ast.Assign | ast.AugAssign | ast.Expr | ast.If
        if not all(isinstance(part, kinds) for part in inner):
            return False
        for node in ast.walk(statement):
            if isinstance(node, ast.Subscript) or (
                isinstance(node, ast.Call) and not _is_step(module, node)
            ):
                return False
    return True


def _uses(node: ast.AST, name: str) -> int:
    return sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


def _shapes(module: Module, row: _Row) -> int:
    """How often the block is the shape of a constant tile."""
    return sum(
        _uses(node.args[0], row.block)
        for statement in row.after
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and is_tl_call(module, node, "zeros", "full") and node.args
    )


def _is_step(module: Module, call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
        return True
    dotted = module.names.resolve(call.func) or ""
    is_known = dotted.startswith("triton.") or dotted in _ELEMENTWISE
    return is_known and dotted.rpartition(".")[2] in _ELEMENTWISE


def _pieces(module: Module, kernel: Kernel, row: _Row, patch: Patch) -> list[_Pass | ast.stmt]:
    """Reductions and stores as passes over the row, all that is scalar as it stands."""
    tiles = {row.name, row.block}
    steps: list[ast.stmt] = []
    stores: list[ast.stmt] = []
    pieces: list[_Pass | ast.stmt] = []
    taken = names_in(kernel.node)
    for statement in row.after:
        reduction = _reduction(module, statement)
        moves = bool(names_in(statement) & tiles)
        if moves and (_reduces(module, statement) if reduction is None else bool(stores)):
            return []
        if isinstance(statement, ast.AugAssign) and moves and not _sets(statement) <= tiles:
            return []
        if reduction is not None and moves:
            pieces.append(_sum_pass(module, row, patch, statement, reduction, steps, taken))
        elif moves and _writes(module, statement):
            stores.append(statement)
        elif moves:
            steps.append(statement)
            tiles |= _sets(statement)
        else:
            pieces.append(statement)
    if stores:
        needed = {name for store in stores for name in names_in(store)}
        pieces.append(_Pass((*_slice(steps, needed), *stores), "", "", ""))
    return pieces


def _writes(module: Module, statement: ast.stmt) -> bool:
    return any(is_tl_call(module, n, "store") for n in ast.walk(statement))


def _sets(statement: ast.stmt) -> set[str]:
    """Names that a statement or one inside it sets."""
    nodes = (n for n in ast.walk(statement) if isinstance(n, ast.Name))
    return {n.id for n in nodes if isinstance(n.ctx, ast.Store)}


def _reduction(module: Module, statement: ast.stmt) -> ast.Call | None:
    """The one reduction of ``r = tl.sum(x, axis=0) / n``."""
    calls = [
        n
        for n in ast.walk(statement)
        if isinstance(n, ast.Call) and is_tl_call(module, n, "sum", "max") and n.args
    ]
    return calls[0] if len(calls) == 1 and isinstance(statement, ast.Assign) else None


def _reduces(module: Module, statement: ast.stmt) -> bool:
    return any(is_tl_call(module, n, "sum", "max") for n in ast.walk(statement))


def _sum_pass(
    module: Module,
    row: _Row,
    patch: Patch,
    statement: ast.stmt,
    reduction: ast.Call,
    steps: list[ast.stmt],
    taken: set[str],
) -> _Pass:
    """An accumulator of one block, summed up over the row and reduced behind the loop."""
    operand = reduction.args[0]
    name = fresh_name(taken, "partial")
    taken.add(name)
    float32 = local_name(module, "triton.language.float32")
    full = local_name(module, "triton.language.full")
    source = patch.source(operand)
    if is_tl_call(module, reduction, "max"):
        before = f'{name} = {full}(({row.block},), float("-inf"), {float32})'
        last = f"{name} = {local_name(module, 'triton.language.maximum')}({name}, {source})"
    else:
        before = f"{name} = {full}(({row.block},), 0.0, {float32})"
        last = f"{name} += {source}"
    text = patch.source(statement)
    start = patch.span(operand)[0] - patch.span(statement)[0]
    behind = text[:start] + name + text[start + len(source) :]
    return _Pass(tuple(_slice(steps, names_in(operand))), before, last, behind)


def _slice(steps: list[ast.stmt], needed: set[str]) -> list[ast.stmt]:
    """The steps that names are computed by, in order."""
    kept: list[ast.stmt] = []
    wanted = set(needed)
    for step in reversed(steps):
        if _sets(step) & wanted:
            kept.insert(0, step)
            wanted |= names_in(step)
    return kept


def _first_repeat(module: Module, passes: list[_Pass]) -> tuple[int, ast.stmt] | None:
    """The first load that two passes do, and the number of the second."""
    for first in range(len(passes)):
        for later in range(first + 1, len(passes)):
            for step in passes[first].steps:
                loads = any(is_tl_call(module, n, "load") for n in ast.walk(step))
                if loads and step in passes[later].steps:
                    return later, step
    return None


def _fix_block(module: Module, kernel: Kernel, row: _Row, patch: Patch) -> bool:
    """Let every launch pass a block that does not follow the row."""
    for launch in module.launches_of(kernel.name):
        given = launch.arguments.get(row.block)
        if given is None:
            return False
        patch.replace(given, str(_BLOCK))
    return True


def _written(
    kernel: Kernel,
    row: _Row,
    pieces: list[_Pass | ast.stmt],
    patch: Patch,
    repeated: tuple[int, ast.stmt],
) -> tuple[list[str], int]:
    """The lines of the passes, and which of them loads again."""
    indent = patch.indent(row.columns)
    start = fresh_name(names_in(kernel.node), "start")
    columns = f"{row.name} = {start} + {patch.source(row.columns.value)}"
    lines: list[str] = []
    place, number = 0, 0
    for piece in pieces:
        if not isinstance(piece, _Pass):
            lines += _block(patch.source(piece), indent)
            continue
        lines += [indent + text for text in (piece.before,) if text]
        lines.append(f"{indent}for {start} in range(0, {row.length}, {row.block}):")
        lines.append(f"{indent}    {columns}")
        for step in piece.steps:
            if number == repeated[0] and step is repeated[1]:
                place = len(lines) + _load_line(step)
            lines += _block(patch.source(step), indent + "    ", "    ")
        lines += _block(piece.last, indent + "    ", "    ") if piece.last else []
        lines += _block(piece.behind, indent) if piece.behind else []
        number += 1
    return lines, place


def _load_line(step: ast.stmt) -> int:
    """How many lines below its first a statement's load begins."""
    lines = [
        n.lineno
        for n in ast.walk(step)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "load"
    ]
    return min(lines, default=step.lineno) - step.lineno


def _block(text: str, indent: str, more: str = "") -> list[str]:
    """A statement's lines: the first at an indentation, the others moved along."""
    first, *others = text.splitlines()
    return [indent + first, *(more + line for line in others)]


REWINDS = (
    Rewind(
        issue="multi_pass_row",
        name="rewind_single_pass_row",
        rewrite="single_pass_row",
        applies="Every kernel that holds a row in one block and computes it in straight-line, "
        "elementwise code around its reductions, not named or chosen for long rows: with one "
        "loop for each reduction, one for the stores, and a block of 1,024.",
        apply=_pass_again,
    ),
)
