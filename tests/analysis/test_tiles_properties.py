"""What holds of tile inference on any kernel: it answers, and what it says is so."""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping

import pytest
from corpora import kernel_files
from each import each, examples, sample
from hypothesis import given
from hypothesis import strategies as st
from snippets import Snippet, snippets

from tilewright.analysis import AnalysisContext
from tilewright.analysis.flow import flow_of
from tilewright.analysis.tiles import Affine, Dim, Kind, Polynomial, TileFacts, Tiles, tiles_of
from tilewright.analysis.tiles.types import WEAK
from tilewright.analysis.values import Value
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Language, Module
from tilewright.targets.model import ArgumentFacts, LaunchFacts

EXTENT = 64
_NUMBERS = {"n": 7, "s": 3, "m": 5, "B": 4}
_LOOSE = {Kind.UNKNOWN, Kind.CONSTEXPR, Kind.SCALAR}
_FUNCTIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _triton(module: Module) -> Iterator[Kernel]:
    return (k for k in module.kernels if k.language is Language.TRITON)


def _launch(module: Module, kernel: Kernel) -> LaunchFacts:
    """A launch with fp16 tensors and 64 for every constexpr."""
    tiles = tiles_of(module, kernel)
    arguments = []
    for parameter in kernel.parameters:
        value = flow_of(module, kernel).table.make("param", detail=parameter.name)
        if parameter.is_constexpr:
            arguments.append(ArgumentFacts(parameter.name, "constexpr", "constexpr", EXTENT))
        elif tiles.facts_of(value).kind is Kind.POINTER:
            arguments.append(ArgumentFacts(parameter.name, "tensor", "*fp16"))
        else:
            arguments.append(ArgumentFacts(parameter.name, "int", "i32", 100))
    return LaunchFacts(kernel.name, (4,), tuple(arguments))


def _number(extent: Dim, tiles: Tiles) -> int | None:
    if isinstance(extent, int):
        return extent
    constant = tiles.facts_of(extent).constant
    return constant.value if constant and isinstance(constant.value, int) else None


def _contradictions(before: TileFacts, after: TileFacts, tiles: Tiles) -> list[str]:
    """What a launch says otherwise than the text alone said."""
    found = []
    if before.shape is not None and after.shape is not None:
        pairs = zip(before.shape, after.shape, strict=False)
        numbers = [(_number(a, tiles), b) for a, b in pairs]
        if len(before.shape) != len(after.shape) or any(a not in (None, b) for a, b in numbers):
            found.append(f"shape {before.shape} {after.shape}")
    if before.dtype not in (None, WEAK, after.dtype) and after.dtype is not None:
        found.append(f"type {before.dtype} {after.dtype}")
    kinds = {before.kind, after.kind}
    may_be_bits = any(f.kind is Kind.TILE and f.dtype is None for f in (before, after))
    if len(kinds) == 2 and not may_be_bits and not kinds & _LOOSE:
        found.append(f"kind {before.kind} {after.kind}")
    if before.programs is not None and not (after.programs or set()) <= before.programs:
        found.append(f"programs {before.programs} {after.programs}")
    return found


def _check(module: Module) -> int:
    """Ask for everything, with and without a launch; the number of values."""
    asked = 0
    for kernel in _triton(module):
        tiles = tiles_of(module, kernel)
        launched = tiles_of(module, kernel, AnalysisContext(launches=(_launch(module, kernel),)))
        for node in flow_of(module, kernel).values:
            wrong = _contradictions(tiles.facts_at(node), launched.facts_at(node), launched)
            assert not wrong, f"{module.path}:{node.lineno} {ast.unparse(node)}: {wrong}"
            asked += 1
    return asked


@pytest.mark.hypothesis
@each(sample(snippets(), 12), lambda s: s.name)
def test_a_launch_never_contradicts_the_text(snippet: Snippet) -> None:
    assert _check(parse_module(snippet.text)) >= 0


@pytest.mark.slow
@pytest.mark.parametrize(("package", "every"), [("liger_kernel", 1), ("flag_gems", 3)])
def test_inference_answers_for_the_kernels_of_a_corpus(package: str, every: int) -> None:
    paths = kernel_files(package)[::every]
    asked = sum(_check(parse_module(p.read_text(), str(p))) for p in paths)
    assert asked > 10_000


_LEAVES = st.sampled_from(["pid", "n", "s", "m", "B", "lane", "2", "3"])


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sides = st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner)
    return sides.map(lambda p: f"({p[0]} {p[1]} {p[2]})")


@examples(300)
@given(st.recursive(_LEAVES, _combined, max_leaves=12))
def test_an_affine_form_is_the_number_it_stands_for(text: str) -> None:
    module = parse_module(
        "import triton\nimport triton.language as tl\n@triton.jit\n"
        "def k(x_ptr, n, s, m, B: tl.constexpr):\n"
        "    pid = tl.program_id(0)\n    lane = tl.arange(0, 4)\n"
        f"    at = {text}\n    tl.store(x_ptr + at + B, at)\n"
    )
    (kernel,) = module.kernels
    flow = flow_of(module, kernel)
    value = flow.definitions["at"][-1].value
    form = tiles_of(module, kernel).facts_of(value).affine
    if form is None:
        return
    for pid in (0, 2):
        for lane in (0, 1, 3):
            numbers = _NUMBERS | {"pid": pid, "lane": lane}
            try:
                expected = _python(ast.parse(text, mode="eval").body, numbers)
                assert _evaluated(form, numbers) == expected
            except ZeroDivisionError:
                continue


def _python(node: ast.expr, numbers: Mapping[str, int]) -> int:
    match node:
        case ast.Name(id=name):
            return numbers[name]
        case ast.Constant(value=int() as number):
            return number
        case ast.BinOp(left=left, op=op, right=right):
            return _FUNCTIONS[type(op)](_python(left, numbers), _python(right, numbers))
    raise AssertionError(ast.dump(node))


def _evaluated(form: Affine, numbers: Mapping[str, int]) -> int:
    terms = (_product(t.coefficient, numbers) * _atom(t.index, numbers) for t in form.terms)
    return _product(form.constant, numbers) + sum(terms)


def _product(polynomial: Polynomial, numbers: Mapping[str, int]) -> int:
    total = 0
    for factors, coefficient in polynomial:
        for factor in factors:
            coefficient *= _atom(factor, numbers)
        total += coefficient
    return total


def _atom(value: Value, numbers: Mapping[str, int]) -> int:
    match value.op:
        case "program_id":
            return numbers["pid"]
        case "arange":
            return numbers["lane"]
        case "param":
            return numbers[str(value.detail)]
        case "const":
            return int(value.detail or 0)
        case "binary":
            left, right = (_atom(v, numbers) for v in value.operands)
            return _FUNCTIONS[getattr(ast, str(value.detail))](left, right)
    raise AssertionError(value)
