"""Rewinds of host code and JIT annotations: waiting, and strides that are not folded."""

import ast
from collections.abc import Iterator

from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.values import walk
from tilewright.rewrites.calls import append_keywords, imports, local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.rewinds.model import Rewind, Rewound
from tilewright.rewrites.scope import enclosing_scope, set_in, statement_of
from tilewright.source.host import provably_stride_one
from tilewright.source.model import Kernel, Module

_MEASURES = ("bench", "test", "profile", "main", "run_bench")
_CLOCKS = {"elapsed_time", "perf_counter", "perf_counter_ns", "do_bench", "time"}


def _synchronize(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    if not imports(module, "torch"):
        return
    for launch in module.launches_of(kernel.name):
        scope = enclosing_scope(module, launch.node)
        statement = statement_of(scope, launch.node)
        if not isinstance(scope, ast.FunctionDef) or not isinstance(statement, ast.Expr):
            continue
        patch = Patch(module)
        if statement.value is not launch.node or not patch.owns_lines(statement):
            continue
        if scope.name.startswith(_MEASURES) or _has_clock(scope):
            continue
        call = f"{local_name(module, 'torch')}.cuda.synchronize()"
        end = patch.span(statement)[1]
        patch.splice(end, end, f"{patch.newline}{patch.indent(statement)}{call}")
        yield Rewound(patch.apply(), (statement.end_lineno or statement.lineno) + 1, context)


def _has_clock(scope: ast.FunctionDef) -> bool:
    attributes = {n.attr for n in ast.walk(scope) if isinstance(n, ast.Attribute)}
    return bool((attributes | {n.id for n in ast.walk(scope) if isinstance(n, ast.Name)}) & _CLOCKS)


def _runtime_stride(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    launches = module.launches_of(kernel.name)
    for argument in (*kernel.node.args.args, *kernel.node.args.kwonlyargs):
        if not launches or not _scales_tile(module, kernel, argument.arg):
            continue
        if not all(provably_stride_one(module, launch, argument.arg) for launch in launches):
            continue
        parameter = kernel.parameter(argument.arg)
        if argument.annotation is None or (parameter is not None and parameter.is_constexpr):
            yield _annotated(module, argument, context)
        if argument.annotation is None:
            yield from _listed(module, kernel, argument, context)


def _scales_tile(module: Module, kernel: Kernel, name: str) -> bool:
    """Whether an address multiplies the elements of a tile by a parameter."""
    flow = flow_of(module, kernel)
    return name not in set_in(kernel.node) and any(
        value.is_binary("Mult")
        and any(o.op == "param" and o.detail == name for o in value.operands)
        and any(part.op == "arange" for part in walk(value))
        for access in flow.accesses
        for value in walk(access.pointer)
    )


def _annotated(module: Module, argument: ast.arg, context: AnalysisContext) -> Rewound:
    patch = Patch(module)
    kind = local_name(module, "triton.language.int32")
    patch.replace(argument, f"{argument.arg}: {kind}")
    return Rewound(patch.apply(), patch.new_line(patch.span(argument)[0]), context, "annotated")


def _listed(
    module: Module, kernel: Kernel, argument: ast.arg, context: AnalysisContext
) -> Iterator[Rewound]:
    """``@triton.jit(do_not_specialize=[...])``."""
    for decorator in kernel.node.decorator_list:
        if module.names.resolve(decorator) == "triton.jit":
            patch = Patch(module)
            source = patch.source(decorator)
            patch.replace(decorator, f'{source}(do_not_specialize=["{argument.arg}"])')
            yield Rewound(patch.apply(), argument.lineno, context, "not specialized")
        elif (
            isinstance(decorator, ast.Call)
            and module.names.is_call(decorator, "triton.jit")
            and not any(k.arg == "do_not_specialize" for k in decorator.keywords)
        ):
            patch = Patch(module)
            append_keywords(patch, decorator, [f'do_not_specialize=["{argument.arg}"]'])
            line = patch.new_line(patch.span(argument)[0])
            yield Rewound(patch.apply(), line, context, "not specialized")


REWINDS = (
    Rewind(
        issue="device_host_sync",
        name="rewind_drop_synchronize",
        rewrite="drop_synchronize",
        applies="Behind every launch that is a statement of a function that measures nothing.",
        apply=_synchronize,
    ),
    Rewind(
        issue="stride_one_runtime",
        name="rewind_constexpr_stride",
        rewrite="constexpr_stride",
        applies="Every parameter that scales a tile's elements in an address and is 1 at all "
        "launches of the file, annotated with an integer type or listed in do_not_specialize.",
        apply=_runtime_stride,
    ),
)
