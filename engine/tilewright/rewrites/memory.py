"""Rewrites of the memory_access stage: host synchronization and strides known to be one."""

import ast
import re

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.rewrites.calls import local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.scope import (
    Scope,
    argument_facts,
    at_issue,
    block_of,
    enclosing_scope,
    kernel_named,
    set_in,
    statement_of,
)
from tilewright.source.host import provably_stride_one
from tilewright.source.model import Kernel, Module

_SYNCHRONIZE = tuple(
    f"torch.{device}.synchronize" for device in ("cuda", "xpu", "accelerator", "hip")
)
_INTEGER_TYPE = re.compile(r"int|u?int(8|16|32|64)|[iu](8|16|32|64)")
_CLOCKS = ("time.", "torch.cuda.Event", "torch.xpu.Event", "triton.testing.")


@rewrite("device_host_sync", "Remove the synchronization", Numerics.EXACT)
def drop_synchronize(module: Module, issue: Issue, context: AnalysisContext) -> str:
    calls = [n for n in ast.walk(module.tree) if module.names.is_call(n, *_SYNCHRONIZE)]
    found = at_issue(module, issue, calls)
    if not found:
        raise RefusedError(
            "only a synchronize() can be dropped; here the host reads a value it needs"
        )
    scope = enclosing_scope(module, found[0])
    statement = statement_of(scope, found[0])
    if not isinstance(statement, ast.Expr) or statement.value is not found[0]:
        raise RefusedError("the synchronize() is part of a larger statement")
    if not any(_inside(scope, launch.node) for launch in module.launches):
        raise RefusedError("the function launches no kernel of this file")
    if _measures_time(module, scope):
        raise RefusedError("the function measures time, which needs the synchronization")
    patch = Patch(module)
    whole = _widest(scope, statement)
    if not patch.owns_lines(whole):
        raise RefusedError("the synchronize() shares its line with another statement")
    if block_of(scope, whole) == [whole]:
        patch.replace(whole, "pass")
    else:
        patch.delete_lines(whole)
    return patch.apply()


def _inside(scope: Scope, node: ast.AST) -> bool:
    return any(n is node for n in ast.walk(scope))


def _measures_time(module: Module, scope: Scope) -> bool:
    return any(
        (module.names.resolve(n.func) or "").startswith(_CLOCKS)
        for n in ast.walk(scope)
        if isinstance(n, ast.Call)
    )


def _widest(scope: Scope, statement: ast.stmt) -> ast.stmt:
    """The ``if`` around a statement that guards nothing else and tests without effect."""
    for node in ast.walk(scope):
        if isinstance(node, ast.If) and node.body == [statement] and not node.orelse:
            pure = not any(isinstance(n, ast.NamedExpr | ast.Await) for n in ast.walk(node.test))
            calls = [n for n in ast.walk(node.test) if isinstance(n, ast.Call)]
            asks = all(isinstance(c.func, ast.Attribute) and _asks(c.func.attr) for c in calls)
            in_elif = any(
                isinstance(n, ast.If) and n.orelse == [node] and n is not node
                for n in ast.walk(scope)
            )
            return node if pure and asks and not in_elif else statement
    return statement


def _asks(name: str) -> bool:
    return name.startswith(("is_", "has_"))


@rewrite("stride_one_runtime", "Make the stride of 1 a constexpr", Numerics.EXACT)
def constexpr_stride(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """A constexpr 1 is folded ahead of time.

    Triton's JIT folds a plain integer argument that equals 1, but not one with an annotated type
    or listed in do_not_specialize; a constexpr it folds always. Any other value stays correct
    too, at the price of one more compilation.
    """
    kernel = kernel_named(module, issue)
    name = _parameter_at(module, kernel, issue)
    arg = next((a for a in kernel.node.args.args if a.arg == name), None)
    parameter = kernel.parameter(name) if name else None
    if arg is None or parameter is None or parameter.is_constexpr:
        raise RefusedError("the issue does not underline a run-time parameter")
    _check_stride(module, kernel, arg, context)
    patch = Patch(module)
    annotations = [a.annotation for a in kernel.node.args.args if a.arg in kernel.constexprs]
    given = next((patch.source(a) for a in annotations if a is not None), None)
    spelled = given or local_name(module, "triton.language.constexpr")
    patch.replace(arg, f"{arg.arg}: {spelled}")
    return patch.apply()


def _parameter_at(module: Module, kernel: Kernel, issue: Issue) -> str | None:
    found = at_issue(module, issue, kernel.node.args.args)
    if found and isinstance(found[0], ast.arg):
        return found[0].arg
    names = [n for n in ast.walk(kernel.node) if isinstance(n, ast.Name)]
    touched = at_issue(module, issue, [n for n in names if kernel.parameter(n.id)])
    return touched[0].id if touched and isinstance(touched[0], ast.Name) else None


def _check_stride(module: Module, kernel: Kernel, arg: ast.arg, context: AnalysisContext) -> None:
    name = arg.arg
    if arg.annotation is not None and not _is_integer_type(module, arg.annotation):
        raise RefusedError(f"{name} has an annotation already")
    if name in set_in(kernel.node):
        raise RefusedError(f"{name} is changed in the kernel")
    if any(
        isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name
        for n in ast.walk(kernel.node)
    ):
        raise RefusedError(f"{name} is used as a run-time value: an attribute of it is read")
    launches = module.launches_of(kernel.name)
    proven = bool(launches) and all(provably_stride_one(module, x, name) for x in launches)
    values = {facts.value for facts in argument_facts(context, kernel.name, name)}
    if not proven and values != {1}:
        raise RefusedError(f"{name} is not known to be 1 at every launch")


def _is_integer_type(module: Module, annotation: ast.expr) -> bool:
    """Whether an annotation says that an argument is a run-time integer and nothing else."""
    if isinstance(annotation, ast.Constant):
        name = str(annotation.value)
    else:
        name = module.names.resolve(annotation) or ""
    return _INTEGER_TYPE.fullmatch(name.removeprefix("triton.language.")) is not None
