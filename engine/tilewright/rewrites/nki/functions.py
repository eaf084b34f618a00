"""Rewrites of NKI kernels that use a function which the Scalar engine has."""

import ast

from tilewright.analysis.detectors.nki.instructions.fusions import (
    incremented,
    inverted,
    is_exp_of_negative,
    is_sqrt,
)
from tilewright.analysis.detectors.nki.kernels import only_use
from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.analysis.nki import Operation, View
from tilewright.analysis.nki.catalogue import ISA, NL
from tilewright.rewrites.calls import local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.nki.statements import (
    NOT_HERE,
    Link,
    StatementSite,
    drop_producer,
    is_rounded,
    link_of,
    others,
    positional_only_known,
    prefix,
    put_call,
    same_operand,
    site_of,
    source,
)
from tilewright.source.model import Module

_INVERSES = (ISA + "reciprocal", NL + "reciprocal", NL + "divide")


@rewrite("nki_sqrt_then_reciprocal", "Use rsqrt", Numerics.REASSOCIATING)
def nki_rsqrt(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """The reciprocal of a square root is one function of the Scalar engine."""
    site = site_of(module, issue)
    used = _inverse(site)
    if used is None:
        raise RefusedError(NOT_HERE)
    link = link_of(site, used, inverted(used))
    made, patch = link.made, Patch(module)
    if not is_sqrt(made) or not positional_only_known(made):
        raise RefusedError("what is inverted is no square root")
    if is_rounded(made, used):
        raise RefusedError("the root is rounded to a type that is given")
    if made.name == NL + "sqrt":
        if "dst" in used.given:
            raise RefusedError("the root is returned, and its reciprocal is written to a tile")
        arguments = {"x": source(patch, made, "x")}
        put_call(patch, used, prefix(patch, made) + "rsqrt", arguments, others(patch, made, "x"))
    else:
        root = source(patch, made, "op").replace("sqrt", "rsqrt")
        arguments = {"op": root, "data": source(patch, made, "data")}
        kept = others(patch, made, "op", "data")
        put_call(patch, used, prefix(patch, made) + "activation", arguments, kept)
    drop_producer(site, patch, link)
    return patch.apply()


def _inverse(site: StatementSite) -> Operation | None:
    """The reciprocal of the statement."""
    return next((o for o in site.named(*_INVERSES) if inverted(o) is not None), None)


@rewrite(
    "nki_sigmoid_by_hand",
    "Use sigmoid, or silu where it is multiplied by its argument",
    Numerics.REASSOCIATING,
)
def nki_sigmoid(module: Module, issue: Issue, context: AnalysisContext) -> str:
    """``1 / (1 + exp(-x))`` is sigmoid, and ``x`` times it, where that is its use, silu."""
    site = site_of(module, issue)
    used = _inverse(site)
    if used is None:
        raise RefusedError(NOT_HERE)
    outer = link_of(site, used, inverted(used))
    inner = link_of(site, outer.made, incremented(outer.made))
    made = inner.made
    if not is_exp_of_negative(site.flow, made) or not positional_only_known(made):
        raise RefusedError("what 1 is added to is not exp of a negated tile")
    if is_rounded(made, used) or is_rounded(outer.made, used):
        raise RefusedError("a step is rounded to a type that is given")
    patch, product = Patch(module), _product_with(site, used, made)
    last, name = (used, "sigmoid") if product is None else (product.used, "silu")
    arguments = {"op": local_name(module, NL + name), "data": _argument(patch, made)}
    kept = others(patch, last, "data", "x", "y", "data1", "data2", "op")
    put_call(patch, last, local_name(module, ISA + "activation"), arguments, kept)
    links = (inner, outer) if product is None else (inner, outer, product)
    for link in links:
        drop_producer(site, patch, link)
    return patch.apply()


def _argument(patch: Patch, made: Operation) -> str:
    """The text of x in an exp of -x."""
    if made.name == ISA + "activation":
        return source(patch, made, "data")
    given = made.given["x"]
    assert isinstance(given, ast.UnaryOp)
    return patch.source(given.operand)


def _product_with(site: StatementSite, used: Operation, made: Operation) -> Link | None:
    """The product of the sigmoid with its own argument, where it is the sigmoid's only use."""
    view = used.result if used.result is not None else used.operands.get("dst")
    argument = made.operands.get("data", made.operands.get("x"))
    reader = only_use(site.flow, view) if view is not None else None
    if view is None or argument is None or reader is None or not positional_only_known(reader):
        return None
    if reader.name == ISA + "tensor_tensor" and not _multiplies(reader):
        return None
    if reader.name not in (ISA + "tensor_tensor", NL + "multiply") or is_rounded(used, reader):
        return None
    pair = list(_factors(reader))
    mine = [v for v in pair if v.storage is view.storage]
    factor = [v for v in pair if v.storage is not view.storage]
    if len(mine) != 1 or len(factor) != 1 or not same_operand(factor[0], argument):
        return None
    try:
        return link_of(site, reader, mine[0])
    except RefusedError:
        return None


def _multiplies(operation: Operation) -> bool:
    value = operation.values.get("op")
    return getattr(value, "dotted", "").rpartition(".")[2] == "multiply"


def _factors(operation: Operation) -> list[View]:
    names = ("data1", "data2", "x", "y")
    return [operation.operands[name] for name in names if name in operation.operands]
