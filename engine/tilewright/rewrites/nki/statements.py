"""Where a rewrite of an NKI kernel works: the instructions of a statement, and what links them."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.analysis.detectors.nki.kernels import producer, reads_of, same_mask, writes_of
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.nki import Affine, Flow, Operation, Storage, Symbol, View, nki_flow
from tilewright.analysis.nki.expressions import size_symbol
from tilewright.analysis.nki.model import Binding, Origin
from tilewright.analysis.nki.values import Literal
from tilewright.rewrites.edit import LINE_LENGTH, Patch
from tilewright.rewrites.model import RefusedError
from tilewright.rewrites.scope import at_issue, block_of, kernel_of, statement_of
from tilewright.source.model import Kernel, Language, Module

NOT_HERE = "the issue names no instruction of an NKI kernel of this file"


@dataclass(frozen=True)
class StatementSite:
    """A statement of an NKI kernel that an issue underlines, and the instructions in it."""

    module: Module
    kernel: Kernel
    flow: Flow
    statement: ast.stmt
    operations: tuple[Operation, ...]

    def named(self, *names: str) -> Iterator[Operation]:
        """The instructions of the statement with these dotted names."""
        return (operation for operation in self.operations if operation.name in names)


@dataclass(frozen=True)
class Link:
    """A tile that one instruction makes and another one, of the same iteration, alone reads."""

    made: Operation
    used: Operation
    tile: Storage


def site_of(module: Module, issue: Issue) -> StatementSite:
    """The statement of the kernel that an issue underlines; refused where there is none."""
    kernel = kernel_of(module, issue)
    if kernel is None or kernel.language is not Language.NKI:
        raise RefusedError(NOT_HERE)
    flow = nki_flow(module, kernel)
    places = {id(o.statement): o.statement for o in flow.operations}
    found = at_issue(module, issue, list(places.values()))
    if not found or not isinstance(found[0], ast.stmt):
        raise RefusedError(NOT_HERE)
    inside = tuple(o for o in flow.operations if o.statement is found[0])
    return StatementSite(module, kernel, flow, found[0], inside)


def is_true(operation: Operation, parameter: str) -> bool:
    """Whether a flag is given and is not False for sure."""
    if parameter not in operation.given:
        return False
    return operation.values.get(parameter, Literal(True)) != Literal(False)


def link_of(site: StatementSite, used: Operation, view: View | None) -> Link:
    """The instruction behind an operand, where nothing else reads what it makes.

    What it reads itself has to mean the same where the tile is used.
    """
    if view is None or view.broadcast:
        raise RefusedError("the operand is no tile that one instruction makes")
    tile, made = view.storage, producer(site.flow, view)
    if made is None or not isinstance(made.node, ast.Call):
        raise RefusedError(f"{tile.name} is not made by one instruction")
    readers = reads_of(site.flow).get(tile, ())
    operands = [v for v in used.operands.values() if v.storage is tile]
    if [r for r in readers if r is not used] or len(operands) != 1 or tile in site.flow.returned:
        raise RefusedError(f"{tile.name} is used elsewhere as well")
    if not _makes(site.flow, made, view):
        raise RefusedError(f"only a part of {tile.name} is used or made here")
    return _placed(site, Link(made, used, tile))


def _makes(flow: Flow, made: Operation, view: View) -> bool:
    """Whether an instruction makes all of what a view reads: the whole tile, or the same part."""
    tile = view.storage
    if made.result is not None and made.result.storage is tile:
        return view.shape == tile.shape
    for write in writes_of(flow).get(tile, ()):
        for written in write.writes:
            if written.storage is tile:
                whole = written.shape == tile.shape == view.shape
                return whole or same_operand(written, view)
    return False


def _placed(site: StatementSite, link: Link) -> Link:
    made, used, tile = link.made, link.used, link.tile
    if made.loops != used.loops or made.branches != used.branches:
        raise RefusedError(f"{tile.name} is made in another loop or branch")
    if not same_mask(made.mask, used.mask):
        raise RefusedError(f"{tile.name} is made under another mask")
    if not site.flow.complete:
        raise RefusedError("the kernel calls a function whose effects on tiles are not known")
    changed = changed_between(site.flow, made, used)
    if changed is not None:
        raise RefusedError(f"{changed} changes between the two instructions")
    return link


def changed_between(flow: Flow, first: Operation, last: Operation) -> str | None:
    """The name or tile that one instruction reads and that is another before a later one."""
    names = {n.id for n in ast.walk(first.node) if isinstance(n, ast.Name)}
    written = {v.storage for v in first.writes}
    own, end = first.statement, last.statement
    for binding in flow.bindings:
        if binding.name in names and own.lineno < line_of(binding) < end.lineno:
            return binding.name
    reads = {view.storage for view in first.reads} - written
    for operation in flow.operations:
        if first.order < operation.order < last.order:
            for view in operation.writes:
                if view.storage in reads and operation.source is not first:
                    return view.storage.name
    return None


def drop_producer(site: StatementSite, patch: Patch, link: Link) -> None:
    """Delete the statement that made a tile which nothing reads any more, and its allocation."""
    statement = link.made.statement
    if statement is link.used.statement:
        return
    check_deletable(patch, statement)
    patch.delete_lines(statement)
    drop_allocation(site, patch, link.tile, (statement, link.used.statement))


def check_deletable(patch: Patch, statement: ast.stmt) -> None:
    """Refuse a statement that cannot be deleted by lines."""
    simple = isinstance(statement, ast.Expr) or (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name | ast.Subscript)
    )
    if not simple:
        raise RefusedError("the earlier instruction is part of a larger statement")
    if not patch.owns_lines(statement):
        raise RefusedError("the earlier instruction shares its line with another statement")


def drop_allocation(
    site: StatementSite, patch: Patch, tile: Storage, gone: Collection[ast.stmt]
) -> None:
    """Delete the statement that allocates a tile, where only the statements ``gone`` name it."""
    if tile.origin is not Origin.CREATED or tile.node is None:
        return
    place = statement_of(site.kernel.node, tile.node)
    if not isinstance(place, ast.Assign) or not patch.owns_lines(place):
        return
    spans = [(s.lineno, s.end_lineno or s.lineno) for s in gone]
    reads = [r.node for r in site.flow.reads if r.binding.statement is place]
    inside = all(any(a <= node.lineno <= b for a, b in spans) for node in reads)
    if inside and place.value is tile.node and len(block_of(site.kernel.node, place)) > 1:
        patch.delete_lines(place)


def source(patch: Patch, operation: Operation, parameter: str) -> str:
    """The text of an argument."""
    return patch.source(operation.given[parameter])


def prefix(patch: Patch, operation: Operation) -> str:
    """The text before the name of the function that is called: ``nisa.``."""
    assert isinstance(operation.node, ast.Call)
    head, dot, _ = patch.source(operation.node.func).rpartition(".")
    return head + dot


def destination(patch: Patch, operation: Operation) -> list[str]:
    """The argument ``dst``, as the call gives it; none where results are returned."""
    node = operation.given.get("dst")
    if node is None or not isinstance(operation.node, ast.Call):
        return []
    text = patch.source(node)
    return [text if node in operation.node.args else f"dst={text}"]


def others(patch: Patch, operation: Operation, *parameters: str) -> list[str]:
    """The keyword arguments of a call but these and ``dst``, as they are written."""
    assert isinstance(operation.node, ast.Call)
    skipped = {*parameters, "dst"}
    return [
        f"{k.arg}={patch.source(k.value)}"
        for k in operation.node.keywords
        if k.arg is not None and k.arg not in skipped
    ]


def positional_only_known(operation: Operation) -> bool:
    """Whether every argument of a call is one that ``given`` names."""
    node = operation.node
    if not isinstance(node, ast.Call) or any(k.arg is None for k in node.keywords):
        return False
    named = set(operation.given.values())
    return all(argument in named for argument in node.args)


def put_call(
    patch: Patch,
    operation: Operation,
    function: str,
    arguments: Mapping[str, str],
    keywords: Sequence[str] = (),
) -> None:
    """Write another call where an instruction's call stands.

    ``arguments``, by parameter and in its order, are positional unless ``dst`` is given by name.
    """
    assert isinstance(operation.node, ast.Call)
    first = destination(patch, operation)
    named = any(text.startswith("dst=") for text in first)
    written = [f"{name}={text}" if named else text for name, text in arguments.items()]
    patch.replace(operation.node, f"{function}({', '.join([*first, *written, *keywords])})")
    patch.fold(operation.node)


def writes_to(flow: Flow, storage: Storage) -> tuple[Operation, ...]:
    """The operations that write a tile after it is created."""
    return writes_of(flow).get(storage, ())


def is_rounded(made: Operation, used: Operation) -> bool:
    """Whether a type is given for an intermediate that one instruction of two would not have."""
    if "dtype" not in made.given:
        return False
    kind = made.result.dtype if made.result is not None else None
    return kind != "float32" or "dtype" not in used.given


def same_operand(one: View, two: View) -> bool:
    """Whether two operands are the same part of one tensor for sure."""
    return (
        one.storage is two.storage
        and one.indices is not None
        and one.indices == two.indices
        and one.shape == two.shape
        and one.broadcast == two.broadcast
    )


def line_of(binding: Binding) -> int:
    """The line of what binds a name; 0 of a parameter."""
    return getattr(binding.statement, "lineno", 0)


def bindings_in(site: StatementSite, node: ast.stmt) -> list[Binding]:
    """What a loop or another statement binds names to, its own index included."""
    last = node.end_lineno or node.lineno
    return [b for b in site.flow.bindings if node.lineno <= line_of(b) <= last]


def move_before(patch: Patch, statement: ast.stmt, place: ast.stmt) -> None:
    """Move a statement's lines before another statement that stands further out."""
    lines = relaid(patch, statement, patch.indent(place))
    if lines is None or not patch.owns_lines(place):
        raise RefusedError("the statement shares its lines, or they are not indented as it is")
    start = patch.line_start(place.lineno)
    patch.splice(start, start, lines)
    patch.delete_lines(statement)


def relaid(patch: Patch, statement: ast.stmt, indent: str) -> str | None:
    """A statement's lines at another indent; None where they do not begin with their own."""
    own = patch.indent(statement)
    start = patch.line_start(statement.lineno)
    text = patch.text[start : patch.line_start((statement.end_lineno or statement.lineno) + 1)]
    lines = text.splitlines(keepends=True)
    if not patch.owns_lines(statement) or any(x.strip() and not x.startswith(own) for x in lines):
        return None
    return "".join(indent + x[len(own) :] if x.strip() else x for x in lines)


def stated_sizes(site: StatementSite, context: AnalysisContext) -> dict[Symbol, Affine]:
    """Sides of the kernel's arguments that the problem states, for ``Affine.substitute``."""
    entry = context.entry
    if entry is None or entry.function != site.kernel.name:
        return dict(site.flow.known)
    known = dict(site.flow.known)
    for parameter, argument in zip(site.kernel.parameters, entry.arguments, strict=False):
        for axis, extent in enumerate(argument.shape or ()):
            symbol = size_symbol(parameter.name, axis).symbol
            if symbol is not None:
                known[symbol] = Affine.from_value(extent)
    return known


def wrapped(patch: Patch, statement: ast.stmt, line: str) -> str:
    """``target = call(...)`` with the arguments on a line of their own where it is too long."""
    indent = patch.indent(statement)
    if len(indent) + len(line) <= LINE_LENGTH:
        return line
    head, _, arguments = line.partition("(")
    inner = f"{patch.newline}{indent}    {arguments.removesuffix(')')}{patch.newline}{indent}"
    return f"{head}({inner})"
