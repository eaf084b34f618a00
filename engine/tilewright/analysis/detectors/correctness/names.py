"""Detectors of names that are not found in kernels and host code, or that kernels may not read."""

import ast
import builtins
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from tilewright.analysis.detectors.common import nki_kernels, nodes_of, triton_kernels
from tilewright.analysis.detectors.constexpr_branches import is_compiled_by_launches
from tilewright.analysis.detectors.correctness.language import is_for_a_fork
from tilewright.analysis.detectors.correctness.unset_names import (
    names_above,
    names_of_loops,
    unset_names,
)
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.host_graph.build import launching_functions
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import per_module
from tilewright.knowledge.model import ADVICE
from tilewright.python_syntax import descendants, dotted_text
from tilewright.source.model import Kernel, Module
from tilewright.source.node_memo import per_node, per_text

_IN_KERNELS = frozenset(
    ("len", "list", "range", "float", "int", "isinstance", "getattr", "hasattr", "print")
) | {"min", "max"}
"""The builtins of Python that the compiler knows."""
_INSTEAD = {"abs": "tl.abs", "sum": "tl.sum", "round": "libdevice.round", "pow": "libdevice.pow"}
_MEMORIES_OF_NKI = frozenset(("sbuf", "psum", "hbm"))
"""Memories that a kernel names without an import.

NKI's documentation calls ``sbuf`` a keyword and uses ``hbm`` alike; ``psum`` is assumed to be one.
"""
_PLAIN_CALLS = frozenset(("int", "float", "bool", "str", "len", "list", "tuple", "dict", "set"))
_REFUSED_FROM = (3, 0)
_BUILTIN = "__triton_builtin__"
_ANNOTATED_UNTIL = (3, 3)
_AT_RUN_TIME = ("globals()", "exec(", "sys.modules[", "import *")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (*_DEFINITIONS, ast.Lambda)
_NAMING = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom),
    *(ast.Global, ast.Nonlocal, ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
)


@detector("undefined_name", host=True)
def undefined_name(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Names that a kernel or its host code reads and nothing in the file defines.

    Of builtins, those that Triton's kernels lack.
    """
    if module.problems or looks_names_up_at_run_time(module):
        return
    yield from _undefined_in_python(module)
    for kernel, flow in triton_kernels(module):
        yield from unset_names(module, kernel, flow)
        yield from names_of_loops(module, kernel, flow, bound_in_module(module))
        yield from names_above(module, kernel, flow, bound_in_module(module))
        own = names_bound_in(kernel.node)
        for node in _read(kernel):
            if node.id not in own and not _is_known(module, kernel, node.id):
                if _is_placeholder(module, node.id):
                    continue
                yield _not_found_finding(module, kernel, node)


def _undefined_in_python(module: Module) -> Iterator[Finding]:
    """Such names in functions that run as Python: NKI kernels, and those that launch a kernel."""
    hosts = () if _is_fragment(module) else launching_functions(module)
    functions: list[tuple[str | None, ast.FunctionDef]] = [
        *((None, module.host_functions[name]) for name in hosts),
        *((kernel.name, kernel.node) for kernel in nki_kernels(module)),
    ]
    for kernel, function in functions:
        given = _MEMORIES_OF_NKI if kernel is not None else frozenset[str]()
        for node in _read_only(function):
            name = node.id
            is_given = name in given or name in bound_in_module(module)
            if not is_given and name not in _bound_around(module, function):
                yield Finding(
                    module.index.range_of(node),
                    f"{name} is defined neither in this function nor in this file: the call that "
                    f"comes to this line ends in a NameError.",
                    kernel,
                    severity=_severity(function, node),
                )


def _is_fragment(module: Module) -> bool:
    """Whether the decorators of a file's kernels need a name that it lacks: it cannot be imported.

    What else it lacks may stand where the rest of it is.
    """
    return "triton" not in bound_in_module(module) and any(
        isinstance(node, ast.Name) and node.id == "triton"
        for kernel in module.kernels
        for decorator in kernel.node.decorator_list
        for node in descendants(decorator)
    )


def _severity(function: ast.FunctionDef, node: ast.Name) -> int | None:
    """Advice where a call is refused in any case, and where only some calls read the name."""
    is_read = id(node) not in _in_refusals(function) and node.id in _always_read(function)
    return None if is_read else ADVICE


@per_node
def _always_read(function: ast.FunctionDef) -> frozenset[str]:
    """The names that a function reads in no branch, of statements and of expressions."""
    found: set[str] = set()
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        match node:
            case ast.If(test=test) | ast.IfExp(test=test):
                pending.append(test)
            case ast.BoolOp(values=values):
                pending.append(values[0])
            case ast.Try(body=body, finalbody=last):
                pending += [*body, *last]
            case ast.Name(id=name, ctx=ast.Load()):
                found.add(name)
            case _:
                pending.extend(ast.iter_child_nodes(node))
    return frozenset(found)


@per_node
def _read_only(function: ast.FunctionDef) -> tuple[ast.Name, ...]:
    """The first read of each name that a function reads and nowhere binds, builtins aside."""
    first: dict[str, ast.Name] = {}
    # Annotations and defaults are read around the function, where a class has names of its own.
    inside = {id(node) for statement in function.body for node in descendants(statement)}
    for node in nodes_like(function, ast.Name):
        if isinstance(node.ctx, ast.Load) and id(node) in inside:
            first.setdefault(node.id, node)
    own = names_bound_in(function) | vars(builtins).keys() | {"__class__"}
    return tuple(node for name, node in first.items() if name not in own)


@per_node
def _in_refusals(function: ast.FunctionDef) -> frozenset[int]:
    """The nodes of what a function says where it refuses a call: of errors and assertions."""
    said: list[ast.AST] = [n.msg for n in nodes_like(function, ast.Assert) if n.msg is not None]
    said += nodes_like(function, ast.Raise)
    return frozenset(id(node) for part in said for node in descendants(part))


def _bound_around(module: Module, function: ast.FunctionDef) -> frozenset[str]:
    """The names that the functions around a function bind; those of a class are not seen in it."""
    for statement in module.tree.body:
        if statement is not function and _is_inside(function, statement):
            outer = [n for n in ast.walk(statement) if isinstance(n, _DEFINITIONS)]
            around = (n for n in outer if n is not function and _is_inside(function, n))
            return frozenset().union(*map(_bound_below, around))
    return frozenset()


def _is_inside(function: ast.FunctionDef, statement: ast.stmt) -> bool:
    last = function.end_lineno or function.lineno
    return statement.lineno <= function.lineno and last <= (statement.end_lineno or 0)


def _not_found_finding(module: Module, kernel: Kernel, node: ast.Name) -> Finding:
    """An error, or advice where launches may leave out the branch that reads the name."""
    name, use = node.id, ""
    what = f"{name} is defined neither in this kernel nor in this file"
    if hasattr(builtins, name):
        use = f"; use {_INSTEAD[name]}" if name in _INSTEAD else ""
        what = f"Python's {name} is not there inside a kernel"
    branch = _branch_of_flags(kernel, node)
    is_certain = branch is None or bool(is_compiled_by_launches(module, kernel, node.lineno))
    fails = "this does not compile"
    if branch is not None and not is_certain:
        fails = f"a launch that compiles the branch of line {branch.lineno} ends in an error"
    return Finding(
        module.index.range_of(node),
        f"{what}: {fails}{use}.",
        kernel.name,
        severity=None if is_certain else ADVICE,
    )


def _branch_of_flags(kernel: Kernel, node: ast.Name) -> ast.If | None:
    """The outermost conditional around a name that constants of the launch decide."""
    for choice in nodes_like(kernel.node, ast.If):
        names = {n for n in descendants(choice.test) if isinstance(n, ast.Name)}
        parameters = [kernel.parameter(n.id) for n in names]
        is_flag = bool(parameters) and all(p is not None and p.is_constexpr for p in parameters)
        if (is_flag or _is_test_for_none(choice.test)) and any(
            inner is node for part in (*choice.body, *choice.orelse) for inner in descendants(part)
        ):
            return choice
    return None


def _is_test_for_none(test: ast.expr) -> bool:
    """Whether an argument's absence decides, which is a constant of the launch as well."""
    match test:
        case ast.Compare(left=ast.Name(), ops=[ast.Is() | ast.IsNot()], comparators=[other]):
            return isinstance(other, ast.Constant) and other.value is None
    return False


def _is_known(module: Module, kernel: Kernel, name: str) -> bool:
    if name in _IN_KERNELS or name in module.names.origins:
        return True
    if _is_top_level(module, kernel):
        return name in bound_in_module(module)
    return name in bound_in_file(module)


def _is_placeholder(module: Module, name: str) -> bool:
    """Whether the file replaces a name in the text of a kernel before it compiles it."""
    if not module.lookup.says(".src") or not module.lookup.says(".replace("):
        return False
    return module.lookup.says(f'{name}"') or module.lookup.says(f"{name}'")


def _is_top_level(module: Module, kernel: Kernel) -> bool:
    return any(statement is kernel.node for statement in module.named_statements.body)


def _read(kernel: Kernel) -> Iterator[ast.Name]:
    """Names that the body reads, each where it is first read."""
    seen: set[str] = set()
    outside = _outside_body(kernel.node)
    for node in nodes_like(kernel.node, ast.Name):
        if node.id in seen or not isinstance(node.ctx, ast.Load):
            continue
        if id(node) not in outside:
            seen.add(node.id)
            yield node


@per_node
def _outside_body(function: ast.FunctionDef) -> frozenset[int]:
    """What Python evaluates and not the compiler, and what is raised where nothing compiles."""
    parts: list[ast.AST] = [*function.decorator_list, function.args]
    parts += [function.returns] if function.returns is not None else []
    parts += [n.annotation for n in nodes_like(function, ast.AnnAssign)]
    parts += nodes_like(function, ast.Raise)
    calls = nodes_like(function, ast.Call)
    parts += [part for call in calls if _is_static_assert(call) for part in call.args[1:]]
    return frozenset(id(node) for part in parts for node in descendants(part))


def _is_static_assert(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "static_assert"


@detector("global_not_constexpr")
def global_not_constexpr(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Python numbers and functions of the module that a kernel reads as they are."""
    if module.lookup.says("ALLOW_NON_CONSTEXPR_GLOBALS") or is_for_a_fork(module):
        return
    plain = _refused(module, context.triton_version)
    if not plain:
        return
    for kernel, _ in triton_kernels(module):
        own = names_bound_in(kernel.node)
        for node in _read(kernel):
            if node.id in plain and node.id not in own:
                yield _plain_finding(module, kernel, node, plain[node.id])


def _plain_finding(module: Module, kernel: Kernel, node: ast.Name, bound: ast.stmt) -> Finding:
    if isinstance(bound, ast.FunctionDef):
        what = f"{node.id} is a Python function and no @triton.jit function"
    elif isinstance(bound, ast.ClassDef):
        what = f"{node.id} is a Python class, whose members are no tl.constexpr"
    else:
        what = f"{node.id} is a Python variable of the module and no tl.constexpr"
    first = _ANNOTATED_UNTIL if isinstance(bound, ast.AnnAssign) else _REFUSED_FROM
    since = ".".join(map(str, first))
    return Finding(
        module.index.range_of(node),
        f"{what}: since Triton {since} a kernel that reads it does not compile.",
        kernel.name,
        related=(Related("bound here", module.index.range_of(bound)),),
    )


@per_module
def _refused(module: Module, version: tuple[int, int] | None) -> dict[str, ast.stmt]:
    return {name: node for name, node in _plain(module).items() if _is_refused(node, version)}


def _is_refused(bound: ast.stmt, version: tuple[int, int] | None) -> bool:
    """Whether the Triton in use refuses it; an annotation was enough before 3.3."""
    if version is not None and version < _REFUSED_FROM:
        return False
    if isinstance(bound, ast.AnnAssign):
        return version is not None and version >= _ANNOTATED_UNTIL
    return True


def _plain(module: Module) -> dict[str, ast.stmt]:
    """Names that the module binds once, in plain sight, to what is surely no constexpr."""
    if looks_names_up_at_run_time(module):
        return {}
    found = dict(_plainly_bound_in(module.tree))
    if not found:
        return {}
    counts = times_bound_in_module(module)
    is_marked = module.lookup.says(_BUILTIN)
    return {
        name: statement
        for name, statement in found.items()
        if counts[name] == 1 and not (is_marked and _is_builtin(module, name, statement))
    }


def _is_builtin(module: Module, name: str, bound: ast.stmt) -> bool:
    """Whether a function or class says of itself that it is Triton's own: kernels may read it."""
    body = bound.body if isinstance(bound, ast.ClassDef) else ()
    return module.lookup.says(f"{name}.{_BUILTIN}") or any(
        isinstance(node, ast.Name) and node.id == _BUILTIN
        for statement in body
        if isinstance(statement, ast.Assign)
        for node in statement.targets
    )


@per_node
def _plainly_bound_in(tree: ast.Module) -> tuple[tuple[str, ast.stmt], ...]:
    named = ((_plainly_bound(statement), statement) for statement in tree.body)
    return tuple((name, statement) for name, statement in named if name is not None)


@per_text
def _plainly_bound(statement: ast.stmt) -> str | None:
    match statement:
        case ast.FunctionDef(decorator_list=[]):
            return statement.name
        case ast.ClassDef(decorator_list=[], keywords=[], bases=bases) if all(map(_is_enum, bases)):
            return statement.name
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_plain(value):
            return name
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if _is_plain(value):
            return name
    return None


def _is_enum(base: ast.expr) -> bool:
    return (dotted_text(base) or "").rpartition(".")[2] in ("Enum", "IntEnum", "object")


def _is_plain(value: ast.expr) -> bool:
    """A Python number, text, list or dict for sure; None is allowed and so left out."""
    match value:
        case ast.Constant():
            return value.value is not None
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.Compare():
            return True
        case ast.Tuple():
            return bool(value.elts) and all(map(_is_plain, value.elts))
        case ast.UnaryOp():
            return _is_plain(value.operand)
        case ast.BinOp():
            return _is_plain(value.left) and _is_plain(value.right)
        case ast.Call(func=ast.Name(id=name)):
            return name in _PLAIN_CALLS
    return False


def looks_names_up_at_run_time(module: Module) -> bool:
    """Whether names may come from a star import, ``globals()`` or ``exec``."""
    return any(map(module.lookup.says, _AT_RUN_TIME))


@per_module
def bound_in_module(module: Module) -> frozenset[str]:
    """Names bound at module level, in whichever branch, and those declared global."""
    return frozenset(times_bound_in_module(module)) | {"__name__", "__file__", "__doc__"}


@per_module
def times_bound_in_module(module: Module) -> Mapping[str, int]:
    """How often each module-level name is bound."""
    lines = _declares_globals(module)
    if not lines:
        return Counter(chain.from_iterable(map(_bound_by, module.named_statements.body)))
    return Counter(
        chain.from_iterable(
            _bound_anywhere_by(statement) if _covers_any(statement, lines) else _bound_by(statement)
            for statement in module.tree.body
        )
    )


def _covers_any(statement: ast.stmt, lines: Sequence[int]) -> bool:
    """Whether a statement is on any of some lines, which are in order."""
    place = bisect_left(lines, statement.lineno)
    return place < len(lines) and lines[place] <= (statement.end_lineno or statement.lineno)


@per_text
def _bound_by(statement: ast.stmt) -> tuple[str, ...]:
    return tuple(bindings((statement,), global_lines=()))


@per_text
def _bound_anywhere_by(statement: ast.stmt) -> tuple[str, ...]:
    """With the names that functions in it declare global."""
    last = statement.end_lineno or statement.lineno
    return tuple(bindings((statement,), global_lines=tuple(range(statement.lineno, last + 1))))


def _declares_globals(module: Module) -> tuple[int, ...]:
    """The lines that may declare names global."""
    if not module.lookup.says("global "):
        return ()
    return tuple(n for n, line in enumerate(module.index.lines, 1) if "global " in line)


def bindings(body: Iterable[ast.stmt], *, global_lines: tuple[int, ...]) -> Iterator[str]:
    """The names that module-level statements bind, each time, and those that functions declare
    global on some of the lines."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield from _names(node)
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            if any(node.lineno <= n <= (node.end_lineno or n) for n in global_lines):
                yield from _declared_global(node)
        elif isinstance(node, ast.Assign | ast.Import | ast.ImportFrom):
            targets = node.targets if isinstance(node, ast.Assign) else ()
            pending.extend(targets)
        else:
            pending.extend(ast.iter_child_nodes(node))


@per_node
def _declared_global(node: ast.AST) -> tuple[str, ...]:
    return tuple(
        n for inner in ast.walk(node) if isinstance(inner, ast.Global) for n in inner.names
    )


def bound_in_file(module: Module) -> frozenset[str]:
    """Names bound anywhere: what a nested kernel may see."""
    return _bound_below(module.tree)


@per_node
def _bound_below(node: ast.Module | ast.stmt) -> frozenset[str]:
    return frozenset(name for inner in ast.walk(node) for name in _names(inner))


@per_text
def names_bound_in(function: ast.FunctionDef) -> frozenset[str]:
    """Parameters and local names of a function, in whichever branch."""
    return frozenset(name for inner in nodes_of(function) for name in _names(inner))


def _names(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if isinstance(node, ast.arg):
        return (node.arg,)
    return _named(node) if isinstance(node, _NAMING) else ()


def _named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import() | ast.ImportFrom():
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        case ast.Global() | ast.Nonlocal():
            yield from node.names
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)):
            yield name
