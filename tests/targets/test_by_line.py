"""What became of each source line: on texts as compilers write them, and on what they write."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright.devices.opening import open_device
from tilewright.targets import compilation
from tilewright.targets.assembly.listing import xe_instructions
from tilewright.targets.assembly.model import Instruction
from tilewright.targets.assembly.tiles import best_bits, tile_ops
from tilewright.targets.assembly.widths import bits_of
from tilewright.targets.cache import ReportCache, readers
from tilewright.targets.compilation import compile_launch
from tilewright.targets.line_report import digest
from tilewright.targets.model import ArgumentFacts, CompileReport, LaunchFacts, LineReport
from tilewright.targets.registry import parse_target

OWN = "tilewright.targets."
TTGIR = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 4]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: !tt.ptr<f16> loc("p"(#loc))) {
    %0:2 = scf.for %i = %a to %b step %c iter_args(%x = %y) -> (tensor<8xf32>)  : i32 {
      %1 = tt.load %p, %m : tensor<128x32x!tt.ptr<f16>, #blocked> loc(#loc3)
      %2 = "tt.reduce"(%1) <{axis = 0 : i32}> ({
      ^bb0(%u: f32 loc("u"(#loc5)), %v: f32 loc("v"(#loc5))):
        tt.reduce.return %u : f32 loc(#loc5)
      }) : (tensor<8xf32>) -> f32 loc(#loc5)
      %3 = ttg.convert_layout %1 : tensor<8xf32, #a> -> tensor<8xf32, #b> loc(#loc4)
      %4 = tt.dot %3, %3, %x : tensor<8xf32> * tensor<8xf32> -> tensor<8xf32> loc(#loc6)
      scf.yield %4 : tensor<8xf32> loc(#loc2)
    } loc(#loc2)
    %5 = tt.dot %3, %3, %x : tensor<8xf32> * tensor<8xf32> -> tensor<8xf32> loc(#loc6)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc("k.py":1:1)
#loc2 = loc("k.py":2:5)
#loc3 = loc("k.py":3:9)
#loc4 = loc("k.py":4:9)
#loc5 = loc("k.py":5:9)
#loc6 = loc("k.py":6:9)
"""


def test_loops_conversions_and_products_are_read_from_ttgir() -> None:
    found = {line.line: line for line in digest("cuda", {"ttgir": TTGIR}, "k.py").lines}
    assert {n: line.loop_depth for n, line in found.items()} == {1: 0, 2: 0, 3: 1, 4: 1, 5: 1, 6: 1}
    assert found[4].conversions == 1
    assert found[6].dots == 1  # the copy behind the pipelined loop is of the same product
    (load,) = (op for op in tile_ops(TTGIR, "k.py") if op.access)
    assert (load.access, load.best_bits) == ("load", 128)  # 32 halves a thread


@pytest.mark.parametrize(
    ("operation", "threads", "bits"),
    [
        ("tt.load %p : tensor<128x32x!tt.ptr<f16>, #b>", 1024, 64),
        ("tt.load %p : tensor<128x32x!tt.ptr<f16>, #b>", 128, 128),
        ("tt.load %p : tensor<64x2x!tt.ptr<f16>, #b>", 1, 128),
        ("tt.load %p : tensor<4x2x!tt.ptr<f16>, #b>", 1, 64),  # 4 is the longest run there is
        ("tt.load %p : tensor<128x!tt.ptr<i8>, #b>", 256, 8),
        ("tt.load %p : tensor<256x!tt.ptr<f8E4M3FN>, #b>", 128, 16),
        ("tt.load %p : tensor<256x!tt.ptr<i1>, #b>", 128, 16),
        ("tt.load %p : tensor<128x!tt.ptr<!tt.ptr<f32>>, #b>", 128, 64),
        ("tt.load %p : !tt.ptr<f32>", 128, 32),
        ("amdg.buffer_load %p[%o] : !tt.ptr<f16> -> tensor<32x128xf16, #b>", 512, 128),
        ("amdgpu.buffer_load %p[%o] : tensor<32x128xbf16, #b>", 1024, 64),
        ("tt.load %p : !tt.ptr<tensor<128x32xf16, #dot>>", 128, None),
    ],
)
def test_the_widest_access_is_what_a_thread_holds_of_the_tile(
    operation: str, threads: int, bits: int | None
) -> None:
    assert best_bits(operation, threads) == bits


@pytest.mark.parametrize(
    ("stage", "opcode", "text", "bits"),
    [
        ("ptx", "cp.async.cg.shared.global", "cp.async.cg.shared.global [ %r1 + 0 ], [ %rd2 + 0 "
         "], 0x10, %r3", 128),
        ("ptx", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "", 128),
        ("ptx", "ld.shared.v2.b32", "", 64),
        ("amdgcn", "ds_read_b128", "", 128), ("amdgcn", "ds_read2st64_b64", "", 128),
        ("amdgcn", "ds_write_b8", "", 8), ("amdgcn", "ds_read_u16_d16_hi", "", 16),
        ("amdgcn", "ds_read_b64_tr_b16", "", 64),
    ],
)  # fmt: skip
def test_shared_and_asynchronous_accesses_have_a_width(
    stage: str, opcode: str, text: str, bits: int
) -> None:
    assert bits_of(stage, Instruction(1, opcode, text)) == bits


def test_spills_of_intel_s_code_are_where_the_register_is_used() -> None:
    text = (
        "// File: k.py\n// Line 3:  x\n        add (16|M0) r1:1 r2:1 r3:1\n// Line 9:  y\n"
        "        store.ugm.d32x16t.a32 (1|M0) ss[a0.2] r1:1 // spill to offset[0*64] of ?;\n"
        "        load.ugm.d32x16t.a32 (1|M0) r1:1 ss[a0.2] // fill from offset[0*64] of ?;\n"
        "// Line 5:  z\n        mul (16|M0) r1:1 r1:1 r3:1\n"
    )
    placed = [(one.opcode.partition(".")[0], one.places[0].line) for one in xe_instructions(text)]
    assert placed == [("add", 3), ("store", 3), ("load", 5), ("mul", 5)]


KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        x = tl.load(a + m[:, None] * 4096 + (at + k)[None, :] * sa)
        y = tl.load(b + (at + k)[:, None] * 4096 + n[None, :] * sb)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * BN + n[None, :], acc.to(tl.float16))
"""
Compiled = Callable[..., CompileReport]


def line_with(report: CompileReport, words: str) -> LineReport:
    at = next(n for n, text in enumerate(KERNEL.splitlines(), 1) if words in text)
    return next(line for line in report.lines if line.line == at)


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    folder = tmp_path_factory.mktemp("product")
    path = folder / "product.py"
    path.write_text(KERNEL)
    device = open_device("interpreter")

    def made(target: str, stride: int = 1, tile: int = 128, **options: int) -> CompileReport:
        strides = [ArgumentFacts(name, "int", "i32", stride) for name in ("sa", "sb")]
        sizes = (("BM", tile), ("BN", tile), ("BK", 32))
        arguments = (
            *(ArgumentFacts(p, "tensor", "*fp16", None, (4096, 4096), (4096, 1), True)
              for p in "abc"),
            ArgumentFacts("K", "int", "i32", 4096, divisible_by_16=True), *strides,
            *(ArgumentFacts(name, "constexpr", "constexpr", n) for name, n in sizes),
        )  # fmt: skip
        launch = LaunchFacts("product", (1,), arguments, {"num_warps": 4, **options})
        cache = ReportCache(folder / "cache")
        return compile_launch(device, str(path), launch, parse_target(target), cache=cache)

    return made


@pytest.mark.triton
@pytest.mark.parametrize(
    ("target", "kind"), [("cuda:90", "wgmma"), ("cuda:80", "mma"), ("hip:gfx942", "mfma")]
)
def test_a_product_s_lines_are_told(product: Compiled, target: str, kind: str) -> None:
    report = product(target)
    assert report.ok, report.messages
    dot, store = line_with(report, "tl.dot"), line_with(report, "tl.store")
    assert (dot.dots, dot.loop_depth, store.loop_depth) == (1, 1, 0)
    assert dot.tensor[kind] == report.details[kind] != 0
    loads = [a for a in line_with(report, "tl.load(a").accesses if a.space == "global"]
    assert [(a.bits, a.best_bits) for a in loads] == [(128, 128)]
    assert {a.kind for a in store.accesses if a.space == "global"} == {"store"}
    assert all((line.spill_loads, line.spill_stores) == (0, 0) for line in report.lines)
    assert product(target).lines == report.lines  # out of the cache


@pytest.mark.triton
@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_a_load_with_an_unknown_stride_moves_less_than_it_could(
    product: Compiled, target: str
) -> None:
    report = product(target, stride=7)
    (load,) = (a for a in line_with(report, "tl.load(a").accesses if a.space == "global")
    assert (load.kind, load.bits, load.best_bits) == ("load", 16, 128)
    assert load.count % 16 == 0  # each of a thread's elements by itself


@pytest.mark.triton
def test_a_report_tells_where_the_time_of_a_compilation_went(product: Compiled) -> None:
    details = product("cuda:90").details
    for part in ("front_end", "optimizer", "assembler"):
        assert float(details[f"{part}_seconds"]) > 0
    assert details["local_bytes"] == 0


def test_every_module_that_reads_the_texts_is_in_the_key_of_a_report() -> None:
    package = Path(compilation.__file__).parent
    waiting = {package / name for name in ("line_report.py", "error_hints.py")}
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OWN):
                name = str(node.module).removeprefix(OWN).replace(".", "/")
                waiting |= {package / f"{name}.py"} - found
    assert {package / "assembly" / name for name in ("listing.py", "places.py")} <= found
    assert found <= set(readers())
