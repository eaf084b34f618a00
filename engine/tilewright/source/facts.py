"""What one piece of a file holds, whatever the rest of the file says. Kept with the piece."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.source.environment import Touch, touches
from tilewright.source.late import ClassShape
from tilewright.source.tree import Piece

_PLAIN = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_LAUNCHING = frozenset(("run", "warmup"))
_BINDS = re.compile(r":=|(?<=\S)\s+for\b|\blambda\s+(?!meta\b)", re.IGNORECASE)
_LAUNCH = re.compile(r"\](?:\s|\\)*\(|\.\s*(?:run|warmup)\s*\(")


@dataclass(frozen=True, eq=False)
class Function:
    """A function at any depth. ``name`` is qualified by the functions and classes around it."""

    name: str
    node: ast.FunctionDef
    outer: "Function | None"
    in_class: str | None
    is_top: bool


@dataclass(frozen=True, eq=False)
class Facts:
    """What one piece holds, in source order.

    Attributes:
        functions: at any depth, with those within kernels.
        imports: at any depth: 0 at module level, 1 under a condition, 2 in a function.
        touches: what its module-level statements do to names.
        attributes: ``self.a = value`` and ``a = value`` in classes, by ``Class.a``.
    """

    functions: tuple[Function, ...]
    imports: tuple[tuple[int, ast.Import | ast.ImportFrom], ...]
    touches: tuple[Touch, ...]
    attributes: tuple[tuple[str, ast.expr], ...]


def facts_of(piece: Piece) -> Facts:
    """The facts of a piece; gathered once."""
    known = piece.memo.get("facts")
    if not isinstance(known, Facts):
        known = _moved(piece) or _plain_facts(piece.body) or _gather(piece.body)
        piece.memo["facts"] = known
        piece.moves[_holds_only_itself] = _holds_only_itself(known, piece)
        only = None if ClassShape in piece.moves else _class_of_methods(known, piece.body)
        if only is not None:
            piece.moves[ClassShape] = ClassShape.from_node(only, piece.first)
    return known


def _holds_only_itself(facts: Facts, piece: Piece) -> bool:
    """Whether a piece is one function, and nothing in it is a fact of its own."""
    is_one = len(facts.functions) == len(piece.body) == 1
    return is_one and not (facts.imports or facts.touches or facts.attributes)


def _class_of_methods(facts: Facts, body: Sequence[ast.stmt]) -> ast.ClassDef | None:
    """The one class of a piece whose facts are its methods, none of them ``async``."""
    node = body[0] if len(body) == 1 else None
    if not isinstance(node, ast.ClassDef):
        return None
    methods = {id(method) for method in node.body if isinstance(method, ast.FunctionDef)}
    is_plain = not any(isinstance(part, ast.ClassDef | ast.If | ast.Try) for part in node.body)
    is_only = {id(f.node) for f in facts.functions} == methods and not facts.attributes
    return node if is_plain and is_only and not (facts.imports or facts.touches) else None


def _moved(piece: Piece) -> Facts | None:
    """The facts of a function or class whose text is known to hold no others."""
    node = piece.body[0] if piece.body else None
    methods = piece.memo.get("methods")
    if isinstance(node, ast.ClassDef) and isinstance(methods, list):
        name = node.name
        found = (Function(f"{name}.{m.name}", m, None, name, False) for m in methods)
        return Facts(tuple(found), (), (), ())
    if not piece.moves.get(_holds_only_itself) or not isinstance(node, ast.FunctionDef):
        return None
    return Facts((Function(node.name, node, None, None, True),), (), (), ())


def _plain_facts(body: Sequence[ast.stmt]) -> Facts | None:
    """The facts of a statement at module level that has no statements in it."""
    only = body[0] if len(body) == 1 else None
    if isinstance(only, ast.Import | ast.ImportFrom):
        return Facts((), ((0, only),), (), ())
    if isinstance(only, _PLAIN):
        return Facts((), (), tuple(touches(only)), ())
    return None


@dataclass(frozen=True)
class _Place:
    names: tuple[str, ...] = ()
    outer: Function | None = None
    in_class: str | None = None


def _gather(body: Iterable[ast.stmt]) -> Facts:
    functions: list[Function] = []
    imports: list[tuple[int, ast.Import | ast.ImportFrom]] = []
    attributes: list[tuple[str, ast.expr]] = []
    statements = tuple(body)
    pending: list[tuple[ast.stmt, _Place]] = [(s, _Place()) for s in reversed(statements)]
    while pending:
        statement, place = pending.pop()
        inner = place
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            names = (*place.names, statement.name)
            is_top = place.outer is None and place.in_class is None
            node = _plain(statement)
            function = Function(".".join(names), node, place.outer, place.in_class, is_top)
            functions.append(function)
            inner = _Place(names, function, place.in_class)
        elif isinstance(statement, ast.ClassDef):
            names = (*place.names, statement.name)
            inner = _Place(names, place.outer, ".".join(names))
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            imports.append((_rank(statement, place, statements), statement))
        elif isinstance(statement, ast.Assign) and place.in_class is not None:
            attributes.extend(_attributes(statement, place))
        pending.extend((child, inner) for child in reversed(list(blocks(statement))))
    bound = tuple(touch for statement in statements for touch in touches(statement))
    return Facts(tuple(functions), tuple(imports), bound, tuple(attributes))


def _rank(statement: ast.stmt, place: _Place, top: tuple[ast.stmt, ...]) -> int:
    if place.outer is not None or place.in_class is not None:
        return 2
    return 0 if any(statement is other for other in top) else 1


def _attributes(statement: ast.Assign, place: _Place) -> Iterator[tuple[str, ast.expr]]:
    in_body = ".".join(place.names) == place.in_class
    for target in statement.targets:
        if in_body and isinstance(target, ast.Name):
            yield f"{place.in_class}.{target.id}", statement.value
        elif isinstance(target, ast.Attribute) and _is_instance(target.value):
            yield f"{place.in_class}.{target.attr}", statement.value


def _is_instance(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _plain(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.FunctionDef:
    """The function; one that is ``async`` as if it were not, with the same statements."""
    if isinstance(node, ast.FunctionDef):
        return node
    plain = ast.FunctionDef(**{name: getattr(node, name) for name in node._fields})
    return ast.copy_location(plain, node)


def blocks(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements directly within another."""
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(statement, name, ())
    for name in ("handlers", "cases"):
        for part in getattr(statement, name, ()):
            yield from part.body


@dataclass(frozen=True, eq=False)
class Call:
    """A call that may be a launch, and the function it stands in."""

    node: ast.Call
    function: Function | None


def calls_of(piece: Piece, kernels: frozenset[ast.FunctionDef]) -> tuple[Call, ...]:
    """The calls of a piece outside its ``kernels`` that look like launches, in order."""
    key = ("calls", kernels)
    known = piece.memo.get(key)
    if isinstance(known, tuple):
        return known
    is_kernel = kernels == frozenset(piece.body)
    lines = [] if is_kernel else _launching_lines(piece)
    found = sorted(_calls(piece, kernels, lines), key=_by_place) if lines else []
    calls = tuple(found)
    piece.memo[key] = calls
    return calls


def _by_place(call: Call) -> tuple[int, int]:
    return call.node.lineno, call.node.col_offset


def _launching_lines(piece: Piece) -> list[int]:
    """Lines on which the text shows what a launch needs: ``](`` or ``.run(``."""
    text = "\n".join(piece.texts)
    found, line, place = [], piece.first, 0
    for match in _LAUNCH.finditer(text):
        line += text.count("\n", place, match.start())
        place = match.start()
        found.append(line)
    return found


def _calls(
    piece: Piece, kernels: frozenset[ast.FunctionDef], lines: Sequence[int]
) -> Iterator[Call]:
    owners = {id(function.node.body[0]): function for function in facts_of(piece).functions}
    pending: list[tuple[ast.AST, Function | None]] = [(s, None) for s in piece.body]
    while pending:
        node, owner = pending.pop()
        if isinstance(node, ast.stmt) and not _covers(node, lines):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = owners[id(node.body[0])]
            if function.node not in kernels:
                pending.extend((child, function) for child in node.body)
            continue
        if isinstance(node, ast.Call) and _may_launch(node.func):
            yield Call(node, owner)
        pending.extend((child, owner) for child in ast.iter_child_nodes(node))


def _covers(node: ast.stmt, lines: Sequence[int]) -> bool:
    return any(node.lineno <= line <= (node.end_lineno or line) for line in lines)


def _may_launch(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _LAUNCHING
    return isinstance(node, ast.Subscript)


Bindings = Mapping[str, tuple[ast.expr | None, ...]]
"""Names with what they are given, each time; None where that is no single expression."""


def bindings_of(piece: Piece, function: Function) -> Bindings:
    """What the names of a function are given, anywhere within it."""
    key = ("bindings", function)
    known = piece.memo.get(key)
    if isinstance(known, dict):
        return known
    given: dict[str, tuple[ast.expr | None, ...]] = {}
    pending: list[ast.stmt] = [function.node]
    while pending:
        statement = pending.pop()
        for name, value in _bound_by(statement):
            given[name] = (*given.get(name, ()), value)
        pending.extend(blocks(statement))
    if any(map(_BINDS.search, piece.texts)):
        for name in set(_bound_in_expressions(function.node)):
            given[name] = (*given.get(name, ()), None)
    piece.memo[key] = given
    return given


def _bound_by(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """What a statement itself gives names, without those in it."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from ((parameter.arg, None) for parameter in _parameters(statement.args))
        case ast.Assign():
            yield from _bound(statement)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from _targets(target)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                yield from _targets(item.optional_vars)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((one.asname or one.name.partition(".")[0], None) for one in names)


def _targets(target: ast.expr | None) -> Iterator[tuple[str, None]]:
    parts = () if target is None else ast.walk(target)
    return ((part.id, None) for part in parts if isinstance(part, ast.Name))


def _bound_in_expressions(function: ast.FunctionDef) -> Iterator[str]:
    """Names that expressions bind: ``:=``, comprehensions and the parameters of a ``lambda``."""
    for node in ast.walk(function):
        match node:
            case ast.NamedExpr(target=target) | ast.comprehension(target=target):
                yield from (name for name, _ in _targets(target))
            case ast.Lambda(args=args):
                yield from (parameter.arg for parameter in _parameters(args))


def _parameters(args: ast.arguments) -> Iterator[ast.arg]:
    yield from (*args.posonlyargs, *args.args, *args.kwonlyargs)
    yield from (extra for extra in (args.vararg, args.kwarg) if extra is not None)


def _bound(statement: ast.Assign) -> Iterator[tuple[str, ast.expr | None]]:
    for target in statement.targets:
        if isinstance(target, ast.Name):
            yield target.id, statement.value
        elif isinstance(target, ast.Tuple | ast.List):
            value = statement.value
            pairs = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            for number, part in enumerate(target.elts):
                if isinstance(part, ast.Name):
                    fits = len(pairs) == len(target.elts)
                    yield part.id, pairs[number] if fits else None
