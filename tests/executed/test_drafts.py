"""What is drafted of a host function's text, and in which order other drafts are tried."""

import pytest

from tilewright.executed.drafts import Space
from tilewright.executed.extents import odd, ordinary
from tilewright.executed.jobs import spaces
from tilewright.executed.parameters import Kind, parameters_of
from tilewright.source import parse_module

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
PRODUCT = (
    HEAD
    + """
@triton.jit
def rows(a, b, idx, out, M, N, K, s, B: tl.constexpr):
    i = tl.program_id(0)
    at = tl.load(idx + i)
    tl.store(out + i, tl.load(a + at))

def product(a, b, idx, scale: float, causal=False):
    M, K = a.shape
    K, N = b.shape
    out = torch.empty(M, N)
    rows[(M,)](a, b, idx, out, M, N, K, scale, B=64)
    return out
"""
)


def _space(text: str, name: str) -> Space:
    module = parse_module(text)
    return next(space for space in spaces(module) if space.function == name)


def test_axes_of_one_name_have_one_extent() -> None:
    space = _space(PRODUCT, "product")
    call = space.call(space.first, {"M": 3, "K": 5, "N": 7, "idx.-1": 2})
    arguments = call["arguments"]
    assert arguments["a"]["shape"] == [3, 5]
    assert arguments["b"]["shape"] == [5, 7]


def test_an_index_holds_whole_numbers_below_the_smallest_extent() -> None:
    space = _space(PRODUCT, "product")
    index = space.call(space.first, {"M": 30, "K": 50, "N": 70, "idx.-1": 20})["arguments"]["idx"]
    assert (index["dtype"], index["contents"]) == ("int32", "below:20")


def test_parameters_with_a_default_are_left_out() -> None:
    space = _space(PRODUCT, "product")
    assert (
        "causal"
        not in space.call(space.first, dict.fromkeys(space.symbols(space.first), 8))["arguments"]
    )


def test_kinds_are_read_from_annotations_defaults_and_uses() -> None:
    module = parse_module(PRODUCT)
    kinds = {p.name: p.kind for p in parameters_of(module, module.host_functions["product"])}
    assert kinds == {
        "a": Kind.TENSOR, "b": Kind.TENSOR, "idx": Kind.TENSOR, "scale": Kind.REAL,
        "causal": Kind.FLAG,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "rank", "least"),
    [
        ("B, T, D = x.shape", 3, 3),
        ("n = x.shape[1]", None, 2),
        ("s = x.stride(0)", None, 1),
        ("assert x.dim() == 4", 4, 0),
        ("D = x.shape[-1]\n    y = x.view(-1, D)", None, 1),
    ],
)
def test_ranks_are_read_from_what_is_asked_of_a_tensor(said: str, rank: int, least: int) -> None:
    module = parse_module(
        f"{PRODUCT}\ndef f(x):\n    {said}\n    rows[(1,)](x, x, x, x, 1, 1, 1, 1, B=2)\n"
    )
    (found,) = parameters_of(module, module.host_functions["f"])
    assert (found.rank, max(found.least_rank, found.rank or 0)) == (rank, max(least, rank or 0))


def test_a_neighbour_differs_in_one_choice() -> None:
    space = _space(PRODUCT, "product")
    for choice, draft in space.neighbours(space.first):
        changed = [a != b for a, b in zip(draft.chosen, space.first.chosen, strict=True)]
        assert changed.count(True) == 1
        assert choice in space.choices


def test_two_orders_of_sizes_break_every_inequality() -> None:
    symbols = ("a", "b", "c")
    there, back = ordinary(symbols, frozenset()), ordinary(symbols, frozenset(), turned=True)
    for one in symbols:
        for other in symbols:
            if one != other:
                assert (there[one] < there[other]) != (back[one] < back[other])


def test_odd_extents_are_no_multiples_of_four() -> None:
    assert all(size % 4 for size in odd(("a", "b", "c", "d"), frozenset("d")).values())


def test_layouts_are_of_tensors_whose_strides_are_read() -> None:
    text = PRODUCT.replace("M, N, K, scale", "a.stride(0), a.stride(1), b.stride(0), scale")
    space = _space(text, "product")
    assert space.layouts(space.first) == {"a": (0, 1)}


def test_a_tensor_of_five_axes_is_no_fault() -> None:
    text = PRODUCT.replace("def product(", "def product(cache, ").replace(
        "    M, K = a.shape", "    pages = cache.stride(4)\n    M, K = a.shape"
    )
    assert _space(text, "product").function == "product"
