"""Memory that overlapping tiles reach together, against the addresses one by one."""

import math
from collections.abc import Iterable, Iterator

import pytest
from costs_cases import constant, number, tensor, work_of

from tilewright.costs.traffic import memory_bytes, requests_of, touched_bytes
from tilewright.targets.model import LaunchFacts

HEAD = "import triton\nimport triton.language as tl\n\n@triton.jit\n"

CONV = (
    HEAD
    + """
def conv(x_ptr, y_ptr, C, BT: tl.constexpr, BC: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    total = tl.zeros((BT, BC), dtype=tl.float32)
    for tap in tl.static_range(4):
        total += tl.load(x_ptr + (t + tap)[:, None] * C + c[None, :])
    tl.store(y_ptr + t[:, None] * C + c[None, :], total)
"""
)

WRITTEN_OUT = (
    HEAD
    + """
def conv(x_ptr, y_ptr, C, BT: tl.constexpr, BC: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    at = t[:, None] * C + c[None, :]
    total = tl.load(x_ptr + at) + tl.load(x_ptr + at + C)
    total += tl.load(x_ptr + at + 2 * C) + tl.load(x_ptr + at + 3 * C)
    tl.store(y_ptr + at, total)
"""
)

CROSS = (
    HEAD
    + """
def cross(x_ptr, y_ptr, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM) + 1
    columns = tl.program_id(1) * BN + tl.arange(0, BN) + 8
    at = rows[:, None] * N + columns[None, :]
    total = tl.load(x_ptr + at - 1) + tl.load(x_ptr + at) + tl.load(x_ptr + at + 1)
    total += tl.load(x_ptr + at - N) + tl.load(x_ptr + at + N)
    tl.store(y_ptr + at, total)
"""
)

POOL = (
    HEAD
    + """
def pool(x_ptr, y_ptr, W, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    best = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(2):
        for j in range(2):
            best += tl.load(x_ptr + (tl.program_id(1) * 2 + i) * W + at * 2 + j)
    tl.store(y_ptr + tl.program_id(1) * (W // 2) + at, best)
"""
)

PERSISTENT = (
    HEAD
    + """
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, tl.num_programs(0)):
        rows = (tile // tiles_n) * BM + tl.arange(0, BM)
        columns = (tile % tiles_n) * BN + tl.arange(0, BN)
        depth = tl.arange(0, BK)
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            a = tl.load(a_ptr + rows[:, None] * K + (k + depth)[None, :])
            b = tl.load(b_ptr + (k + depth)[:, None] * N + columns[None, :])
            total = tl.dot(a, b, total)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16))
"""
)

CAUSAL = (
    HEAD
    + """
def causal(q_ptr, k_ptr, o_ptr, T, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * T * HEAD
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    depth = tl.arange(0, HEAD)
    q = tl.load(q_ptr + head + rows[:, None] * HEAD + depth[None, :])
    total = tl.zeros((BM, HEAD), dtype=tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BM, BN):
        k = tl.load(k_ptr + head + (start + tl.arange(0, BN))[:, None] * HEAD + depth[None, :])
        total += tl.dot(tl.dot(q, k.T).to(tl.float16), k)
    tl.store(o_ptr + head + rows[:, None] * HEAD + depth[None, :], total.to(tl.float16))
"""
)

NARROW = (
    HEAD
    + """
def narrow(x_ptr, y_ptr, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    inside = columns[None, :] < N
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=inside, other=0.0)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], x, mask=inside)
"""
)

STRIDED = (
    HEAD
    + """
def strided(x_ptr, y_ptr, N, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows[:, None] * (N * stride) + columns[None, :] * stride)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], x)
"""
)

PICK = (
    HEAD
    + """
def pick(index_ptr, x_ptr, y_ptr, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + rows)
    x = tl.load(x_ptr + index[:, None] * width + columns[None, :])
    tl.store(y_ptr + rows[:, None] * width + columns[None, :], x)
"""
)

BATCHED = (
    HEAD
    + """
def batched(a_ptr, b_ptr, c_ptr, N, B: tl.constexpr):
    tiles = tl.cdiv(N, B)
    rows = (tl.program_id(0) // tiles) * B + tl.arange(0, B)
    columns = (tl.program_id(0) % tiles) * B + tl.arange(0, B)
    depth = tl.arange(0, B)
    base = tl.program_id(1) * N * N
    total = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, N, B):
        a = tl.load(a_ptr + base + rows[:, None] * N + (k + depth)[None, :])
        b = tl.load(b_ptr + base + (k + depth)[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + base + rows[:, None] * N + columns[None, :], total.to(tl.float16))
"""
)

BLOCKS = (
    HEAD
    + """
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    a_block = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (m, 0), (BM, BK), (1, 0))
    b_block = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, n), (BK, BN), (1, 0))
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(a_block), tl.load(b_block), total)
        a_block = tl.advance(a_block, (0, BK))
        b_block = tl.advance(b_block, (BK, 0))
    c_block = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (m, n), (BM, BN), (1, 0))
    tl.store(c_block, total.to(tl.float16))
"""
)

DESCRIBED = (
    HEAD
    + """
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), total)
    c_desc.store([m, n], total.to(tl.float16))
"""
)

SPREAD = NARROW.replace("narrow", "spread").replace(
    "columns = ", "columns = tl.program_id(1) * BLOCK + "
)

Program = tuple[int, int]


def sectors(elements: Iterable[int], item: int) -> int:
    """Bytes of the sectors that elements lie in."""
    return 32 * len({element * item // 32 for element in elements})


@pytest.mark.parametrize("text", [CONV, WRITTEN_OUT], ids=["in a loop", "written out"])
@pytest.mark.parametrize("bt", [1, 2, 16])
def test_rows_that_neighbours_share_are_fetched_once(text: str, bt: int) -> None:
    t, c, bc = 256, 512, 64
    given = (tensor("x_ptr", "fp32", t + 3, c), tensor("y_ptr", "fp32", t, c), number("C", c))
    launch = LaunchFacts(
        "conv", (t // bt, c // bc), (*given, constant("BT", bt), constant("BC", bc))
    )

    def loaded(program: Program) -> Iterator[int]:
        for row in range(bt + 3):
            first = (program[0] * bt + row) * c + program[1] * bc
            yield from range(first, first + bc)

    work = work_of(text, launch)
    assert requests_of(work).unique == sectors(loaded((0, 0)), 4)
    window = [(x, 0) for x in range(16)]
    fetched = sectors((at for program in window for at in loaded(program)), 4) + 16 * bt * bc * 4
    windows = (t // bt) * (c // bc) / 16
    assert memory_bytes(work, launch, 16, 1.0) == pytest.approx(windows * fetched, rel=0.01)


def test_loads_a_row_or_a_column_aside_overlap() -> None:
    m, n, bm, bn = 64, 512, 8, 64
    given = (tensor("x_ptr", "fp32", m + 2, n), tensor("y_ptr", "fp32", m + 2, n), number("N", n))
    launch = LaunchFacts("cross", (m // bm, 4), (*given, constant("BM", bm), constant("BN", bn)))
    around = {
        (row + 1 + up) * n + column + 8 + aside
        for row in range(bm)
        for column in range(bn)
        for up, aside in ((0, -1), (0, 0), (0, 1), (-1, 0), (1, 0))
    }
    assert requests_of(work_of(CROSS, launch)).unique == pytest.approx(sectors(around, 4), rel=0.2)


def test_turns_between_the_lanes_of_others_reach_nothing_new() -> None:
    w, block = 1024, 128
    given = (tensor("x_ptr", "fp32", 64, w), tensor("y_ptr", "fp32", 32, w // 2))
    launch = LaunchFacts("pool", (4, 32), (*given, number("W", w), constant("BLOCK", block)))
    work = work_of(POOL, launch)
    assert requests_of(work).requested == 4 * (2 * block * 4)
    assert requests_of(work).unique == pytest.approx(2 * (2 * block * 4), rel=0.01)
    assert touched_bytes(work, launch) == pytest.approx(4 * (64 * w + 32 * w // 2), rel=0.01)


@pytest.mark.parametrize(("m", "programs"), [(512, 12), (1024, 24)])
def test_programs_that_stay_reach_the_tiles_of_all_their_turns(m: int, programs: int) -> None:
    k, block, deep = 256, 64, 32
    given = (tensor("a_ptr", "fp16", m, k), tensor("b_ptr", "fp16", k, m))
    sizes = [number(name, value) for name, value in (("M", m), ("N", m), ("K", k))]
    blocks = [constant(name, value) for name, value in (("BM", block), ("BN", block), ("BK", deep))]
    arguments = (*given, tensor("c_ptr", "fp16", m, m), *sizes, *blocks)
    launch = LaunchFacts("product", (programs,), arguments)
    side = m // block
    tiles = [range(first, side * side, programs) for first in range(programs)]
    each = block * k * 2
    unique = [
        each * (len({t // side for t in own}) + len({t % side for t in own})) for own in tiles
    ]
    work = work_of(PERSISTENT, launch)
    assert requests_of(work).unique == pytest.approx(sum(unique) / programs, rel=0.05)
    assert touched_bytes(work, launch) == pytest.approx(2 * (2 * m * k + m * m), rel=0.01)


def test_programs_that_share_a_row_of_tiles_reach_as_far_as_the_longest() -> None:
    t, head, heads = 512, 64, 4
    tensors = [tensor(name, "fp16", heads, t, head) for name in ("q_ptr", "k_ptr", "o_ptr")]
    blocks = [constant(name, value) for name, value in (("HEAD", head), ("BM", 64), ("BN", 32))]
    launch = LaunchFacts("causal", (t // 64, heads), (*tensors, number("T", t), *blocks))
    work = work_of(CAUSAL, launch)
    assert touched_bytes(work, launch) == pytest.approx(3 * 2 * heads * t * head, rel=0.01)
    turns = sum((block + 1) * 2 for block in range(8)) / 8
    assert requests_of(work).requested == pytest.approx(2 * head * (64 + 32 * turns), rel=0.01)


@pytest.mark.parametrize("n", [640, 768, 1000])
def test_rows_shorter_than_their_tile_lie_side_by_side(n: int) -> None:
    given = (tensor("x_ptr", "fp32", 64, n), tensor("y_ptr", "fp32", 64, n), number("N", n))
    launch = LaunchFacts("narrow", (8,), (*given, constant("ROWS", 8), constant("BLOCK", 1024)))
    work = work_of(NARROW, launch)
    assert (
        requests_of(work).requested
        == requests_of(work).stored
        == pytest.approx(8 * n * 4, rel=0.005)
    )


def test_a_single_program_shares_nothing() -> None:
    given = (tensor("x_ptr", "fp32", 8, 1024), tensor("y_ptr", "fp32", 8, 1024), number("N", 1024))
    launch = LaunchFacts("narrow", (1,), (*given, constant("ROWS", 8), constant("BLOCK", 1024)))
    found = requests_of(work_of(NARROW, launch))
    assert (found.unique, found.common) == (8 * 1024 * 4, 0.0)


def test_a_tile_that_is_masked_in_one_program_of_six_is_shorter_by_its_share() -> None:
    m, n = 64, 704
    given = (tensor("x_ptr", "fp16", m, n), tensor("y_ptr", "fp16", m, n), number("N", n))
    launch = LaunchFacts("spread", (8, 6), (*given, constant("ROWS", 8), constant("BLOCK", 128)))
    work = work_of(SPREAD, launch)
    assert requests_of(work).requested * 48 == pytest.approx(2 * m * n, rel=0.001)


@pytest.mark.parametrize("block", [64, 256])
def test_rows_picked_twice_are_fetched_once_where_the_cache_keeps_a_slice(block: int) -> None:
    picks, rows, width = 4096, 2048, 1024
    given = (tensor("index_ptr", "i64", picks), tensor("x_ptr", "fp32", rows, width))
    rest = (tensor("y_ptr", "fp32", picks, width), number("width", width))
    blocks = (constant("ROWS", 8), constant("BLOCK", block))
    launch = LaunchFacts("pick", (picks // 8, width // block), (*given, *rest, *blocks))
    work = work_of(PICK, launch)
    expected = rows * (1 - math.exp(-picks / rows))
    slices = (expected + picks) * width * 4 + width // block * picks * 8
    slice_ = 4 * block * (rows + picks) + 8 * picks
    kept = memory_bytes(work, launch, 132, 1.1 * slice_)
    assert kept == pytest.approx(slices, rel=0.02)
    each = memory_bytes(work, launch, 132, 1.0)
    assert each == pytest.approx(2 * picks * width * 4 + width // block * picks * 8, rel=0.25)


def test_a_larger_cache_never_fetches_more() -> None:
    given = (tensor("index_ptr", "i64", 4096), tensor("x_ptr", "fp32", 1024, 512))
    given = (*given, tensor("y_ptr", "fp32", 4096, 512), number("width", 512))
    launch = LaunchFacts(
        "pick", (4096 // 8, 4), (*given, constant("ROWS", 8), constant("BLOCK", 128))
    )
    work = work_of(PICK, launch)
    caches = [1.0, *(2.0**n for n in range(16, 26))]
    fetched = [memory_bytes(work, launch, 132, cache) for cache in caches]
    assert fetched == sorted(fetched, reverse=True)
    assert fetched[-1] == touched_bytes(work, launch) < 0.8 * fetched[0]


@pytest.mark.parametrize(("rows", "block", "stride"), [(1, 512, 3), (16, 32, 3), (16, 32, 1)])
def test_strides_below_a_sector_are_read_side_by_side(rows: int, block: int, stride: int) -> None:
    given = (tensor("x_ptr", "fp32", 64, 512 * stride), tensor("y_ptr", "fp32", 64, 512))
    sizes = (number("N", 512), number("stride", stride), constant("ROWS", rows))
    launch = LaunchFacts(
        "strided", (512 // block, 64 // rows), (*given, *sizes, constant("BLOCK", block))
    )
    read, written = 4 * ((block - 1) * stride + 1), 4 * block
    assert requests_of(work_of(STRIDED, launch)).per_run == pytest.approx(
        (1 / read + 1 / written) / 2
    )


def test_a_factor_of_another_product_is_made_and_one_that_was_loaded_is_not() -> None:
    given = tuple(tensor(f"{name}_ptr", "fp16", 8 * 1024, 64) for name in "qko")
    sizes = (number("T", 1024), constant("HEAD", 64), constant("BM", 128), constant("BN", 64))
    dots = work_of(CAUSAL, LaunchFacts("causal", (8, 8), (*given, *sizes))).dots
    assert sorted(dot.made for dot in dots) == [False, True]
    given = tuple(tensor(f"{name}_ptr", "fp16", 512, 512) for name in "abc")
    sizes = tuple(number(name, 512) for name in "MNK")
    tiles = (constant("BM", 64), constant("BN", 64), constant("BK", 32))
    (dot,) = work_of(PERSISTENT, LaunchFacts("product", (16,), (*given, *sizes, *tiles))).dots
    assert not dot.made


@pytest.mark.parametrize(("weights", "made"), [("i8", True), ("fp16", False)])
def test_a_factor_that_is_widened_in_its_turn_is_made(weights: str, made: bool) -> None:
    given = (tensor("a_ptr", "fp16", 512, 512), tensor("b_ptr", weights, 512, 512))
    sizes = tuple(number(name, 512) for name in "MNK")
    tiles = (constant("BM", 64), constant("BN", 64), constant("BK", 32))
    source = PERSISTENT.replace("tl.dot(a, b,", "tl.dot(a, b.to(tl.float16),")
    assert source != PERSISTENT
    launch = LaunchFacts(
        "product", (16,), (*given, tensor("c_ptr", "fp16", 512, 512), *sizes, *tiles)
    )
    (dot,) = work_of(source, launch).dots
    assert dot.made == made


def test_what_no_lane_reaches_moves_nothing() -> None:
    given = (tensor("x_ptr", "fp32", 8, 1024), tensor("y_ptr", "fp32", 8, 1024), number("N", 0))
    launch = LaunchFacts("narrow", (4,), (*given, constant("ROWS", 2), constant("BLOCK", 1024)))
    work = work_of(NARROW, launch)
    found = requests_of(work)
    assert (found.requested, found.unique, found.stored) == (0.0, 0.0, 0.0)
    assert touched_bytes(work, launch) == 0.0


def test_a_loop_without_turns_reaches_nothing() -> None:
    tensors = [tensor(name, "fp16", 64, 64) for name in ("a_ptr", "b_ptr", "c_ptr")]
    sizes = [number(name, value) for name, value in (("M", 64), ("N", 64), ("K", 0))]
    blocks = [constant(name, 32) for name in ("BM", "BN", "BK")]
    work = work_of(PERSISTENT, LaunchFacts("product", (4,), (*tensors, *sizes, *blocks)))
    assert requests_of(work).unique == requests_of(work).requested == 0.0


def test_operands_of_a_batch_are_shared_by_its_own_programs_alone() -> None:
    batches, side, block = 16, 1024, 32
    given = [tensor(name, "fp16", batches, side, side) for name in ("a_ptr", "b_ptr", "c_ptr")]
    launch = LaunchFacts(
        "batched",
        ((side // block) ** 2, batches),
        (*given, number("N", side), constant("B", block)),
    )
    a, b, _ = (touch.spread for touch in work_of(BATCHED, launch).touches)
    assert a is not None
    assert b is not None
    programs = (side // block) ** 2
    assert (a.distinct(programs), b.distinct(programs)) == (32, 32)
    assert (a.distinct(16 * programs), b.distinct(16 * programs)) == (16 * 32, 16 * 32)


@pytest.mark.parametrize("text", [BLOCKS, DESCRIBED], ids=["block pointers", "descriptors"])
@pytest.mark.parametrize(("m", "k"), [(512, 256), (328, 208)])
def test_blocks_are_shared_like_tiles_and_end_with_their_tensor(text: str, m: int, k: int) -> None:
    n, block, deep = 512, 64, 32
    given = (tensor("a_ptr", "fp16", m, k), tensor("b_ptr", "fp16", k, n))
    sizes = [number(name, value) for name, value in (("M", m), ("N", n), ("K", k))]
    blocks = [constant(name, value) for name, value in (("BM", block), ("BN", block), ("BK", deep))]
    grid = (-(-m // block), n // block)
    arguments = (*given, tensor("c_ptr", "fp16", m, n), *sizes, *blocks)
    work = work_of(text, launch := LaunchFacts("product", grid, arguments))
    a, b, c = work.touches
    assert (a.spread, b.spread, c.spread) != (None, None, None)
    assert a.spread is not None
    assert a.spread.distinct(work.programs) == grid[0]
    assert a.inside == pytest.approx(m / (grid[0] * block) * (k / (-(-k // deep) * deep)))
    read = 2 * work.programs * k * (m / grid[0] + block)
    assert requests_of(work).requested * work.programs == pytest.approx(read, rel=0.05)
    assert touched_bytes(work, launch) == pytest.approx(2 * (m * k + k * n + m * n), rel=0.02)
