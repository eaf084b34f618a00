"""What the interpretation of NKI kernels says of shapes, memories, indices, loops and uses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.analysis import analyze
from tilewright.analysis.nki import Affine, Flow, LoopKind, Memory, Operation, nki_flow
from tilewright.analysis.nki.affine import Symbol, SymbolKind, quotient, text
from tilewright.analysis.nki.catalogue import FUNCTIONS, ISA
from tilewright.analysis.nki.dtypes import promoted
from tilewright.analysis.nki.values import Literal
from tilewright.knowledge.nki import nki_interface
from tilewright.source import parse_module
from tilewright.source.model import NkiFlavour

OLD = """import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

TILE = 128
"""
NEW = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"


def flow_of(body: str, head: str = OLD, parameters: str = "x, y") -> Flow:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    module = parse_module(f"{head}\n@nki.jit\ndef kernel({parameters}):\n{lines}\n")
    assert not module.problems
    return nki_flow(module, module.kernels[0])


def the(flow: Flow, short: str) -> Operation:
    (operation,) = [o for o in flow.operations if o.short == short]
    return operation


def shape(flow: Flow, short: str) -> tuple[int | None, ...] | None:
    view = the(flow, short).result
    return None if view is None else flow.numbers(view.shape)


@pytest.mark.parametrize(
    ("body", "name", "expected"),
    [
        ("t = nl.load(x[0:128, 0:512])", "load", (128, 512)),
        ("t = nl.load(x[3, 0:TILE, 7])", "load", (128, 1)),
        ("t = nl.load(x[nl.ds(5, 64), 0:32])", "load", (64, 32)),
        ("t = nl.load(x[nl.arange(8)[:, None], 4 * nl.arange(16)[None, :]])", "load", (8, 16)),
        ("p, f = nl.mgrid[0:64, 0:2 * TILE]\nt = nl.load(x[p + 64, f])", "load", (64, 256)),
        ("assert x.shape == (128, 1024)\nt = nl.load(x)", "load", (128, 1024)),
        ("r, c = x.shape\nassert r == 64 and c == 32\nt = nl.load(x)", "load", (64, 32)),
        ("r, c = x.shape\nt = nl.load(x[0:128, 0:c])", "load", (128, None)),
        ("s = nl.sum(nl.load(x[0:128, 0:512]), axis=1)", "sum", (128, 1)),
        ("s = nl.sum(nl.load(x[0:128, 0:4, 0:8]), axis=[2])", "sum", (128, 4)),
        ("t = nisa.nc_transpose(nl.load(x[0:128, 0:64]))", "nc_transpose", (64, 128)),
        (
            "a = nl.load(x[0:64, 0:128])\nb = nisa.memset((64, 512), 0, nl.float32)\n"
            "p = nisa.nc_matmul(a[:, 0:32], b)",
            "nc_matmul",
            (32, 512),
        ),
        ("t = nl.add(nisa.memset((128, 64), 0, nl.float32), 1.0)", "add", (128, 64)),
        ("t = nisa.memset((TILE, 1), 0, nl.float32) * 2", "multiply", (128, 1)),
    ],
)
def test_shapes_of_results(body: str, name: str, expected: tuple[int | None, ...]) -> None:
    assert shape(flow_of(body), name) == expected


def test_block_dimensions_are_indexed_away() -> None:
    flow = flow_of(
        """
tiles = nl.ndarray((4, 2, nl.par_dim(128), 512), dtype=nl.float32)
for i in nl.affine_range(4):
    a = nl.exp(tiles[i, 1])
b = nl.log(tiles[0])
"""
    )
    assert shape(flow, "exp") == (128, 512)
    assert the(flow, "exp").operands["x"].blocks == 0
    assert the(flow, "log").operands["x"].blocks == 1


def test_memories_and_types() -> None:
    flow = flow_of(
        """
product = nisa.nc_matmul(nl.load(x[0:128, 0:128], dtype=nl.bfloat16), nl.load(y[0:128, 0:64]))
kept = nl.copy(product, dtype=nl.bfloat16)
"""
    )
    product, kept = the(flow, "nc_matmul").result, the(flow, "copy").result
    assert product is not None
    assert kept is not None
    assert (product.memory, product.dtype) == (Memory.PSUM, "float32")
    assert (kept.memory, kept.dtype) == (Memory.SBUF, "bfloat16")


def test_loops_have_kinds_and_trip_counts() -> None:
    flow = flow_of(
        """
rows, columns = x.shape
assert rows == 512
for i in nl.affine_range(rows // TILE):
    for j in nl.sequential_range(2, 10, 3):
        for k in range(columns // 64):
            t = nl.load(x[i * TILE + j, 0:64])
"""
    )
    kinds = [loop.kind for loop in flow.loops]
    assert kinds == [LoopKind.AFFINE, LoopKind.SEQUENTIAL, LoopKind.PYTHON]
    assert [flow.number(loop.trip) for loop in flow.loops] == [4, 3, None]


def test_the_newer_package_writes_to_dst() -> None:
    flow = flow_of(
        """
a = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
p = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
nisa.dma_copy(dst=a, src=x)
nisa.nc_matmul(p, a, a)
""",
        NEW,
    )
    assert flow.flavour is NkiFlavour.NKI
    matmul = the(flow, "nc_matmul")
    assert matmul.result is None
    assert [view.storage.name for view in matmul.writes] == ["p"]
    assert matmul.accumulates


def test_tiles_in_lists_keep_their_shape() -> None:
    flow = flow_of(
        """
rows = []
for i in range(4):
    row = []
    for j in range(2):
        tile = nl.ndarray((128, 32), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i, j])
        row.append(tile)
    rows.append(row)
for i in range(4):
    nisa.activation(dst=rows[i][0], op=nl.exp, data=rows[i][1])
""",
        NEW,
    )
    data = the(flow, "activation").operands["data"]
    assert flow.numbers(data.shape) == (128, 32)


def test_what_a_branch_or_an_unknown_call_does_is_not_taken_for_sure() -> None:
    flow = flow_of(
        """
tile = nl.load(x[0:128, 0:512])
if helper(tile):
    width = 256
else:
    width = 512
part = nl.exp(tile[:, 0:width])
"""
    )
    assert not flow.complete
    assert shape(flow, "exp") is None


def test_a_decided_branch_is_followed() -> None:
    flow = flow_of("if TILE > 64:\n    t = nl.load(x[0:64, 0:8])\nelse:\n    u = nl.exp(x)")
    assert [o.short for o in flow.operations] == ["load"]
    assert flow.operations[0].branches == ()


def test_a_number_changed_in_a_loop_is_not_known_in_it() -> None:
    flow = flow_of("n = 128\nfor i in range(4):\n    t = nl.load(x[0:n, 0:8])\n    n = n // 2")
    assert shape(flow, "load") is None


def test_names_of_a_loop_are_bounded_by_its_range() -> None:
    flow = flow_of("for i in nl.affine_range(8):\n    t = nl.load(x[nl.ds(i * 64, 128), 0:4])")
    index = the(flow, "load").operands["src"].indices
    assert index is not None
    assert index[0].base is not None
    assert index[0].base.interval({}) == (0, 7 * 64 + 127)


OTHER_ORDER = {"affine_select", "iota", "memset", "nc_stream_shuffle"}
"""Instructions whose arguments the newer package replaced or reordered."""


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_parameters_are_in_the_order_of_the_packages(name: str) -> None:
    older = nki_interface("neuronxcc").functions.get(name)
    newer = nki_interface("nki").functions.get(name)
    ours = FUNCTIONS[name].parameters
    assert older or newer
    if older is not None:
        assert any(_agrees(ours, signature.positional) for signature in older.signatures)
    if newer is not None and name.startswith(ISA) and name.removeprefix(ISA) not in OTHER_ORDER:
        orders = [signature.positional for signature in newer.signatures]
        assert any(_agrees(("dst", *ours), order) for order in orders)


def _agrees(ours: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    return all(a == b for a, b in zip(ours, theirs, strict=False))


SYMBOLS = [Symbol(("test", n), SymbolKind.LOOP, n, Affine.from_value(5)) for n in "ij"]
affines = st.recursive(
    st.one_of(
        st.integers(-9, 9).map(Affine.from_value), st.sampled_from(SYMBOLS).map(Affine.from_value)
    ),
    lambda inner: st.tuples(inner, inner, st.sampled_from("+-*")).map(
        lambda t: t[0] + t[1] if t[2] == "+" else t[0] - t[1] if t[2] == "-" else t[0] * t[1]
    ),
    max_leaves=6,
)


@given(affines, st.integers(0, 4), st.integers(0, 4))
def test_intervals_hold_every_value(value: Affine, i: int, j: int) -> None:
    at = value.substitute(
        dict(zip(SYMBOLS, (Affine.from_value(i), Affine.from_value(j)), strict=True))
    ).number
    low, high = value.interval({})
    assert at is not None
    assert low is None or low <= at
    assert high is None or at <= high


@given(affines, affines)
def test_affine_arithmetic_has_one_normal_form(one: Affine, two: Affine) -> None:
    assert one + two - two == one
    assert (one + two) * two == one * two + two * two


def test_quotients_are_exact_where_every_term_divides() -> None:
    i = Affine.from_value(SYMBOLS[0])
    assert quotient(
        Affine.from_value(128) * i + Affine.from_value(256), Affine.from_value(128)
    ) == i + Affine.from_value(2)
    assert quotient(Affine.from_value(4000), Affine.from_value(512), up=True) == Affine.from_value(
        8
    )
    assert "//" in text(quotient(i, Affine.from_value(2)))


def test_constants_of_classes_and_of_functions_around_are_known() -> None:
    module = parse_module(
        OLD
        + """
class Tiles:
    ROWS = TILE
    WIDTH = 512


def build(width, other):
    half = 256
    @nki.jit
    def kernel(x):
        a = nl.load(x[0:Tiles.ROWS, 0:Tiles.WIDTH])
        b = nl.load(x[0:64, 0:half])
        c = nl.load(x[0:32, 0:width])
    return kernel
"""
    )
    (kernel,) = module.kernels
    flow = nki_flow(module, kernel)
    shapes = [flow.numbers(o.result.shape) for o in flow.operations if o.result is not None]
    assert shapes == [(128, 512), (64, 256), None]


def test_an_access_pattern_has_the_counts_of_its_pairs() -> None:
    body = (
        "t = nl.ndarray((128, 1024), dtype=nl.float32, buffer=nl.sbuf)\n"
        "r = nl.ndarray((64, 4), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.tensor_copy(dst=r, src=t.ap(pattern=[[1024, 64], [2, 4]], offset=8))"
    )
    copy = the(flow_of(body, head=NEW), "tensor_copy")
    flow = flow_of(body, head=NEW)
    assert flow.numbers(copy.operands["src"].shape) == (64, 4)


@pytest.mark.parametrize(
    ("kinds", "result"),
    [
        (("bfloat16", "float32"), "float32"),
        (("float16", "bfloat16"), "float32"),
        (("float8_e4m3", "float8_e5m2"), "bfloat16"),
        (("int8", "uint8"), "int16"),
        (("int8", "uint16"), "int32"),
        (("int32", "uint32"), "float32"),
        (("int32", "float16"), "float16"),
        (("uint8", "uint32"), "uint32"),
        (("int32", "uint8"), "int32"),
        (("float32", None), None),
    ],
)
def test_types_are_promoted_as_the_guide_says(kinds: tuple[str | None, ...], result: str) -> None:
    assert promoted(kinds) == result
    assert promoted(kinds[::-1]) == result


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("t * 0.5", "float32"),
        ("t * 2", "bfloat16"),
        ("nl.add(t, np.float16(1.0))", "float32"),
        ("nl.add(t, t)", "bfloat16"),
        ("nl.exp(t)", "bfloat16"),
        ("nisa.tensor_scalar(t, nl.multiply, 0.5)", "bfloat16"),
        ("t * (1 / 3)", "float32"),
    ],
)
def test_a_number_takes_part_in_promotion_in_nl_and_not_in_nisa(
    expression: str, dtype: str
) -> None:
    body = f"t = nl.load(x[0:128, 0:64], dtype=nl.bfloat16)\nr = {expression}"
    flow = flow_of(body, head=f"import numpy as np\n{OLD}")
    result = flow.operations[-1].result
    assert result is not None
    assert result.dtype == dtype


def test_a_converted_number_is_that_number() -> None:
    body = "t = nl.load(x[0:128, 0:64])\nr = nisa.tensor_scalar(t, nl.add, np.float32(1))"
    added = the(flow_of(body, head=f"import numpy as np\n{OLD}"), "tensor_scalar")
    assert added.values["operand0"] == Literal(1.0)
    assert added.values["operand0"].dtype == "float32"  # type: ignore[attr-defined]


HELPERS = """
def scaled(tile, factor=2.0, *, keep=False):
    if keep:
        return tile
    return nl.multiply(tile, factor)


def total(tile):
    squared = nl.square(tile)
    return nl.sum(squared, axis=1)


def stored(out, tile, i):
    nl.store(out[i], value=tile)


def endless(tile):
    return endless(tile)
"""


def test_functions_of_the_file_are_followed_where_they_are_called() -> None:
    body = (
        "out = nl.ndarray((8, 128, 1), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "for i in nl.affine_range(8):\n"
        "    tile = nl.load(x[i, 0:128, 0:512])\n"
        "    kept = scaled(tile, keep=True)\n"
        "    stored(out, total(scaled(kept, 0.5)), i)\n"
        "return out"
    )
    flow = flow_of(body, head=OLD + HELPERS)
    made = [(o.short, o.loops[-1].index if o.loops else None) for o in flow.operations]
    assert made == [
        *(("load", "i"), ("multiply", "i"), ("square", "i"), ("sum", "i"), ("store", "i")),
        ("return", None),
    ]
    assert shape(flow, "sum") == (128, 1)
    assert flow.complete


def test_a_function_that_calls_itself_is_followed_a_few_times_only() -> None:
    flow = flow_of("t = endless(nl.load(x[0:128, 0:512]))", head=OLD + HELPERS)
    assert not flow.complete


def test_a_fault_in_a_function_is_found_once_though_two_kernels_call_it() -> None:
    kernel = """
@nki.jit
def {name}(x):
    out = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, wrong(nl.load(x[0:128, 0:512])))
    return out
"""
    helper = "\ndef wrong(tile):\n    return nl.sum(tile, axis=0)\n"
    module = parse_module(OLD + helper + kernel.format(name="a") + kernel.format(name="b"))
    found = [i for i in analyze(module) if i.id == "nki_partition_reduction"]
    assert [(i.kernel, i.range.line) for i in found] == [("a", 8)]
