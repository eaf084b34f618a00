"""Detector of methods of tiles that are asked of what is a Python number when Triton compiles."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import decorators_known, triton_kernels
from tilewright.analysis.detectors.correctness.entries import is_launched
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.detectors.varying_sizes import Variety, is_width, varying
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Flow
from tilewright.knowledge.model import ADVICE
from tilewright.source.host import provably_stride_one, resolve
from tilewright.source.model import Kernel, Module, Parameter

_METHODS = ("to", "cast")
_MOST_FACTORS = 2
"""Extents of a product that are likely to be 1 together."""


@detector("method_of_number")
def method_of_number(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``n.to(tl.int64)`` of a constexpr, or of an integer argument that is 1."""
    for kernel, flow in triton_kernels(module):
        # In a call between kernels an argument stays what it is, whatever the annotation says.
        if not is_launched(module, kernel, context):
            continue
        first: dict[Parameter, ast.Call] = {}
        for call, parameter in methods_of_numbers(kernel, flow):
            first.setdefault(parameter, call)
        for parameter, call in first.items():
            found = _finding(module, context, kernel, call, parameter)
            if found is not None:
                yield found


def methods_of_numbers(kernel: Kernel, flow: Flow) -> Iterator[tuple[ast.Call, Parameter]]:
    """Casts, written as a method, of parameters that Triton may replace by their value."""
    for call in nodes_like(kernel.node, ast.Call):
        match call.func:
            case ast.Attribute(value=ast.Name() as name, attr=attr) if attr in _METHODS:
                parameter = number_parameter(kernel, flow, name)
                if parameter is not None:
                    yield call, parameter


def number_parameter(kernel: Kernel, flow: Flow, name: ast.Name) -> Parameter | None:
    """The parameter that a name is there, if Triton may replace it by its value."""
    value, parameter = flow.values.get(name), kernel.parameter(name.id)
    is_own = value is not None and value.op == "param"
    if parameter is None or not is_own or name.id in _names_in_conditions(kernel):
        return None
    return parameter if parameter.is_constexpr or _is_specialized(kernel, parameter) else None


def _is_specialized(kernel: Kernel, parameter: Parameter) -> bool:
    """Whether Triton puts an integer argument of 1 into the kernel as a number.

    It does unless the type is annotated or the decorator says ``do_not_specialize``.
    """
    kept, arguments = kernel.do_not_specialize, kernel.node.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    is_typed = any(a.arg == parameter.name and a.annotation is not None for a in every)
    return kept is not None and parameter.name not in kept and not is_typed


def _names_in_conditions(kernel: Kernel) -> frozenset[str]:
    """Names that a condition of the kernel asks about: it may leave out the line where one is 1."""
    tests = [
        *(branch.test for branch in nodes_like(kernel.node, ast.If)),
        *(branch.test for branch in nodes_like(kernel.node, ast.IfExp)),
    ]
    parts = (part for test in tests for part in ast.walk(test))
    return frozenset(part.id for part in parts if isinstance(part, ast.Name))


def _finding(
    module: Module, context: AnalysisContext, kernel: Kernel, call: ast.Call, parameter: Parameter
) -> Finding | None:
    name, where = parameter.name, module.index.range_of(call)
    if parameter.is_constexpr:
        text = f"{name} is a tl.constexpr, a Python number without methods: this does not compile"
        return Finding(where, f"{text}; tl.cast({name}, ...) does.", kernel.name)
    known = _where_one(module, context, kernel, name)
    if known is None:
        return None
    when, places = known
    text = (
        f"{name} {when}, and Triton compiles an integer argument of 1 as a Python number, which "
        f"has no methods: this does not compile then; tl.cast({name}, ...) does."
    )
    return Finding(where, text, kernel.name, places, severity=None if places else ADVICE)


def _factors(node: ast.expr) -> list[ast.expr]:
    """What a product is of, without numbers."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_factors(node.left), *_factors(node.right)]
    return [] if isinstance(node, ast.Constant) else [node]


def _where_one(
    module: Module, context: AnalysisContext, kernel: Kernel, name: str
) -> tuple[str, tuple[Related, ...]] | None:
    """When an argument is 1, and the launches that pass it; no launch where it is so at times."""
    launches = [launch for launch in module.launches_of(kernel.name) if name in launch.arguments]
    captured = [facts.argument(name) for facts in context.launches if facts.kernel == kernel.name]
    if any(one is not None and one.kind == "int" and one.value == 1 for one in captured):
        return "is 1 in a captured launch", (Related("this kernel", kernel.name_range),)
    ones = [
        launch.arguments[name] for launch in launches if provably_stride_one(module, launch, name)
    ]
    if ones:
        places = [Related("1 here", module.index.range_of(node)) for node in ones]
        return "is 1 at a launch in this file", tuple(places)
    if is_width(name) or not decorators_known(module, kernel):
        return None
    for launch in launches:
        found = varying(module, launch, launch.arguments[name])
        if len(_factors(resolve(module, launch, launch.arguments[name]))) > _MOST_FACTORS:
            continue
        if found is not None and found.variety >= Variety.BATCHES:
            return f"is 1 where {found.what} is", ()
    return None
