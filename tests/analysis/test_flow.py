"""Dataflow of kernels: value numbers, loops, bases and intervals."""

import ast

import pytest

from tilewright.analysis.flow import flow_of
from tilewright.analysis.intervals import Numbers, interval_of
from tilewright.analysis.values import Flow, Value, walk
from tilewright.source import parse_module


def flow(body: str, parameters: str = "x_ptr, y_ptr, n, s, B: tl.constexpr") -> Flow:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    module = parse_module(f"import triton\n@triton.jit\ndef k({parameters}):\n{lines}")
    assert module.problems == ()
    return flow_of(module, module.kernels[0])


def value(found: Flow, name: str) -> Value:
    return found.definitions[name][-1].value


def test_equal_expressions_are_one_value() -> None:
    found = flow("a = tl.arange(0, B) + n\nc = n\nb = tl.arange(0, B) + c")
    assert value(found, "a") is value(found, "b")


def test_rebound_names_differ() -> None:
    found = flow("a = n + 1\nn = n + 1\nb = n + 1")
    assert value(found, "a") is not value(found, "b")


def test_two_loads_or_unknown_calls_are_never_one_value() -> None:
    found = flow("a = tl.load(x_ptr)\nb = tl.load(x_ptr)\nc = thing(n)\nd = thing(n)")
    assert value(found, "a") is not value(found, "b")
    assert value(found, "c") is not value(found, "d")


def test_with_gives_names_what_nothing_else_is() -> None:
    found = flow("with region() as (a, b):\n    c = a + 1\n    for i in range(b, n):\n        pass")
    assert value(found, "a") is not value(found, "b")
    (loop,) = found.loops.values()
    assert loop.bounds is not None
    assert loop.bounds[0] is value(found, "b")


def test_what_varies_in_a_loop() -> None:
    found = flow(
        "p = x_ptr\nfor i in range(n):\n    a = n * 2\n    b = i * 2\n    p += 1\n    c = p\nd = p"
    )
    (loop,) = found.loops.values()
    assert value(found, "a").is_invariant_in(loop.number)
    assert not value(found, "b").is_invariant_in(loop.number)
    assert not value(found, "c").is_invariant_in(loop.number)
    assert value(found, "d").is_invariant_in(loop.number)
    assert loop.bounds is not None
    assert [bound.detail for bound in loop.bounds] == [0, "n", 1]


def test_branches_merge_to_a_select() -> None:
    found = flow("if n > 3:\n    a = 1\nelse:\n    a = 2\nb = a")
    assert value(found, "b").op == "select"


@pytest.mark.parametrize(
    ("pointer", "base"),
    [
        ("x_ptr", "x_ptr"),
        ("x_ptr + n * s + tl.arange(0, B)", "x_ptr"),
        ("x_ptr + n", "x_ptr"),
        ("n + x_ptr", "x_ptr"),
        ("x_ptr + tl.load(y_ptr)", "x_ptr"),
        ("tl.load(y_ptr).to(tl.pointer_type(tl.float32))", None),
        ("x_ptr if n > 3 else y_ptr", None),
        ("n + s", None),
    ],
)
def test_pointer_bases(pointer: str, base: str | None) -> None:
    found = flow(f"p = {pointer}\na = tl.load(p)")
    assert found.loads[-1].base == base


def test_a_carried_pointer_keeps_its_base() -> None:
    found = flow("p = x_ptr + tl.arange(0, B)\nfor i in range(n):\n    a = tl.load(p)\n    p += B")
    assert found.loads[0].base == "x_ptr"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("tl.program_id(0) * n", (0, 7 * 100)),
        ("tl.program_id(0) * B + tl.arange(0, B)", (0, 8 * 16 - 1)),
        ("tl.cdiv(n, B)", (7, 7)),
        ("n // B * B", (96, 96)),
        ("tl.arange(0, B) % 10", (0, 9)),
        ("tl.minimum(tl.arange(0, B), 3)", (0, 3)),
        ("s - n", None),
        ("tl.load(x_ptr)", None),
    ],
)
def test_intervals(expression: str, expected: tuple[int, int] | None) -> None:
    found = value(flow(f"a = {expression}"), "a")
    assert interval_of(found, Numbers({"n": 100, "B": 16}, (8,))) == expected


def test_a_loop_index_stops_below_its_bound() -> None:
    found = flow("for i in range(0, n, B):\n    a = i")
    assert interval_of(value(found, "a"), Numbers({"n": 100, "B": 16})) == (0, 96)


def test_every_expression_has_a_value() -> None:
    module = parse_module(
        "import triton\n@triton.jit\ndef k(x, n):\n    a = [i for i in n] + (lambda q: q)(n)\n"
        "    b = f'{n}' if not n else n[1:2]\n    while n:\n        n -= 1\n        x[n] = a\n"
    )
    found = flow_of(module, module.kernels[0])
    names = {node.id for node in found.values if isinstance(node, ast.Name)}
    assert {"n", "a"} <= names
    assert all(part.op for v in found.values.values() for part in walk(v))
