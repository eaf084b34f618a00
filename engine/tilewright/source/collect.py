"""One walk over a file's tree: its kernels, host functions, and where kernels are launched."""

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tilewright.source.autotuning import AUTOTUNE, HEURISTICS, AutotuneReader
from tilewright.source.model import Autotune, Kernel, Language, Launch, Parameter
from tilewright.source.names import Names
from tilewright.source.text import LineIndex, Range

_JIT = {
    "triton.jit": Language.TRITON,
    "triton.experimental.gluon.jit": Language.TRITON,
    "nki.jit": Language.NKI,
    "nki.baremetal": Language.NKI,
    "nki.benchmark": Language.NKI,
    "nki.profile": Language.NKI,
    "nki.trace": Language.NKI,
}
_CONSTEXPR = "triton.language.constexpr"

Scope = tuple[str, ...]


@dataclass
class Found:
    """What the walk gathers, in source order of definition."""

    kernels: list[tuple[Language, ast.FunctionDef]] = field(default_factory=list)
    host_functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    calls: list[tuple[ast.Call, str | None]] = field(default_factory=list)


def find(tree: ast.Module, names: Names) -> Found:
    """Walk the tree once, without recursion, remembering the enclosing function."""
    found = Found()
    pending: list[tuple[ast.AST, Scope, str | None]] = [(tree, (), None)]
    while pending:
        node, scope, host = pending.pop()
        if isinstance(node, ast.FunctionDef):
            language = language_of(node, names)
            scope = (*scope, node.name)
            if language is not None:
                found.kernels.append((language, node))
                continue
            host = ".".join(scope)
            found.host_functions.setdefault(host, node)
        elif isinstance(node, ast.ClassDef):
            scope = (*scope, node.name)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            found.calls.append((node, host))
        pending.extend((child, scope, host) for child in ast.iter_child_nodes(node))
    found.kernels.sort(key=lambda pair: pair[1].lineno)
    found.calls.sort(key=lambda pair: (pair[0].lineno, pair[0].col_offset))
    return found


def language_of(node: ast.FunctionDef, names: Names) -> Language | None:
    """The tile language a function's decorators make it a kernel of."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        language = _JIT.get(names.resolve(target) or "")
        if language is not None:
            return language
    return None


def make_kernel(
    language: Language,
    node: ast.FunctionDef,
    index: LineIndex,
    names: Names,
    reader: AutotuneReader,
) -> Kernel:
    """The kernel a jit function is."""
    where = _kernel_range(node, index)
    text = index.slice(where)
    parameters = _parameters(node, index, names)
    autotune, heuristics = _decorators(node, names, reader, parameters)
    return Kernel(
        name=node.name,
        language=language,
        range=where,
        name_range=_name_range(node, index),
        parameters=parameters,
        autotune=autotune,
        heuristics=heuristics,
        text=text,
        content_hash=digest(text),
        node=node,
    )


def digest(text: str) -> str:
    """The identity of a text: first 32 hex digits of SHA-256 over its UTF-8 bytes."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]


def _kernel_range(node: ast.FunctionDef, index: LineIndex) -> Range:
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    body = index.range_of(node)
    return Range(first, body.column, body.end_line, body.end_column)


def _name_range(node: ast.FunctionDef, index: LineIndex) -> Range:
    where = index.range_of(node)
    line = index.lines[where.line - 1]
    match = re.compile(rf"def\s+({re.escape(node.name)})").search(line, where.column)
    if match is None:
        return Range(where.line, where.column, where.line, len(line))
    return Range(where.line, match.start(1), where.line, match.end(1))


def _parameters(node: ast.FunctionDef, index: LineIndex, names: Names) -> tuple[Parameter, ...]:
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    defaults: dict[str, ast.expr | None] = {
        a.arg: d for a, d in zip(reversed(positional), reversed(args.defaults), strict=False)
    }
    defaults.update({a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)})
    return tuple(
        Parameter(
            name=a.arg,
            is_constexpr=_is_constexpr(a.annotation, names),
            default=_unparse(defaults.get(a.arg)),
            range=index.range_of(a),
        )
        for a in [*positional, *args.kwonlyargs]
    )


def _is_constexpr(annotation: ast.expr | None, names: Names) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        head, _, rest = annotation.value.strip().partition(".")
        dotted = names.origins.get(head, head) + (f".{rest}" if rest else "")
        return dotted in (_CONSTEXPR, "constexpr")
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    return annotation is not None and names.resolve(annotation) == _CONSTEXPR


def _unparse(node: ast.expr | None) -> str | None:
    if node is None:
        return None
    try:
        return ast.unparse(node)
    except RecursionError:
        return "..."


def _decorators(
    node: ast.FunctionDef,
    names: Names,
    reader: AutotuneReader,
    parameters: tuple[Parameter, ...],
) -> tuple[Autotune | None, tuple[str, ...]]:
    autotune: Autotune | None = None
    heuristics: list[str] = []
    for decorator in node.decorator_list:
        if names.is_call(decorator, AUTOTUNE) and isinstance(decorator, ast.Call):
            autotune = reader.autotune(decorator, frozenset(p.name for p in parameters))
        elif names.is_call(decorator, HEURISTICS) and isinstance(decorator, ast.Call):
            heuristics.extend(reader.heuristics(decorator))
    return autotune, tuple(heuristics)


def make_launches(
    found: Found, kernels: tuple[Kernel, ...], tree: ast.Module, index: LineIndex
) -> tuple[Launch, ...]:
    """The calls that launch one of the file's kernels, also through a local alias."""
    by_name = {kernel.name: kernel for kernel in reversed(kernels)}
    top = _aliases(tree.body, by_name)
    local = {
        name: {**top, **_aliases(ast.walk(node), by_name)}
        for name, node in found.host_functions.items()
        if any(host == name for _, host in found.calls)
    }
    launches = []
    for call, host in found.calls:
        aliases = top if host is None else local[host]
        kernel = _launched(call, by_name, aliases)
        if kernel is not None:
            launches.append(_launch(call, kernel, host, index))
    return tuple(launches)


def _aliases(nodes: Iterable[ast.AST], kernels: Mapping[str, Kernel]) -> dict[str, str]:
    """``fn = kernel``, where ``fn`` is assigned nothing else."""
    assigned: dict[str, set[str | None]] = {}
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name):
                value = node.value.id if isinstance(node.value, ast.Name) else None
                assigned.setdefault(target.id, set()).add(value)
    return {
        name: value
        for name, values in assigned.items()
        if len(values) == 1 and (value := next(iter(values))) is not None and value in kernels
    }


def _launched(
    call: ast.Call, kernels: Mapping[str, Kernel], aliases: Mapping[str, str]
) -> Kernel | None:
    assert isinstance(call.func, ast.Subscript)
    value = call.func.value
    if isinstance(value, ast.Name):
        return kernels.get(value.id) or kernels.get(aliases.get(value.id, ""))
    if isinstance(value, ast.Attribute):
        return kernels.get(value.attr)
    return None


def _launch(call: ast.Call, kernel: Kernel, host: str | None, index: LineIndex) -> Launch:
    assert isinstance(call.func, ast.Subscript)
    arguments: dict[str, ast.expr] = {}
    options: dict[str, ast.expr] = {}
    complete = True
    for position, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred) or position >= len(kernel.parameters):
            complete = False
            break
        arguments[kernel.parameters[position].name] = argument
    for keyword in call.keywords:
        if keyword.arg is None:
            complete = False
        elif kernel.parameter(keyword.arg) is not None:
            arguments[keyword.arg] = keyword.value
        else:
            options[keyword.arg] = keyword.value
    return Launch(
        kernel=kernel.name,
        range=index.range_of(call),
        grid=call.func.slice,
        arguments=arguments,
        options=options,
        host_function=host,
        is_complete=complete,
        node=call,
    )
