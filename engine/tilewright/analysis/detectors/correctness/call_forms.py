"""Calls that the compiler does not take, by their parameters and results, and such defaults."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.detectors.correctness.language import language_name
from tilewright.analysis.nodes import nodes_like
from tilewright.knowledge.api import Version
from tilewright.knowledge.language_notes import Argument, arguments_of
from tilewright.python_syntax import parameter_defaults, passes_unseen
from tilewright.source.model import Kernel, Language, Module, Parameter

_SEVERAL = frozenset(
    ("split", "rand4x", "randn4x", "randint4x", "associative_scan", "reduce", "philox", "topk",
     "inline_asm_elementwise", "map_elementwise", "pair_uniform_to_normal", "tuple", "static_range",
     "range", "swizzle2d", "philox_impl", "broadcast")
)  # fmt: skip
"""Functions whose result may be taken apart."""
_PAIRS = frozenset(("max", "min"))
_TAKES_STRINGS = (3, 7)
"""The first version in which a call may leave out a constexpr whose default is a string."""


def refused_calls(module: Module, kernel: Kernel) -> Iterator[tuple[ast.expr, str]]:
    """Calls with missing or surplus arguments, and one result that is taken for several."""
    for call in nodes_like(kernel.node, ast.Call):
        name = language_name(call.func, module.names)
        arguments = () if name is None else arguments_of(TL + name, None)
        what = None if not arguments else _misfit(call, arguments)
        if what is not None:
            yield call, f"tl.{name} {what}"
    for statement in nodes_like(kernel.node, ast.Assign):
        name = _single_result(module, statement.value)
        count = max((_count(target) for target in statement.targets), default=1)
        if name is not None and count > 1:
            yield statement.value, f"tl.{name}, which gives one tile, for {count} names"


def refused_defaults(
    module: Module, kernel: Kernel, version: Version | None
) -> Iterator[tuple[ast.expr, str]]:
    """Strings as defaults: of what is no constexpr, and of what a call between kernels leaves out.

    The compiler turns each default into a tensor, also where a value is given (Triton 3.3 to 3.9).
    """
    for parameter, default in _strings(kernel):
        if not parameter.is_constexpr:
            yield default, f"string as the default of {parameter.name}, which is no tl.constexpr,"
    is_old = version is not None and version < _TAKES_STRINGS
    for call in nodes_like(kernel.node, ast.Call) if is_old else ():
        called = module.lookup.named.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if called is None or called[-1].language is not Language.TRITON or passes_unseen(call):
            continue
        places = {parameter.name: n for n, parameter in enumerate(called[-1].parameters)}
        named = {keyword.arg for keyword in call.keywords}
        for parameter, _ in _strings(called[-1]):
            is_given = places[parameter.name] < len(call.args) or parameter.name in named
            if parameter.is_constexpr and not is_given:
                yield (
                    call,
                    f"call of {called[-1].name} that leaves out {parameter.name}, whose default "
                    "is a string, before version 3.7",
                )


def _strings(kernel: Kernel) -> Iterator[tuple[Parameter, ast.expr]]:
    """The parameters of a kernel whose defaults are strings."""
    args = kernel.node.args
    # The compiler visits no default of what is given by name alone.
    pairs = (pair for pair in parameter_defaults(args) if pair[0] not in args.kwonlyargs)
    defaults = {parameter.arg: default for parameter, default in pairs}
    for parameter in kernel.parameters:
        default = defaults.get(parameter.name)
        if isinstance(default, ast.Constant) and isinstance(default.value, str):
            yield parameter, default


def _misfit(call: ast.Call, arguments: tuple[Argument, ...]) -> str | None:
    if passes_unseen(call) or any(
        argument.is_variadic or argument.is_open for argument in arguments
    ):
        return None
    if len(call.args) > len(arguments):
        return f"with {len(call.args)} arguments"
    named = {keyword.arg for keyword in call.keywords}
    missing = [
        argument.name
        for argument in arguments[len(call.args) :]
        if argument.default is None and argument.name not in named
    ]
    return f"without {missing[0]}" if missing else None


def _single_result(module: Module, value: ast.expr) -> str | None:
    """The function whose one result is assigned."""
    if not isinstance(value, ast.Call):
        return None
    name = language_name(value.func, module.names)
    if name is None or name in _SEVERAL or not arguments_of(TL + name, None):
        return None
    # ``max(x, 0, return_indices=True)`` gives two.
    may_be_pair = name in _PAIRS and (len(value.args) > 2 or len(value.keywords) > 1)
    options = {keyword.arg for keyword in value.keywords}
    is_pair = name in _PAIRS and "return_indices" in options
    return None if may_be_pair or is_pair or None in options else name


def _count(target: ast.expr) -> int:
    return len(target.elts) if isinstance(target, ast.Tuple | ast.List) else 1
