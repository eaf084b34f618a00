"""Detectors of torch code around the launches that does more work than its result needs."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.algorithmic.serial import serial_loops, streamed_by_each
from tilewright.analysis.detectors.algorithmic.structure import (
    products_for_sums,
    products_of_ones,
    summed_products,
    triangular_products,
)
from tilewright.analysis.detectors.host_code.facts import extents_in, graphs, is_tensor
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, UseKind
from tilewright.analysis.host_graph.operations import (
    CONVERSIONS,
    ELEMENTWISE,
    OPERATORS,
    PRODUCTS,
    REDUCTIONS,
    VIEWS,
    short,
)
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.knowledge.model import HINT
from tilewright.source.model import Launch, Module
from tilewright.source.text import Range

_IN_KERNELS = (
    summed_products,
    products_for_sums,
    products_of_ones,
    serial_loops,
    streamed_by_each,
)
_COSTLY = ELEMENTWISE | REDUCTIONS | PRODUCTS | CONVERSIONS | {"softmax", "log_softmax", "cumsum"}
_LINEAR = frozenset({"Mult", "Div", "USub", "mul", "div", "neg", "to", "float"})
_STRUCTURED = {
    "diag": "diagonal, so that each row of the other operand is only scaled",
    "diag_embed": "diagonal, so that each row of the other operand is only scaled",
    "eye": "the identity, so that the product is the other operand",
    "ones": "constant, so that the product is a sum of the other operand",
    "ones_like": "constant, so that the product is a sum of the other operand",
    "tril": "triangular, so that about half of the products are zero",
    "triu": "triangular, so that about half of the products are zero",
}
_TRANSPOSED = ("t", "T", "mT")


def _range(module: Module, value: HostValue) -> Range:
    assert value.node is not None
    return module.index.range_of(value.node)


def _products(graph: HostGraph) -> Iterator[tuple[HostValue, HostValue, HostValue]]:
    """Matrix products of two tensors: the result, left, right."""
    for value in graph.values:
        if _is_product(value):
            yield value, value.sources[0], value.sources[1]


def _is_product(value: HostValue) -> bool:
    name = short(value.operation)
    return (
        value.origin is Origin.COMPUTED
        and name in ("matmul", "mm", "bmm", "mv", "MatMult")
        and len(value.sources) == 2
    )


def _used_once(graph: HostGraph, value: HostValue) -> bool:
    return len(graph.data_uses(value)) == 1


@detector("common_subexpression", host=True)
def common_subexpression(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """The same torch operation on the same tensors, twice in one function."""
    for _, graph, launches in graphs(module):
        seen: dict[tuple[object, ...], HostValue] = {}
        for value in graph.values:
            key = _key(value) or _helper_key(module, value)
            if key is None or not any(is_tensor(graph, s) for s in (value, *value.sources)):
                continue
            first = seen.setdefault(key, value)
            if first is value or not _still_holds(graph, first, value):
                continue
            if _counts(value.node, extents_in(graph.node)):
                continue
            assert first.node is not None
            yield Finding(
                _range(module, value),
                f"This was computed from the same tensors on line {first.node.lineno}, and torch "
                "computes it again: it runs each operation as it comes.",
                launches[0].kernel,
                related=(Related("first computed here", _range(module, first)),),
            )


def _counts(node: ast.AST | None, extents: frozenset[str]) -> bool:
    """Whether an expression is arithmetic on names that shapes are made of: Python integers."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _counts(left, extents) and _counts(right, extents)
        case ast.Name(id=name):
            return name in extents
        case ast.Constant():
            return True
    return False


def _key(value: HostValue) -> tuple[object, ...] | None:
    """What makes two values equal; None for what is cheap, or may differ each time."""
    if value.origin is not Origin.COMPUTED or value.node is None:
        return None
    if short(value.operation) not in _COSTLY and value.operation not in OPERATORS:
        return None
    keywords: tuple[str, ...] = ()
    if isinstance(value.node, ast.Call):
        keywords = tuple(str(k.arg) for k in value.node.keywords)
    return (value.operation, keywords, *map(_identity, value.sources))


def _helper_key(module: Module, value: HostValue) -> tuple[object, ...] | None:
    """What makes two calls of a function of the file equal, where it only computes."""
    node = value.node
    if value.origin is not Origin.UNKNOWN or not isinstance(node, ast.Call):
        return None
    helper = module.host_functions.get(value.operation)
    if helper is None or not value.sources or not _only_computes(module, helper):
        return None
    keywords = tuple(str(k.arg) for k in node.keywords)
    return (value.operation, keywords, *map(_identity, value.sources))


def _only_computes(module: Module, helper: ast.FunctionDef) -> bool:
    """Whether a function is assignments to names and a result, of torch operations alone."""
    body = helper.body
    if any("cache" in ast.unparse(decorator) for decorator in helper.decorator_list):
        return False
    for statement in body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_named = isinstance(statement, ast.Assign) and all(
            isinstance(target, ast.Name) for target in statement.targets
        )
        if not (is_text or is_named or isinstance(statement, ast.Return)):
            return False
    calls = [n for statement in body for n in ast.walk(statement) if isinstance(n, ast.Call)]
    return bool(calls) and all(_is_torch_operation(module, call) for call in calls)


def _is_torch_operation(module: Module, call: ast.Call) -> bool:
    dotted = module.names.resolve(call.func) or ""
    if isinstance(call.func, ast.Attribute) and not dotted.startswith("torch."):
        return call.func.attr in _COSTLY | VIEWS
    name = short(dotted)
    is_random = name.startswith("rand") or name in ("dropout", "bernoulli", "multinomial", "normal")
    is_empty = name.startswith("empty")
    return dotted.startswith("torch.") and not (is_random or is_empty)


def _identity(value: HostValue) -> object:
    """Equal literals are equal; a computed source is what it is computed from."""
    if value.is_number or value.origin is Origin.UNKNOWN:
        return ast.dump(value.node) if value.node is not None else id(value)
    if value.origin is Origin.VIEW and value.node is not None and value.sources:
        if isinstance(value.node, ast.Call) and not value.node.args:
            return (value.operation, _identity(value.sources[0]))
        if isinstance(value.node, ast.Attribute):
            return (value.operation, _identity(value.sources[0]))
    return id(value)


def _still_holds(graph: HostGraph, first: HostValue, second: HostValue) -> bool:
    """Whether the first runs before the second whenever that runs, on unchanged tensors."""
    one, two = first.place, second.place
    if two.branches[: len(one.branches)] != one.branches or one.loops != two.loops:
        return False
    roots = {graph.root(source) for source in first.sources}
    roots |= {graph.root(s) for source in first.sources for s in source.sources}
    return not any(
        one.order < use.place.order < two.order
        and use.node is not second.node
        and _changes(use.kind, use.role)
        for root in roots | {first}
        for use in graph.data_uses(root)
    )


def _changes(kind: UseKind, role: object) -> bool:
    if kind in (UseKind.IN_PLACE, UseKind.ESCAPE):
        return True
    return kind is UseKind.LAUNCH and not getattr(role, "only_reads", False)


@detector("associativity_reorder", host=True)
def associativity_reorder(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``(a @ b) @ c`` where ``a @ (b @ c)`` takes fewer operations, or the other way round."""
    for name, graph, launches in graphs(module):
        extents = Extents(name, graph, context)
        for value, left, right in _products(graph):
            for inner, at_left in ((left, True), (right, False)):
                if not _is_product(inner) or not _used_once(graph, inner):
                    continue
                a, b = inner.sources
                chain = (a, b, right) if at_left else (left, a, b)
                costs = extents.costs(*chain)
                if costs is None:
                    continue
                now, other = costs if at_left else costs[::-1]
                if other * 4 <= now * 3:
                    yield _reordered(module, launches, value, now, other, at_left)


def _reordered(
    module: Module, launches: list[Launch], value: HostValue, now: int, other: int, at_left: bool
) -> Finding:
    better = "a(bc)" if at_left else "(ab)c"
    return Finding(
        _range(module, value),
        f"Grouped as {better} this chain takes {2 * other:,} floating-point operations instead "
        f"of {2 * now:,}.",
        launches[0].kernel,
    )


@detector("gemm_simplification", host=True)
def gemm_simplification(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A product with a matrix that is diagonal, triangular or constant by construction."""
    yield from triangular_products(module, context)
    for _, graph, launches in graphs(module):
        for value, *operands in _products(graph):
            for operand in operands:
                made = operand
                while made.origin is Origin.VIEW and short(made.operation) in ("t", "T", "mT"):
                    made = made.sources[0]
                what = _STRUCTURED.get(short(made.operation))
                if what is None or not _keeps(graph, made):
                    continue
                yield Finding(
                    _range(module, value),
                    f"One operand of this product is {what}; a full product computes it all the "
                    "same.",
                    launches[0].kernel,
                )


def _keeps(graph: HostGraph, value: HostValue) -> bool:
    """Whether nothing has been written into the structured matrix."""
    if value.origin not in (Origin.ALLOCATED, Origin.COMPUTED):
        return False
    return not any(_changes(use.kind, use.role) for use in graph.data_uses(value))


@detector("suboptimal_algorithm", host=True)
def suboptimal_algorithm(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A product that is only summed, or attention with its score matrix in memory."""
    for find in _IN_KERNELS:
        yield from find(module, context)
    for _, graph, launches in graphs(module):
        for value in graph.values:
            found = _cheaper(graph, value)
            if found is not None:
                message, severity = found
                yield Finding(_range(module, value), message, launches[0].kernel, severity=severity)


def _is_cut(graph: HostGraph, value: HostValue) -> bool:
    """Whether of one result, or of the values or the places in it, the first are used alone."""
    results = [v for v in graph.values if v.operation == "item" and value in v.sources] or [value]
    for result in results:
        parts = [v for v in graph.values if result in v.sources]
        if parts and not graph.direct_uses(result) and all(map(_is_first_part, parts)):
            return True
    return False


def _is_first_part(value: HostValue) -> bool:
    """``x[:, :k]``."""
    node = value.node
    if value.origin is not Origin.VIEW or not isinstance(node, ast.Subscript):
        return False
    index = node.slice
    last = index.elts[-1] if isinstance(index, ast.Tuple) and index.elts else index
    return isinstance(last, ast.Slice) and last.lower is None and last.upper is not None


def _cheaper(graph: HostGraph, value: HostValue) -> tuple[str, int | None] | None:
    """What is said of a value that less work would give, and how sure it is that this gains."""
    if value.origin is not Origin.COMPUTED or not value.sources:
        return None
    if short(value.operation) in ("sum", "mean") and _has_axis(value):
        product = _through_linear(graph, value.sources[0])
        if product is not None and _used_once(graph, product) and not _is_batched(product):
            return (
                "The product is computed in full only to be summed over one axis; summing the "
                "operand first leaves a matrix-vector product.",
                None if _sums_an_operand(value, product) else HINT,
            )
    if short(value.operation) in ("sort", "argsort") and _is_cut(graph, value):
        # topk was slower on an H200 unless a small share of the elements was kept.
        return (
            "All is sorted, and only the first of it are used; topk finds those in one pass over "
            "the elements.",
            HINT,
        )
    if _is_product(value):
        scores = _softmax_of_product(graph, value.sources[0])
        if scores is not None:
            # This may be the path for what the kernel does not take, or for a single query.
            return (
                "The whole score matrix goes through memory for its softmax and the second "
                "product; fused attention keeps running statistics and never stores it.",
                HINT,
            )
    return None


def _sums_an_operand(value: HostValue, product: HostValue) -> bool:
    """Whether the summed axis is known to be one of a matrix: operands share those of a batch.

    It is counted from the end, or the right operand is a matrix: ``x @ w.t()``.
    """
    node = value.node
    given = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else []
    right = product.sources[1]
    is_matrix = right.origin is Origin.VIEW and short(right.operation) in ("t", "T")
    return is_matrix or any(ast.unparse(axis) in ("-1", "-2") for axis in given)


def _is_batched(product: HostValue) -> bool:
    """Whether an operand is spelled with three axes: the sum may be over the one both have."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (
            (node.func.attr in ("reshape", "view") and len(node.args) > 2)
            or (node.func.attr == "transpose" and "2" in {ast.unparse(a) for a in node.args})
        )
        for node in (ast.walk(product.node) if product.node is not None else ())
    )


def _has_axis(value: HostValue) -> bool:
    node = value.node
    return isinstance(node, ast.Call) and len(value.sources) > 1


def _through_linear(graph: HostGraph, value: HostValue) -> HostValue | None:
    """The product below scalings by numbers."""
    while not _is_product(value):
        if value.origin is not Origin.COMPUTED or short(value.operation) not in _LINEAR:
            return None
        if not _used_once(graph, value) or not all(s.is_number for s in value.sources[1:]):
            return None
        value = value.sources[0]
    return value


def _softmax_of_product(graph: HostGraph, value: HostValue) -> HostValue | None:
    """The scores of ``softmax(q @ k.T * scale) @ v``; masks and casts may lie between."""
    current, seen_softmax = value, False
    while not _is_product(current):
        name = short(current.operation)
        seen_softmax = seen_softmax or name == "softmax"
        is_step = name in ("softmax", "masked_fill", "to", "float", "Add", "Mult", "Div", "dropout")
        if current.origin is not Origin.COMPUTED or not is_step or not _used_once(graph, current):
            return None
        current = current.sources[0]
    return current if seen_softmax and _used_once(graph, current) else None


class Extents:
    """Shapes of the tensors of one host function, where they are numbers."""

    def __init__(self, function: str, graph: HostGraph, context: AnalysisContext) -> None:
        self._graph = graph
        self._given: dict[str, tuple[int, ...]] = {}
        entry = context.entry
        if entry is not None and function in (entry.function, f"{entry.function}.forward"):
            args = graph.node.args
            names = [a.arg for a in (*args.posonlyargs, *args.args) if a.arg != "self"]
            for name, argument in zip(names, entry.arguments, strict=False):
                if argument.shape is not None:
                    self._given[name] = tuple(argument.shape)

    def shape(self, value: HostValue, depth: int = 0) -> tuple[int, ...] | None:
        """The extents of a tensor."""
        if depth > 20:
            return None
        if value.origin is Origin.PARAMETER:
            return self._given.get(value.operation)
        if value.origin is Origin.ALLOCATED:
            return _stated(value)
        name = short(value.operation)
        if value.origin is Origin.VIEW:
            inner = self.shape(value.sources[0], depth + 1)
            return inner[::-1] if inner and len(inner) == 2 and name in _TRANSPOSED else None
        if value.origin is Origin.COMPUTED and name in ("matmul", "mm", "mv", "MatMult"):
            return _product(*(self.shape(s, depth + 1) for s in value.sources[:2]))
        if value.origin is Origin.COMPUTED and name in ("contiguous", "to", "float", "half"):
            return self.shape(value.sources[0], depth + 1)
        return None

    def costs(self, a: HostValue, b: HostValue, c: HostValue) -> tuple[int, int] | None:
        """Multiplications of ``(ab)c`` and of ``a(bc)``."""
        one, two, three = self.shape(a), self.shape(b), self.shape(c)
        if one is None or two is None or three is None or len(one) != 2 or len(two) != 2:
            return None
        if len(three) not in (1, 2) or one[1] != two[0] or two[1] != three[0]:
            return None
        (m, k), n, p = one, two[1], three[1] if len(three) == 2 else 1
        return m * k * n + m * n * p, k * n * p + m * k * p


def _product(
    one: tuple[int, ...] | None = None, two: tuple[int, ...] | None = None
) -> tuple[int, ...] | None:
    if one is None or two is None or len(one) != 2 or not two or one[1] != two[0]:
        return None
    return (one[0], *two[1:]) if len(two) <= 2 else None


def _stated(value: HostValue) -> tuple[int, ...] | None:
    node = value.node
    if not isinstance(node, ast.Call) or not node.args or value.operation.endswith("_like"):
        return None
    first = node.args[0]
    parts = list(first.elts) if isinstance(first, ast.Tuple | ast.List) else list(node.args)
    if short(value.operation) in ("full", "new_full") and parts == list(node.args):
        return None
    numbers = [p.value for p in parts if isinstance(p, ast.Constant) and type(p.value) is int]
    return tuple(numbers) if len(numbers) == len(parts) else None
