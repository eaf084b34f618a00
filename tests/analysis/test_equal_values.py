"""Which values of a kernel are sure to be equal, and which names hold them."""

import pytest

from tilewright.analysis.equal_values import EqualValues
from tilewright.analysis.flow import flow_of
from tilewright.source import parse_module

HEAD = "@triton.jit\ndef kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n"


def holders_of_last_load(body: str) -> list[str]:
    """The names that hold what the last load of a kernel loads, before it runs."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    module = parse_module("import triton\nimport triton.language as tl\n\n" + HEAD + lines)
    flow = flow_of(module, module.kernels[0])
    load = flow.loads[-1]
    assert load.result is not None
    return list(EqualValues(flow).holders(load.result, load))


OFFSETS = "at = tl.arange(0, BLOCK)\na = tl.load(x_ptr + at)\n"
AGAIN = "b = tl.load(x_ptr + at)\n"


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("", ["a"]),
        ("c = a + 1\n", ["a"]),
        ("tl.store(y_ptr + at, a)\n", []),
        ("tl.atomic_add(y_ptr + at, a)\n", []),
        ("helper(x_ptr)\n", []),
        ("a = a + 1\n", []),
        ("c = a\na = a + 1\n", ["c"]),
        ("if n > 3:\n    a = a + 1\n", []),
        ("if n > 3:\n    c = a\n", ["a"]),
        ("for i in range(n):\n    a += i\n", []),
    ],
)
def test_a_name_holds_a_load_until_memory_or_the_name_may_change(
    between: str, expected: list[str]
) -> None:
    assert holders_of_last_load(OFFSETS + between + AGAIN) == expected


def test_a_name_set_before_a_branch_holds_inside_it() -> None:
    assert holders_of_last_load(OFFSETS + "if n > 3:\n    " + AGAIN) == ["a"]


def test_a_name_set_outside_a_loop_is_not_taken_inside_it() -> None:
    assert holders_of_last_load(OFFSETS + "for i in range(n):\n    " + AGAIN) == []


def test_loads_that_ask_memory_anew_equal_no_other() -> None:
    body = "at = tl.arange(0, BLOCK)\na = tl.load(x_ptr + at, volatile=True)\n"
    assert holders_of_last_load(body + "b = tl.load(x_ptr + at, volatile=True)\n") == []


def test_values_made_of_equal_loads_are_equal() -> None:
    body = OFFSETS + "c = tl.exp(a)\nd = tl.exp(tl.load(x_ptr + at))\n"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    module = parse_module("import triton\nimport triton.language as tl\n\n" + HEAD + lines)
    flow = flow_of(module, module.kernels[0])
    place = flow.definitions["d"][0]
    assert list(EqualValues(flow).holders(place.value, place)) == ["c"]
