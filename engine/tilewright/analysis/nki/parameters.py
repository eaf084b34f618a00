"""Parameters of an NKI kernel: tensors in HBM, with what the text says of their shapes."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import tilewright.analysis.nki.expressions as ex
from tilewright.analysis.nki.affine import Affine
from tilewright.analysis.nki.evaluate import value_of
from tilewright.analysis.nki.facts import NUMBER
from tilewright.analysis.nki.flow import Flow
from tilewright.analysis.nki.model import NOTHING_KNOWN, Fact, Kind, Memory, Origin, Shape
from tilewright.analysis.nki.state import State, whole
from tilewright.analysis.nki.values import UNKNOWN, Literal, Value
from tilewright.python_syntax import parameter_defaults
from tilewright.source.names import Names

_PLAIN = frozenset({"int", "float", "bool", "str", "tuple", "list", "dict"})


@dataclass(frozen=True)
class TensorGiven:
    """A tensor that is passed; ``dtype`` as NKI names it: "float32"."""

    shape: tuple[int, ...]
    dtype: str


Given = TensorGiven | int | float | bool | str | None
"""An argument of a launch."""


def bind_parameters(
    state: State, node: ast.FunctionDef, launched: Mapping[str, Given] | None = None
) -> None:
    """Put a kernel's parameters into the environment, with the arguments of a launch if any."""
    given = parameter_defaults(node.args)
    ranks = _ranks(node, {p.arg for p, _ in given})
    for parameter, default in given:
        name = parameter.arg
        plain = _is_plain(parameter.annotation)
        state.bind(name, NUMBER if plain else Fact(Kind.ARGUMENT, name=name), None)
        if launched is not None and name in launched:
            state.env[name] = _passed(state, parameter, launched[name])
            continue
        if default is not None:
            known = value_of(state, default) if launched is not None else UNKNOWN
            state.env[name] = ex.size_symbol(name, None) if known == UNKNOWN else known
            continue
        shape = _annotated(state, parameter.annotation)
        if shape is None and name in ranks:
            shape = tuple(ex.size_symbol(name, axis) for axis in range(ranks[name]))
        made = state.storage(
            name, shape, Memory.HBM, origin=Origin.PARAMETER, zeroed=True, node=parameter
        )
        state.env[name] = whole(made)
    for extra in (node.args.vararg, node.args.kwarg):
        if extra is not None:
            state.bind(extra.arg, NOTHING_KNOWN, None)


def _passed(state: State, parameter: ast.arg, given: Given) -> Value:
    if isinstance(given, int) and not isinstance(given, bool):
        return Affine.from_value(given)
    if not isinstance(given, TensorGiven):
        return Literal(given)
    made = state.storage(
        parameter.arg,
        tuple(Affine.from_value(side) for side in given.shape),
        Memory.HBM,
        dtype=given.dtype,
        origin=Origin.PARAMETER,
        zeroed=True,
        node=parameter,
    )
    return whole(made)


def _is_plain(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id in _PLAIN


def _annotated(state: State, annotation: ast.expr | None) -> Shape | None:
    """``x: nt.tensor[128, 512]``."""
    if annotation is None:
        return None
    value_of(state, annotation)
    return annotated_shape(state.names, state.flow, annotation)


def annotated_shape(names: Names, flow: Flow, annotation: ast.expr) -> Shape | None:
    """The shape that ``nt.tensor[128, 512]`` states, once it is evaluated; None of all else."""
    if not isinstance(annotation, ast.Subscript):
        return None
    dotted = names.resolve(annotation.value) or ""
    if not dotted.rpartition(".")[2].endswith("tensor"):
        return None
    inner = annotation.slice
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    sides = [ex.as_integer(flow.value(part)) for part in parts]
    known = [side for side in sides if side is not None]
    return tuple(known) if known and len(known) == len(sides) else None


def _ranks(node: ast.FunctionDef, parameters: set[str]) -> dict[str, int]:
    """Ranks of arguments, where their shape is unpacked or asserted."""
    ranks: dict[str, int] = {}
    rebound: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            rebound.add(part.id)
        for name, other in _shape_pairs(part):
            if isinstance(other, ast.Tuple | ast.List) and not any(
                isinstance(e, ast.Starred) for e in other.elts
            ):
                ranks.setdefault(name, len(other.elts))
    return {n: rank for n, rank in ranks.items() if n in parameters and n not in rebound}


def _shape_pairs(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    pairs: list[tuple[ast.expr, ast.expr]] = []
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        pairs.append((node.value, node.targets[0]))
    elif isinstance(node, ast.Assert):
        for test in asserted(node):
            sides = [test.left, *test.comparators]
            pairs += [(one, two) for one in sides for two in sides if one is not two]
    for one, two in pairs:
        if isinstance(one, ast.Call) and len(one.args) == 1 and isinstance(one.func, ast.Name):
            one = one.args[0]
        if (
            isinstance(one, ast.Attribute)
            and one.attr == "shape"
            and isinstance(one.value, ast.Name)
        ):
            yield one.value.id, two


def asserted(node: ast.Assert) -> Iterator[ast.Compare]:
    """The equalities that an assert states."""
    test = node.test
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    if isinstance(test, ast.BoolOp) and not isinstance(test.op, ast.And):
        return
    for part in parts:
        if isinstance(part, ast.Compare) and all(isinstance(op, ast.Eq) for op in part.ops):
            yield part
