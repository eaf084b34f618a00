"""Questions about names in one function: where set, where used, what they hold."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.rewrites.model import RefusedError
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.text import Range
from tilewright.targets.model import ArgumentFacts, LaunchFacts

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef

_TL = (
    "triton.language.",
    "triton.language.math.",
    "triton.language.standard.",
    "triton.language.core.",
)


def tl_name(module: Module, node: ast.expr) -> str | None:
    """The name in ``triton.language`` that an expression stands for: ``dot`` of ``tl.dot``."""
    dotted = module.names.resolve(node)
    if dotted is None or not dotted.startswith("triton.language."):
        return None
    return dotted.rsplit(".", 1)[1] if dotted.rsplit(".", 1)[0] + "." in _TL else None


def is_tl_call(module: Module, node: ast.AST, *names: str) -> bool:
    """Whether ``node`` calls one of these functions of ``triton.language``."""
    return isinstance(node, ast.Call) and tl_name(module, node.func) in names


def kernel_of(module: Module, issue: Issue) -> Kernel | None:
    """The kernel an issue speaks of, or the one its range lies in."""
    named = module.kernel(issue.kernel) if issue.kernel else None
    return named or module.kernel_at(issue.range.line)


def kernel_named(module: Module, issue: Issue) -> Kernel:
    """``kernel_of``, refused where there is none."""
    kernel = kernel_of(module, issue)
    if kernel is None:
        raise RefusedError("the issue names no kernel of this file")
    return kernel


def facts_of(context: AnalysisContext, kernel: str) -> tuple[LaunchFacts, ...]:
    """The captured launches of one kernel."""
    return tuple(launch for launch in context.launches if launch.kernel == kernel)


def argument_facts(context: AnalysisContext, kernel: str, name: str) -> tuple[ArgumentFacts, ...]:
    """What one parameter was at each captured launch."""
    found = (launch.argument(name) for launch in facts_of(context, kernel))
    return tuple(argument for argument in found if argument is not None)


def at_issue(module: Module, issue: Issue, nodes: Sequence[ast.AST]) -> list[ast.AST]:
    """The nodes an issue's range touches; the tightest match first."""
    touched = [n for n in nodes if _range(module, n).overlaps(issue.range)]
    return sorted(touched, key=lambda n: _distance(_range(module, n), issue.range))


def _range(module: Module, node: ast.AST) -> Range:
    assert isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.arg)
    return module.index.range_of(node)


def _distance(a: Range, b: Range) -> tuple[int, int, int, int]:
    return (
        abs(a.line - b.line),
        abs(a.end_line - b.end_line),
        abs(a.column - b.column),
        abs(a.end_column - b.end_column),
    )


def enclosing_scope(module: Module, node: ast.AST) -> Scope:
    """The innermost function around a node; the module itself at top level."""
    best: Scope = module.tree
    for parent in parents(module.tree, node):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            best = parent
    return best


def parents(root: ast.AST, node: ast.AST) -> list[ast.AST]:
    """The nodes from ``root`` down to but not including ``node``; empty where it is not inside."""
    line = getattr(node, "lineno", None)
    for child in ast.iter_child_nodes(root):
        if child is node:
            return [root]
        first = getattr(child, "lineno", None)
        last = getattr(child, "end_lineno", None)
        # Decorators stand above the line a function says it starts on.
        decorated = bool(getattr(child, "decorator_list", None))
        outside = (
            line is not None
            and first is not None
            and last is not None
            and (line > last or (line < first and not decorated))
        )
        if not outside:
            found = parents(child, node)
            if found:
                return [root, *found]
    return []


def host_scope(module: Module, launch: Launch) -> Scope:
    """The function a launch stands in."""
    return enclosing_scope(module, launch.node)


def statement_of(scope: Scope, node: ast.AST) -> ast.stmt | None:
    """The innermost statement around a node within a function, or the node if it is one."""
    if isinstance(node, ast.stmt):
        return node
    around = [n for n in parents(scope, node)[1:] if isinstance(n, ast.stmt)]
    return around[-1] if around else None


def statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """Every statement inside, in text order, not entering nested functions' bodies twice."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from statements(child)


def block_of(scope: ast.AST, statement: ast.stmt) -> list[ast.stmt]:
    """The list of statements that a statement stands in."""
    for node in ast.walk(scope):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and any(s is statement for s in block):
                return block
    return [statement]


def targets_of(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement itself sets (not those set by statements inside it)."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AugAssign | ast.AnnAssign, ast.For | ast.AsyncFor)):
        targets = [statement.target]
    elif isinstance(statement, ast.With | ast.AsyncWith):
        targets = [item.optional_vars for item in statement.items if item.optional_vars]
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield from (n.target.id for n in ast.walk(child) if isinstance(n, ast.NamedExpr))


@lru_cache(maxsize=256)
def definitions(scope: ast.AST) -> Mapping[str, tuple[ast.stmt, ...]]:
    """Each name to the statements that set it. Cached by node: parsed trees never change."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in statements(scope):
        for name in targets_of(statement):
            found.setdefault(name, []).append(statement)
    return {name: tuple(made) for name, made in found.items()}


def assignments(scope: ast.AST, name: str) -> list[ast.stmt]:
    """Every statement that sets a name, in text order."""
    return list(definitions(scope).get(name, ()))


def set_in(scope: ast.AST) -> set[str]:
    """Every name that some statement inside sets."""
    return set(definitions(scope))


def uses(scope: ast.AST, name: str) -> list[ast.Name]:
    """Every place that reads a name (an augmented assignment reads its target as well)."""
    return [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ] + [
        node.target
        for node in ast.walk(scope)
        if isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == name
    ]


def only_value(scope: ast.AST, name: str) -> ast.expr | None:
    """The expression a name holds when exactly one plain assignment sets it, else None.

    Tuple assignments pair up; ``M, K = a.shape`` gives None for both.
    """
    found = assignments(scope, name)
    if len(found) != 1 or name in parameters(scope):
        return None
    return value_in(found[0], name)


def value_in(statement: ast.stmt, name: str) -> ast.expr | None:
    """What a plain assignment gives to one of its names."""
    if isinstance(statement, ast.AnnAssign):
        return statement.value
    if not isinstance(statement, ast.Assign):
        return None
    for target in statement.targets:
        if isinstance(target, ast.Name) and target.id == name:
            return statement.value
        value = statement.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for part, part_value in zip(target.elts, value.elts, strict=False):
                if isinstance(part, ast.Name) and part.id == name:
                    return part_value
    return None


def parameters(scope: ast.AST) -> set[str]:
    """The names a function's signature sets."""
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return set()
    a = scope.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return {arg.arg for arg in every}


def names_in(node: ast.AST) -> set[str]:
    """Every name an expression or statement reads."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def reaching_names(scope: ast.AST, node: ast.AST) -> set[str]:
    """Names an expression depends on, through any assignment of the function, transitively."""
    sources: dict[str, set[str]] = {}
    for name, made in definitions(scope).items():
        sources[name] = {n for statement in made for n in names_in(_source_of(statement))}
    found: set[str] = set()
    pending = list(names_in(node))
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += sources.get(name, ())
    return found


def _source_of(statement: ast.stmt) -> ast.AST:
    if isinstance(statement, ast.Assign | ast.AugAssign):
        return statement.value
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return statement.value
    if isinstance(statement, ast.For):
        return statement.iter
    return ast.Tuple(elts=[], ctx=ast.Load())


def same(a: ast.AST | None, b: ast.AST | None) -> bool:
    """Whether two expressions are written alike."""
    if a is None or b is None:
        return a is b
    return ast.dump(a) == ast.dump(b)


def literal_int(node: ast.AST | None) -> int | None:
    """The value of an integer literal; None for anything else, booleans included."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """One keyword argument of a call."""
    return next((k for k in call.keywords if k.arg == name), None)


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """One argument of a call, given by place or by name."""
    if position < len(call.args) and not any(
        isinstance(a, ast.Starred) for a in call.args[: position + 1]
    ):
        return call.args[position]
    found = keyword(call, name)
    return found.value if found else None
