"""Calls of the tile language that its functions do not take, by their parameters and results."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL
from tilewright.analysis.detectors.correctness.language import language_name
from tilewright.analysis.nodes import nodes_like
from tilewright.knowledge.language_notes import Argument, arguments_of
from tilewright.source.model import Kernel, Module

_SEVERAL = frozenset(
    ("split", "rand4x", "randn4x", "randint4x", "associative_scan", "reduce", "philox", "topk",
     "inline_asm_elementwise", "map_elementwise", "pair_uniform_to_normal", "tuple", "static_range",
     "range", "swizzle2d", "philox_impl", "broadcast")
)  # fmt: skip
"""Functions whose result may be taken apart."""
_PAIRS = frozenset(("max", "min"))


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


def _misfit(call: ast.Call, arguments: tuple[Argument, ...]) -> str | None:
    hidden = any(isinstance(given, ast.Starred) for given in call.args)
    if hidden or any(keyword.arg is None for keyword in call.keywords):
        return None
    if any(argument.is_variadic or argument.is_open for argument in arguments):
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
