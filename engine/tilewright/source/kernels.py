"""The kernels among a file's functions: jit functions, by whatever name the decorator goes."""

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tilewright.python_syntax import parameter_defaults
from tilewright.source.autotuning import AUTOTUNE, HEURISTICS, AutotuneReader
from tilewright.source.environment import Environment
from tilewright.source.facts import Function
from tilewright.source.model import Autotune, Kernel, Language, Parameter
from tilewright.source.names import Names
from tilewright.source.text import LineIndex, Range, digest

_JIT = {
    "triton.jit": Language.TRITON,
    "triton.experimental.gluon.jit": Language.TRITON,
    "nki.jit": Language.NKI,
    "nki.baremetal": Language.NKI,
    "nki.benchmark": Language.NKI,
    "nki.profile": Language.NKI,
    "nki.trace": Language.NKI,
}
_CONSTEXPR = ("triton.language.constexpr", "triton.experimental.gluon.language.constexpr")


@dataclass(frozen=True)
class Jitted:
    """A function that is a kernel.

    Attributes:
        decorators: outermost first, those applied by an assignment before those above the
            ``def``; a name of a module-level ``dec = triton.autotune(...)`` is that call.
        aliases: other module-level names of the kernel.
        plain: whether its own name is that of a kernel without what an assignment applies.
    """

    function: Function
    language: Language
    decorators: tuple[ast.expr, ...]
    aliases: tuple[str, ...] = ()
    plain: bool = False


@dataclass(frozen=True)
class Decorators:
    """What decorating expressions stand for in one file."""

    names: Names
    environment: Environment
    wrapped: Mapping[str, list[tuple[str, tuple[ast.expr, ...]]]] = field(default_factory=dict)

    def jitted(self, function: Function) -> Jitted | None:
        """The kernel that a function is, if its decorators or an assignment make it one."""
        above = tuple(self._resolved_constant(node) for node in function.node.decorator_list)
        language = self._language(above)
        aliases: list[str] = []
        outside: tuple[ast.expr, ...] = ()
        if function.is_top:
            for alias, applied in self.wrapped.get(function.node.name, ()):
                around = tuple(self._resolved_constant(node) for node in applied)
                language = language or self._language(around)
                aliases += [alias] if alias != function.name else []
                outside = outside or around
        if language is None:
            return None
        is_plain = self._language(above) is not None and bool(outside) and bool(aliases)
        return Jitted(function, language, (*outside, *above), tuple(aliases), is_plain)

    def _resolved_constant(self, node: ast.expr) -> ast.expr:
        for _ in range(4):
            known = self.environment.constants.get(node.id) if isinstance(node, ast.Name) else None
            if known is None:
                break
            node = known
        return node

    def _language(self, decorators: Iterable[ast.expr]) -> Language | None:
        for node in decorators:
            language = _JIT.get(self.dotted(node) or "") or self._made_by(node)
            if language is not None:
                return language
        return None

    def dotted(self, node: ast.expr) -> str | None:
        """The dotted name of a decorator, called or not; of a partial, what is partial."""
        if isinstance(node, ast.Call):
            dotted = self.names.resolve(node.func)
            if dotted == "functools.partial" and node.args:
                return self.names.resolve(node.args[0])
            return dotted
        return self.names.resolve(node)

    def _made_by(self, node: ast.expr) -> Language | None:
        """Of a function of the file that returns its argument jitted."""
        if isinstance(node, ast.Name):
            maker = self.environment.functions.get(node.id)
            if maker is not None and len(maker.args.args) == 1:
                return self._returned(maker, maker.args.args[0].arg)
        return None

    def _returned(self, maker: ast.FunctionDef, argument: str) -> Language | None:
        for statement in maker.body:
            if not isinstance(statement, ast.Return) or statement.value is None:
                continue
            name, around = unwrapped(statement.value)
            if name == argument:
                for node in around:
                    language = _JIT.get(self.dotted(node) or "")
                    if language is not None:
                        return language
        return None


def unwrapped(node: ast.expr) -> tuple[str | None, tuple[ast.expr, ...]]:
    """``a(b=1)(c(f))`` is the name ``f`` with the decorators ``a(b=1)`` and ``c`` around it."""
    around: list[ast.expr] = []
    while isinstance(node, ast.Call) and node.args:
        inner = node.args[0] if len(node.args) == 1 else None
        around.append(node.func if not node.keywords else node)
        if inner is None:
            return None, ()
        node = inner
    return (node.id, tuple(around)) if isinstance(node, ast.Name) else (None, ())


def wrapped_names(environment: Environment) -> dict[str, list[tuple[str, tuple[ast.expr, ...]]]]:
    """Module-level ``g = triton.jit(f)``: by ``f``, the other names and what is around."""
    found: dict[str, list[tuple[str, tuple[ast.expr, ...]]]] = {}
    assigned = {**environment.constants, **environment.wrapped}
    for alias, statements in environment.histories.items():
        if isinstance(statements[-1], ast.Assign):
            assigned[alias] = statements[-1].value
    for alias, value in assigned.items():
        if isinstance(value, ast.Call):
            name, around = unwrapped(value)
            if name is not None:
                found.setdefault(name, []).append((alias, around))
    return found


def make_kernel(
    jitted: Jitted, index: LineIndex, decorators: Decorators, reader: AutotuneReader
) -> Kernel:
    """All that is known of one kernel."""
    node, names = jitted.function.node, decorators.names
    where = _kernel_range(node, index)
    text = index.slice(where)
    parameters = _parameters(node, index, names)
    autotune, heuristics = _tuning(jitted, names, reader, parameters)
    jit = _jit_call(jitted, decorators)
    known = (*_JIT, AUTOTUNE, HEURISTICS)
    dotted = [decorators.dotted(node) or ast.unparse(node) for node in jitted.decorators]
    return Kernel(
        name=node.name,
        language=jitted.language,
        range=where,
        name_range=_name_range(node, index),
        parameters=parameters,
        autotune=autotune,
        heuristics=tuple(heuristics),
        text=text,
        content_hash=digest(text),
        node=node,
        qualified_name=jitted.function.name,
        heuristic_values=heuristics,
        do_not_specialize=_unspecialized(jit, parameters),
        noinline=_is_true(_keyword(jit, "noinline")),
        other_decorators=tuple(name for name in dotted if name not in known),
        aliases=jitted.aliases,
        tuned_as=jitted.aliases if jitted.plain and not _is_tuned_above(jitted, names) else (),
    )


def _is_tuned_above(jitted: Jitted, names: Names) -> bool:
    return any(names.is_call(node, AUTOTUNE) for node in jitted.function.node.decorator_list)


def moved_kernel(kernel: Kernel, node: ast.FunctionDef, lines: int) -> Kernel | None:
    """A kernel with the same text so many lines below, where the file is the same around it.

    None where it refers to other places, which may have moved otherwise.
    """
    autotune = _moved_autotune(kernel, lines)
    if (autotune is None) is not (kernel.autotune is None) or kernel.heuristic_values:
        return None
    return replace(
        kernel,
        node=node,
        autotune=autotune,
        range=kernel.range.moved(lines),
        name_range=kernel.name_range.moved(lines),
        parameters=tuple(replace(p, range=p.range.moved(lines)) for p in kernel.parameters),
    )


def _moved_autotune(kernel: Kernel, lines: int) -> Autotune | None:
    """What tunes a kernel, where all of it stands above its ``def``."""
    tuned = kernel.autotune
    if tuned is None:
        return None
    places = (tuned.range, *(config.range for config in tuned.configs or ()))
    if not all(kernel.range.line <= place.line <= kernel.range.end_line for place in places):
        return None
    configs = tuned.configs
    if configs is not None:
        configs = tuple(replace(c, range=c.range.moved(lines)) for c in configs)
    return replace(tuned, range=tuned.range.moved(lines), configs=configs)


def _jit_call(jitted: Jitted, decorators: Decorators) -> ast.Call | None:
    for node in jitted.decorators:
        if isinstance(node, ast.Call) and decorators.dotted(node) in _JIT:
            return node
    return None


def _keyword(call: ast.Call | None, name: str) -> ast.expr | None:
    keywords = call.keywords if call is not None else []
    return next((k.value for k in keywords if k.arg == name), None)


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _unspecialized(
    jit: ast.Call | None, parameters: tuple[Parameter, ...]
) -> tuple[str, ...] | None:
    """Names under ``do_not_specialize``, which may be given by position; None if not stated."""
    node = _keyword(jit, "do_not_specialize")
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return ()
    if not isinstance(node, ast.List | ast.Tuple | ast.Set):
        return None
    names = []
    for element in node.elts:
        value = element.value if isinstance(element, ast.Constant) else None
        if isinstance(value, str):
            names.append(value)
        elif isinstance(value, int) and value < len(parameters):
            names.append(parameters[value].name)
        else:
            return None
    return tuple(names)


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
    return tuple(
        Parameter(
            name=a.arg,
            is_constexpr=_is_constexpr(a.annotation, names),
            default=_unparse(default),
            range=index.range_of(a),
        )
        for a, default in parameter_defaults(node.args)
    )


def _is_constexpr(annotation: ast.expr | None, names: Names) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        head, _, rest = annotation.value.strip().partition(".")
        dotted = names.origins.get(head, head) + (f".{rest}" if rest else "")
        return dotted in (*_CONSTEXPR, "constexpr")
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    return annotation is not None and names.resolve(annotation) in _CONSTEXPR


def _unparse(node: ast.expr | None) -> str | None:
    if node is None:
        return None
    try:
        return ast.unparse(node)
    except RecursionError:
        return "..."


def _tuning(
    jitted: Jitted, names: Names, reader: AutotuneReader, parameters: tuple[Parameter, ...]
) -> tuple[Autotune | None, dict[str, ast.expr]]:
    autotune: Autotune | None = None
    heuristics: dict[str, ast.expr] = {}
    for node in jitted.decorators:
        if names.is_call(node, AUTOTUNE) and isinstance(node, ast.Call):
            autotune = reader.autotune(node, frozenset(p.name for p in parameters))
        elif names.is_call(node, HEURISTICS) and isinstance(node, ast.Call):
            heuristics.update(reader.heuristics(node))
    return autotune, heuristics
