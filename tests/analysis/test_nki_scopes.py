"""What the interpretation of an NKI kernel says of names, places and scopes."""

import ast

import pytest

from tilewright.analysis.nki import Fact, Flow, Kind, LoopKind, View, nki_flow
from tilewright.analysis.nki.flavour import flavour_of
from tilewright.source import parse_module
from tilewright.source.model import NkiFlavour

HEAD = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

@nki.jit
def kernel(x, y, size: int):
"""


def interpreted(body: str, head: str = HEAD) -> Flow:
    text = head + "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    module = parse_module(text)
    assert module.problems == ()
    return nki_flow(module, module.kernels[0])


def last(body: str) -> Fact:
    """What the last assignment of a kernel gives its name."""
    return interpreted(body).bindings[-1].fact


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("nl.load(x)", Kind.TILE),
        ("nl.load(x) + 1", Kind.TILE),
        ("nl.load(x)[0:64]", Kind.VIEW),
        ("x", Kind.ARGUMENT),
        ("x[0:64]", Kind.VIEW),
        ("x.shape[0] // 128", Kind.NUMBER),
        ("size * 2", Kind.NUMBER),
        ("nl.ndarray((128, 512), x.dtype)", Kind.TENSOR),
        ("nl.arange(128)[:, None]", Kind.INDEX),
        ("128 * size + nl.arange(128)[:, None]", Kind.INDEX),
        ("nl.mgrid[0:128, 0:512]", Kind.GRID),
        ("nl.mgrid[0:128, 0:512].p", Kind.INDEX),
        ("nl.arange(128)[:, None] < size", Kind.MASK),
        ("nl.program_id(0)", Kind.NUMBER),
        ("[nl.load(x) for _ in range(4)]", Kind.LIST),
        ("helper(x)", Kind.UNKNOWN),
    ],
)
def test_kind_of_an_expression(expression: str, kind: Kind) -> None:
    assert last(f"z = {expression}").kind is kind


def test_a_bare_arange_stays_bare_until_it_has_axes() -> None:
    assert last("i = 128 + nl.arange(128)").bare
    assert not last("i = (128 + nl.arange(128))[:, None]").bare


@pytest.mark.parametrize(
    ("loop", "kind"),
    [
        ("nl.affine_range(4)", Kind.LOOP),
        ("nl.sequential_range(4)", Kind.LOOP),
        ("nl.static_range(4)", Kind.NUMBER),
        ("range(4)", Kind.NUMBER),
        ("[64, 128]", Kind.UNKNOWN),
    ],
)
def test_index_of_a_loop(loop: str, kind: Kind) -> None:
    assert last(f"for i in {loop}:\n    z = i").kind is kind


def test_a_value_knows_the_loops_it_depends_on() -> None:
    fact = last(
        "for i in nl.affine_range(4):\n    for j in nl.affine_range(8):\n        z = 128 * j + i"
    )
    assert {loop.index for loop in fact.loops} == {"i", "j"}


def test_a_name_means_what_it_was_last_given() -> None:
    found = interpreted(
        "i = nl.arange(128)[:, None]\nfor i in nl.affine_range(4):\n    z = i\nz = i"
    )
    assert [b.fact.kind for b in found.bindings if b.name == "z"] == [Kind.LOOP, Kind.LOOP]


def test_branches_that_differ_are_not_told_apart() -> None:
    assert last("if size:\n    t = nl.load(x)\nelse:\n    t = 0\nz = t").kind is Kind.UNKNOWN
    assert last("if size:\n    t = nl.load(x)\nelse:\n    t = nl.load(y)\nz = t").kind is Kind.TILE


def test_a_branch_that_returns_leaves_nothing() -> None:
    assert last("t = nl.load(x)\nif size:\n    t = 0\n    return t\nz = t").kind is Kind.TILE


def test_tiles_end_with_loops_and_dynamic_branches_only() -> None:
    body = """
for i in nl.affine_range(4):
    if i > 2:
        a = nl.load(x)
    if size > 2:
        b = nl.load(x)
for k in nl.static_range(4):
    c = nl.load(x)
"""
    closing = {
        b.name: [r.closes for r in b.fact.path]
        for b in interpreted(body).bindings
        if b.name in "abc"
    }
    assert closing == {"a": [True, True], "b": [True, False], "c": [False]}


def test_loops_have_their_kind() -> None:
    found = interpreted("for i in nl.affine_range(4):\n    nl.store(y, nl.load(x[i]))")
    (region,) = next(found.calls_of("nki.language.store")).path
    assert region.loop is not None
    assert region.loop.kind is LoopKind.AFFINE


def test_buffer_of_a_tensor() -> None:
    assert last("z = nl.zeros((128, 1), nl.float32)").buffer == "nki.language.sbuf"
    assert last("z = nl.zeros((1, 1), nl.float32, buffer=nl.psum)").buffer == "nki.language.psum"
    assert last("z = nl.zeros((1, 1), nl.float32, buffer=y)").buffer == ""


def test_a_function_inside_hides_what_it_names() -> None:
    found = interpreted("out = nl.load(x)\ndef inner():\n    nl.store(out, y)\ninner()")
    assert {"out", "y"} <= found.hidden


def test_any_python_is_walked() -> None:
    body = """
try:
    with open(size) as f, y:
        pass
except ValueError:
    pass
while size:
    size -= 1
a, (b, *c) = x, y
d = {k: v for k, v in zip(a, b)}
e = lambda q: q + 1
f"{a}{b!r}"
(g := size)
del d
match size:
    case 1:
        pass
"""
    assert interpreted(body).bindings


def flavour(text: str) -> NkiFlavour | None:
    return flavour_of(parse_module(text))


def test_flavour_is_told_by_use_where_nothing_is_imported() -> None:
    assert flavour("@nki.jit\ndef k(x):\n    i = nl.arange(4)\n") is NkiFlavour.NEURONXCC
    assert flavour("@nki.jit\ndef k(x):\n    nisa.reciprocal(dst=x, data=x)\n") is NkiFlavour.NKI
    assert flavour("@nki.jit\ndef k(x):\n    nl.add(x, x)\n") is None
    assert flavour("def k(x):\n    return nl.arange(4)\n") is None
    assert (
        flavour("@nki.jit\ndef k(x):\n    nl.arange(4)\n    nisa.reciprocal(dst=x, data=x)\n")
        is None
    )


def test_imports_decide_the_flavour() -> None:
    assert flavour("import nki\nimport nki.language as nl\nnl.arange(4)\n") is NkiFlavour.NKI
    assert flavour("import nki\nimport neuronxcc.nki\nnl.arange(4)\n") is None


def test_facts_are_kept_for_a_parsed_kernel() -> None:
    module = parse_module(HEAD + "    return x\n")
    assert nki_flow(module, module.kernels[0]) is nki_flow(module, module.kernels[0])
    assert isinstance(module.kernels[0].node, ast.FunctionDef)


DEAD = """
if x is None:
    t = nl.load(y)
    nl.store(y, nl.program_id(1))
else:
    s = nl.load(x)
"""


def test_a_branch_that_is_never_taken_gives_names_and_no_instructions() -> None:
    found = interpreted("flag = None\n" + DEAD.replace("x is None", "flag is not None"))
    assert [b.name for b in found.bindings[3:]] == ["flag", "t", "s"]
    assert [o.statement.lineno for o in found.operations] == [14]
    assert [s.name for s in found.storages if s.on_chip] == ["s"]
    assert found.program == {}
    assert len(list(found.calls_of("nki.language.load"))) == 2


def test_both_branches_of_an_open_condition_give_instructions() -> None:
    found = interpreted(DEAD)
    assert [o.short for o in found.operations if o.name.startswith("nki.")] == [
        "load",
        "store",
        "load",
    ]


def test_a_comprehension_gives_calls_and_no_instructions() -> None:
    found = interpreted("parts = [nl.load(x[i]) for i in range(4)]\ni = 1\nz = i")
    assert [call.dotted for call in found.calls] == ["range", "nki.language.load"]
    assert all(o.name == "call" for o in found.operations)
    assert not found.complete
    assert found.bindings[-1].fact.kind is Kind.NUMBER


def test_values_and_facts_are_kept_by_expression() -> None:
    found = interpreted("n = 4 * 32\nt = nl.load(x[0:n, 0:512])")
    load = next(found.calls_of("nki.language.load")).node
    view = found.value(load)
    assert isinstance(view, View)
    assert found.numbers(view.shape) == (128, 512)
    assert found.fact(load).kind is Kind.TILE


def test_constants_of_the_file_are_not_read_in_the_kernel() -> None:
    head = HEAD.replace("@nki.jit", "ROWS = size * 2\nsize = 64\n\n@nki.jit")
    found = interpreted("t = nl.load(x[0:ROWS, 0:512])", head)
    view = found.value(next(found.calls_of("nki.language.load")).node)
    assert isinstance(view, View)
    assert found.numbers(view.shape) == (128, 512)
