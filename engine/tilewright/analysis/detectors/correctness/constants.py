"""Detector of run-time values where the compiler needs to know a number."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, nodes_of, source_of, triton_kernels
from tilewright.analysis.detectors.correctness.entries import is_launched
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import per_kernel
from tilewright.python_syntax import descendants
from tilewright.source.host import resolve
from tilewright.source.model import Kernel, Module

_ALL_ARGUMENTS = frozenset((TL + "arange", TL + "static_range"))
_FIRST_ARGUMENT = frozenset((TL + "zeros", TL + "full"))
_AFTER_FIRST = frozenset((TL + "reshape", TL + "view", TL + "broadcast_to"))
_COMPUTES = frozenset((TL + "cdiv", "triton.cdiv", TL + "minimum", TL + "maximum", "min", "max"))


@detector("shape_not_constexpr")
def shape_not_constexpr(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Extents of tiles, and bounds of unrolled loops, that are run-time values."""
    for kernel, _ in triton_kernels(module):
        sites = _sites(module, kernel)
        if not sites:
            continue
        run_time = _run_time_locals(module, kernel)
        # Launches of a name that several functions define kernels of are not told apart.
        is_told = kernel.name not in module.lookup.defined_in_several
        if is_told and is_launched(module, kernel, context):
            given = {p.name for p in kernel.parameters if not p.is_constexpr}
            given -= _given_as_constants(module, kernel)
            run_time = {**dict.fromkeys(given, "parameter"), **run_time}
        told: set[tuple[ast.Call, str]] = set()
        for call, argument in sites:
            name = next((n for n in _names_in(module, argument) if n in run_time), None)
            if name is not None and (call, name) not in told:
                told.add((call, name))
                yield _finding(module, kernel, call, argument, name, run_time[name])


def _finding(
    module: Module, kernel: Kernel, call: ast.Call, argument: ast.expr, name: str, kind: str
) -> Finding:
    what = {
        "parameter": f"{name} is a run-time argument and no tl.constexpr",
        "local": f"{name} is assigned without a tl.constexpr annotation, which makes it a run-time "
        "value",
        "index": f"{name} counts a loop that is not unrolled",
    }[kind]
    return Finding(
        module.index.range_of(argument),
        f"{source_of(module, call.func)} has to know this number when it compiles, but {what}.",
        kernel.name,
    )


def _given_as_constants(module: Module, kernel: Kernel) -> set[str]:
    """Parameters that each launch passes ``tl.constexpr(n)`` for, or a tuple of such: constants."""
    given = [
        {
            name
            for name, argument in launch.arguments.items()
            if any(
                module.names.is_call(node, TL + "constexpr")
                for node in ast.walk(resolve(module, launch, argument))
            )
        }
        for launch in module.launches_of(kernel.name)
    ]
    return set.intersection(*given) if given else set()


@per_kernel
def _sites(module: Module, kernel: Kernel) -> tuple[tuple[ast.Call, ast.expr], ...]:
    """Calls with the arguments of theirs that have to be known."""
    found = []
    for call in nodes_like(kernel.node, ast.Call):
        dotted = module.names.resolve(call.func)
        if dotted in _ALL_ARGUMENTS:
            found += [(call, argument) for argument in call.args]
        elif dotted in _FIRST_ARGUMENT:
            shapes = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "shape")]
            found += [(call, part) for shape in shapes for part in _parts(shape)]
        elif dotted in _AFTER_FIRST:
            found += [(call, part) for shape in call.args[1:] for part in _parts(shape)]
    return tuple(found)


def _parts(shape: ast.expr) -> list[ast.expr]:
    return shape.elts if isinstance(shape, ast.Tuple | ast.List) else [shape]


def _names_in(module: Module, node: ast.expr) -> Iterator[str]:
    """Names whose being run-time values makes the expression one."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.BinOp(left=left, right=right):
            yield from _names_in(module, left)
            yield from _names_in(module, right)
        case ast.UnaryOp(operand=operand):
            yield from _names_in(module, operand)
        case ast.Call(func=func, args=args) if module.names.resolve(func) in _COMPUTES:
            for argument in args:
                yield from _names_in(module, argument)


@per_kernel
def _run_time_locals(module: Module, kernel: Kernel) -> dict[str, str]:
    """Local names that only plain assignments and loops bind, never an annotated one."""
    bound: dict[str, str] = {}
    excluded = {p.name for p in kernel.parameters}
    for node in nodes_of(kernel.node):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_arithmetic(value):
                bound.setdefault(name, "local")
            case ast.AugAssign(target=ast.Name(id=name)):
                bound.setdefault(name, "local")
            case ast.For(target=ast.Name(id=name)):
                is_unrolled = module.names.is_call(node.iter, TL + "static_range")
                if is_unrolled or not isinstance(node.iter, ast.Call):
                    excluded.add(name)
                else:
                    bound.setdefault(name, "index")
            case ast.Assign(targets=targets):
                excluded.update(
                    n.id for t in targets for n in descendants(t) if isinstance(n, ast.Name)
                )
            case ast.AnnAssign(target=ast.Name(id=name)):
                excluded.add(name)
            case ast.NamedExpr() | ast.comprehension():
                excluded.update(n.id for n in descendants(node.target) if isinstance(n, ast.Name))
    return {name: kind for name, kind in bound.items() if name not in excluded}


def _is_arithmetic(value: ast.expr) -> bool:
    """A number or arithmetic: what an assignment without annotation makes a run-time value."""
    if isinstance(value, ast.BinOp):
        return _is_arithmetic(value.left) and _is_arithmetic(value.right)
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    return isinstance(value, ast.Name | ast.Call)
