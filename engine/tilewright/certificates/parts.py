"""Which part of a file a certificate is of: all that its entry point reaches by name.

A kernel's result depends on its text, the jit functions and constants it names, and the host code
that launches it. What is reached from other files, or by names made up at run time, is not seen.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.certificates.model import Part, PartKind
from tilewright.source.model import Module
from tilewright.source.text import Range, digest

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
_COMPOUND = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.TryStar, ast.Match)
_WORDS = 40
_KNOWN = {*sys.stdlib_module_names, "torch", "triton", "numpy", "nki", "neuronxcc"}


@dataclass(frozen=True)
class Placed:
    """A part and where it stands in the text it was read from."""

    part: Part
    range: Range


@dataclass(frozen=True)
class Reached:
    """What roots reach in a module; ``foreign`` are modules of others that it uses, unseen."""

    parts: tuple[Placed, ...]
    kernels: tuple[str, ...]
    foreign: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Statement:
    """``defines`` is empty where it only does something; it then counts for every root.

    ``alters``: names whose values it may change without giving them anew, as ``append`` does.
    """

    node: ast.stmt
    defines: tuple[str, ...]
    uses: frozenset[str]
    alters: frozenset[str]


def reached(module: Module, roots: Iterable[str]) -> Reached:
    """The parts of a module that are reached from ``roots``; launches count as uses."""
    imports = _imports(module.tree.body)
    statements = [_statement(node) for node in module.tree.body if _counts(node)]
    by_name: dict[str, list[int]] = {}
    for index, one in enumerate(statements):
        for name in one.defines:
            by_name.setdefault(name, []).append(index)
    first = [index for root in roots for index in by_name.get(root.partition(".")[0], ())]
    main = _closure(first, statements, by_name)
    effects = [index for index, one in enumerate(statements) if not one.defines]
    touched = _with_touching(main, statements, by_name, _modules(module.tree))
    wanted = {*touched, *effects}
    chosen = [statements[index] for index in sorted(wanted)]
    used = {name for one in chosen for name in one.uses}
    return Reached(
        tuple(_placed(module, chosen, imports)),
        _kernels_within(module, [statements[index] for index in sorted(main)]),
        tuple(dict.fromkeys(_foreign(module.tree.body, used))),
    )


def _with_touching(
    main: set[int],
    statements: Sequence[_Statement],
    by_name: Mapping[str, list[int]],
    modules: frozenset[str],
) -> set[int]:
    """What is reached, and the statements that change its values: themselves, in the functions
    that they call, or in a loop that also gives a name."""
    acting = {
        index: _closure([index], statements, by_name)
        for index, one in enumerate(statements)
        if not isinstance(one.node, (*_FUNCTIONS, ast.ClassDef))
    }

    def touches(index: int, known: frozenset[str]) -> bool:
        one = statements[index]
        direct = not one.defines or isinstance(one.node, _COMPOUND)
        if direct and one.uses & known:
            return True
        calls = acting[index] if direct else {index}
        return any(statements[each].alters & (known - modules) for each in calls)

    wanted = set(main)
    while True:
        known = frozenset(name for index in wanted for name in statements[index].defines)
        more = [index for index in acting if index not in wanted and touches(index, known)]
        if not more:
            return wanted
        wanted |= _closure(more, statements, by_name)


def _modules(tree: ast.Module) -> frozenset[str]:
    """The names of imports, also of those inside statements: calling into one changes nothing."""
    found = (n.names for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom))
    return frozenset(_local_name(alias) for names in found for alias in names)


def _closure(
    first: Iterable[int], statements: Sequence[_Statement], by_name: Mapping[str, list[int]]
) -> set[int]:
    found: set[int] = set()
    waiting = list(first)
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            waiting += [i for name in statements[index].uses for i in by_name.get(name, ())]
    return found


def _counts(node: ast.stmt) -> bool:
    """Whether a statement can matter: not an import (it counts where it is used), not a text that
    stands by itself, not what only a script does."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Pass():
            return False
        case ast.Expr(value=ast.Constant()):
            return False
        case ast.If(
            test=ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]),
            orelse=[],
        ):
            return False
    return True


def _statement(node: ast.stmt) -> _Statement:
    uses = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    defines = tuple(dict.fromkeys(_defined(node)))
    return _Statement(node, defines, frozenset(uses), frozenset(_altered(node)))


def _altered(statement: ast.stmt) -> Iterator[str]:
    """Names whose values a statement may change in place, or from inside a function."""
    for node in ast.walk(statement):
        match node:
            case ast.Global(names=names):
                yield from names
            case ast.Call(func=ast.Attribute(value=value)):
                yield from _root(value)
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                yield from _root(value)
            case ast.Attribute(value=value, ctx=ast.Store() | ast.Del()):
                yield from _root(value)


def _root(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _defined(node: ast.AST) -> Iterator[str]:
    """The names that a statement gives the module."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (_local_name(alias) for alias in names)
    if not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _defined(child)


def _local_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _imports(body: Sequence[ast.stmt]) -> Mapping[str, str]:
    """By local name, the imports at the file's top level as they read."""
    found: dict[str, list[str]] = {}
    for node in body:
        match node:
            case ast.Import(names=names):
                texts = [f"import {ast.unparse(alias)}" for alias in names]
            case ast.ImportFrom(names=names, module=origin, level=level):
                place = "." * level + (origin or "")
                texts = [f"from {place} import {ast.unparse(alias)}" for alias in names]
            case _:
                continue
        for alias, text in zip(names, texts, strict=True):
            found.setdefault(_local_name(alias), []).append(text)
    return {name: "\n".join(texts) for name, texts in found.items()}


def _foreign(body: Sequence[ast.stmt], used: set[str]) -> Iterator[str]:
    """The modules behind used imports that belong neither to Python nor to the toolchain."""
    for node in body:
        match node:
            case ast.Import(names=names):
                found = [(alias.name, alias) for alias in names]
            case ast.ImportFrom(names=names, module=origin, level=level):
                found = [("." * level + (origin or ""), alias) for alias in names]
            case _:
                continue
        for name, alias in found:
            first = name.partition(".")[0]
            if _local_name(alias) in used and first not in _KNOWN:
                yield name


def _placed(
    module: Module, chosen: Sequence[_Statement], imports: Mapping[str, str]
) -> Iterator[Placed]:
    seen: dict[str, int] = {}
    lines_with_kernels = {kernel.name_range.line for kernel in module.kernels}
    for one in chosen:
        where = _range(module, one.node)
        text = "\n".join(module.index.slice(where).splitlines())
        used = "\n".join(imports[name] for name in sorted(one.uses) if name in imports)
        name = ", ".join(one.defines) or _shortened(text)
        seen[name] = seen.get(name, 0) + 1
        name = name if seen[name] == 1 else f"{name} #{seen[name]}"
        is_kernel = any(where.line <= line <= where.end_line for line in lines_with_kernels)
        kind: PartKind = "kernel" if is_kernel else _kind(one)
        marks = "".join(line_mark(line) for line in text.split("\n"))
        yield Placed(Part(name, kind, digest(f"{text}\0{used}"), marks), where)


def line_mark(line: str) -> str:
    """Four hex digits that tell a line from most others; for showing, not for trusting."""
    return digest(line.rstrip())[:4]


def _shortened(text: str) -> str:
    first = text.split("\n", 1)[0]
    return first if len(first) <= _WORDS else f"{first[: _WORDS - 1]}…"


def _kind(one: _Statement) -> PartKind:
    if isinstance(one.node, _FUNCTIONS):
        return "function"
    if isinstance(one.node, ast.ClassDef):
        return "class"
    return "value" if one.defines else "statement"


def _range(module: Module, node: ast.stmt) -> Range:
    where = module.index.range_of(node)
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([where.line, *(decorator.lineno for decorator in decorators)])
    # A decorator's @ is in the same column as what it decorates.
    return Range(first, where.column, where.end_line, where.end_column)


def _kernels_within(module: Module, chosen: Sequence[_Statement]) -> tuple[str, ...]:
    ranges = [_range(module, one.node) for one in chosen]
    return tuple(
        kernel.name
        for kernel in module.kernels
        if any(r.line <= kernel.name_range.line <= r.end_line for r in ranges)
    )
