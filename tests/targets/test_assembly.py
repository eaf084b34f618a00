"""Compilers' texts read as data: on lines as compilers write them, and on what they write today."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.devices.client import WorkerDevice
from tilewright.devices.opening import open_device
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import find_problem
from tilewright.targets.assembly.kinds import Kind, kind_of
from tilewright.targets.assembly.listing import listing_of
from tilewright.targets.assembly.markers import with_markers
from tilewright.targets.assembly.mixes import mix, mix_by_line
from tilewright.targets.assembly.model import Instruction, Listing
from tilewright.targets.assembly.places import lines_of
from tilewright.targets.assembly.widths import width_of
from tilewright.targets.cache import text_cache
from tilewright.targets.compilation import compile_stage
from tilewright.targets.model import MACHINE_CODE, Target
from tilewright.targets.toolchains import NoToolchainError

EXAMPLES = Path(__file__).parents[2] / "examples"
SOURCE = (EXAMPLES / "matmul.py").read_text()
LOAD, DOT, STORE = (
    next(at for at, line in enumerate(SOURCE.splitlines(), 1) if words in line)
    for words in ("a = tl.load", "tl.dot(", "tl.store")
)


@pytest.mark.parametrize(
    ("stage", "opcode", "kind"),
    [
        ("ptx", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", Kind.WGMMA),
        ("ptx", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", Kind.MMA),
        ("ptx", "cp.async.cg.shared.global", Kind.ASYNC_COPY),
        ("ptx", "cp.async.commit_group", Kind.OTHER),
        ("ptx", "cp.async.bulk.tensor.2d.shared::cluster.global", Kind.TMA),
        ("ptx", "cp.async.bulk.wait_group.read", Kind.OTHER),
        ("ptx", "ld.param.b64", Kind.OTHER),
        ("ptx", "ld.acquire.gpu.global.b32", Kind.GLOBAL_LOAD),
        ("ptx", "ld.global.L1::evict_last.v4.b32", Kind.GLOBAL_LOAD),
        ("ptx", "ld.local.b32", Kind.LOCAL_LOAD),
        ("ptx", "cvta.to.global.u64", Kind.OTHER),
        ("ptx", "mul.rn.f64", Kind.FP64),
        ("sass", "HGMMA.64x128x16.F32", Kind.WGMMA),
        ("sass", "UTCHMMA", Kind.TCGEN05_MMA),
        ("sass", "LDGSTS.E.BYPASS.128", Kind.ASYNC_COPY),
        ("sass", "LDGDEPBAR", Kind.OTHER),
        ("sass", "LDSM.16.M88.4", Kind.SHARED_LOAD),
        ("sass", "REDUX.SUM", Kind.OTHER),
        ("sass", "STL.64", Kind.LOCAL_STORE),
        ("sass", "HFMA2.MMA", Kind.OTHER),
        ("amdgcn", "scratch_load_dword", Kind.LOCAL_LOAD),
        ("amdgcn", "v_mfma_f32_32x32x8_f16", Kind.MFMA),
        ("amdgcn", "s_load_dwordx4", Kind.OTHER),
        ("amdgcn", "ds_bpermute_b32", Kind.OTHER),
        ("amdgcn", "ds_add_u32", Kind.ATOMIC),
        ("amdgcn", "s_barrier_wait", Kind.OTHER),
        ("amdgcn", "global_load_lds_dwordx4", Kind.ASYNC_COPY),
        ("xe-asm", "dpas.8x8", Kind.DPAS),
        ("xe-asm", "load_block2d.ugm.d16v.a64", Kind.BLOCK_LOAD),
        ("xe-asm", "store.slm.d32x4.a32", Kind.SHARED_STORE),
        ("xe-asm", "sync.nop", Kind.OTHER),
        ("sass", "FROBNICATE.128", Kind.OTHER),
    ],
)
def test_a_kind_is_what_the_opcode_says(stage: str, opcode: str, kind: Kind) -> None:
    assert kind_of(stage, Instruction(1, opcode, opcode)) is kind


@pytest.mark.parametrize(
    ("stage", "opcode", "text", "kind"),
    [
        ("amdgcn", "buffer_load_dwordx4", "buffer_load_dwordx4 v1, s[0:3], 0 offen lds",
         Kind.ASYNC_COPY),
        ("amdgcn", "scratch_store_dword",
         "scratch_store_dword off, v3, off ; 4-byte Folded Spill", Kind.SPILL_STORE),
        ("amdgcn", "v_writelane_b32", "v_writelane_b32 v255, s4, 0 ; 4-byte Folded Spill",
         Kind.OTHER),
        ("xe-asm", "store.ugm.d32x16t.a32",
         "store.ugm.d32x16t.a32 (1|M0) ss[a0.2] r84:1 // spill to offset[0*64] of ?",
         Kind.SPILL_STORE),
        ("xe-asm", "mov", "mov (16|M0) r5.0<1>:hf r6.0<1;1,0>:f {I@1}", Kind.CONVERSION),
        ("xe-asm", "mov", "(W) mov (8|M0) r50.0<1>:uq r51.0<1;1,0>:uq", Kind.OTHER),
        ("xe-asm", "mad", "mad (16|M0) r5.0<1>:df r6.0<1;0>:df r7.0<1;0>:df r8.0<1>:df", Kind.FP64),
    ],
)  # fmt: skip
def test_operands_and_comments_tell_what_the_opcode_does_not(
    stage: str, opcode: str, text: str, kind: Kind
) -> None:
    assert kind_of(stage, Instruction(1, opcode, text)) is kind


@pytest.mark.parametrize(
    ("stage", "opcode", "bits"),
    [
        ("ptx", "ld.global.v4.b32", 128), ("ptx", "st.global.b16", 16),
        ("sass", "LDG.E.128", 128), ("sass", "LDG.E", 32), ("sass", "STG.E.U8", 8),
        ("sass", "LDG.E.U16.CONSTANT", 16),
        ("amdgcn", "buffer_store_dwordx2", 64), ("amdgcn", "global_load_b128", 128),
        ("amdgcn", "global_load_ushort", 16), ("amdgcn", "global_load_d16_hi_b16", 16),
        ("xe-asm", "load.ugm.d32x4.a64", 128), ("xe-asm", "load.ugm.d16u32.a64", 16),
        ("xe-asm", "load.ugm.d32x16t.a32", None),
    ],
)  # fmt: skip
def test_a_width_is_what_one_thread_moves(stage: str, opcode: str, bits: int | None) -> None:
    assert width_of(stage, opcode) == bits


def test_ptx_statements_of_inline_assembly_are_instructions() -> None:
    text = (
        '.visible .entry k(\n\t.param .u64 p\n)\n.reqntid 128\n{\n\t.reg .b32 %r<4>;\n'
        "\t.loc\t1 7 3\n\t// begin inline asm\n\t{ .reg .b32 t; @%p1 ld.global.v2.b32 { %r1, %r2 },"
        " [ %rd1 ];\n\tex2.approx.f32 t, %f1; }\n\t// end inline asm\n$L__BB0_1:\n"
        "\t.loc\t2 40 3, function_name $L__i0, inlined_at 1 9 5\n\tadd.s32 %r3, %r1,\n\t\t%r2;\n}\n"
        '\t.file\t1 "kernel.py"\n\t.file\t2 "/lib/triton/language/standard.py"\n'
        "\t.section\t.debug_abbrev\n\t{\n.b8 1\n\t}\n"
    )  # fmt: skip
    found = listing_of("ptx", text, "kernel.py").instructions
    assert [(one.opcode, one.line) for one in found] == [
        ("ld.global.v2.b32", 7),
        ("ex2.approx.f32", 7),
        ("add.s32", 9),
    ]
    assert found[-1].text == "add.s32 %r3, %r1, %r2"
    assert [place.line for place in found[-1].places] == [40, 9]


def test_a_library_file_of_the_same_name_is_not_the_users() -> None:
    text = (
        '\t//## File "/lib/kernel.py", line 4\n        /*0000*/   MOV R1, R2 ;\n'
        '\t//## File "/lib/kernel.py", line 5 inlined at "kernel.py", line 8\n'
        '\t//## File "kernel.py", line 8\n        /*0010*/   @!P0 LDG.E.128 R4, [R2] ;\n'
    )
    first, second = listing_of("sass", text, "kernel.py").instructions
    assert first.line is None
    assert (second.opcode, second.line, second.at) == ("LDG.E.128", 8, 5)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], str]:
    """The text of examples/matmul.py at a stage, for a target."""
    cache = text_cache(tmp_path_factory.mktemp("stages"))
    problem = find_problem(EXAMPLES / "matmul.py")
    assert problem is not None
    folder = tmp_path_factory.mktemp("scratch")
    device = open_device("interpreter")
    bench = Workbench(device, problem, EXAMPLES / "matmul.py", folder, 0)
    (launch,) = bench.capture(SOURCE, problem.measured_cases()[0]).launches

    def text_of(target: str, name: str) -> str:
        backend, _, arch = target.partition(":")
        module = str(bench.place(SOURCE))
        wanted = Target(backend, arch)
        try:
            found = compile_stage(device, module, launch, wanted, name, cache=cache)
        except NoToolchainError as error:
            pytest.skip(str(error))
        if found.text is None and ("ocloc" in found.missing or "spirv-dis" in found.missing):
            pytest.skip(found.missing)
        assert found.text is not None, found.missing
        assert str(folder) not in found.text
        return found.text

    return text_of


def read(text_of: Callable[[str, str], str], target: str, name: str) -> Listing:
    return listing_of(name, text_of(target, name), "matmul.py")


CHIPS = [("cuda:80", "mma"), ("cuda:90", "mma"), ("hip:gfx942", "mfma"), ("hip:gfx1201", ""),
         ("xpu:bmg-g31", "dpas")]  # fmt: skip


@pytest.mark.triton
@pytest.mark.parametrize(("target", "tensor"), CHIPS)
def test_machine_code_goes_back_to_its_source_lines(
    stage: Callable[[str, str], str], target: str, tensor: str
) -> None:
    listing = read(stage, target, MACHINE_CODE[target.partition(":")[0]])
    by_line, whole = mix_by_line(listing), mix(listing)
    assert sum(whole.values()) == len(listing.instructions) > 100
    assert sum(sum(counts.values()) for counts in by_line.values()) == sum(whole.values())
    if tensor:
        assert by_line[DOT].get(tensor) == whole[tensor] > 0
    stores = {line for line, of in by_line.items() if any("global_store" in k for k in of)}
    assert stores == {STORE}
    moves = {"async_copy", "block2d_load", "global_load"}
    assert any(name.startswith(tuple(moves)) for name in by_line[LOAD])


@pytest.mark.triton
def test_nothing_of_intels_assembly_is_overlooked(stage: Callable[[str, str], str]) -> None:
    text = stage("xpu:bmg-g31", "xe-asm")
    stated = next(line for line in text.splitlines() if line.startswith("//.instCount"))
    found = listing_of("xe-asm", text, "matmul.py").instructions
    assert len(found) == int(stated.split()[1])


@pytest.mark.triton
def test_ptx_has_the_tensor_instructions_of_its_machine_code(
    stage: Callable[[str, str], str],
) -> None:
    ptx, sass = read(stage, "cuda:90", "ptx"), read(stage, "cuda:90", "sass")
    assert mix(ptx)["mma"] == mix(sass)["mma"]
    assert mix(ptx)["async_copy"] == mix(sass)["async_copy"]


@pytest.mark.triton
@pytest.mark.parametrize(
    ("target", "name"),
    [
        *(("cuda:90", name) for name in ("ttir", "ttgir", "llir", "ptx", "sass")),
        *(("hip:gfx942", name) for name in ("ttgir", "llir", "amdgcn")),
        *(("xpu:bmg-g31", name) for name in ("ttgir", "llir", "spirv", "xe-asm")),
    ],
)
def test_each_stage_is_marked_where_the_source_line_changes(
    stage: Callable[[str, str], str], target: str, name: str
) -> None:
    text = stage(target, name)
    known = lines_of(name, text, "matmul.py")
    assert {LOAD, DOT, STORE} <= set(known.values())
    marked = with_markers(name, text, "matmul.py", SOURCE).splitlines()
    assert any(line.endswith(SOURCE.splitlines()[STORE - 1].strip()) for line in marked)
    marks = [line for line in marked if line.lstrip("/; ").startswith("matmul.py:")]
    assert len(marked) == len(text.splitlines()) + len(marks)


@pytest.mark.triton
def test_a_stage_that_was_read_before_comes_from_the_cache(
    stage: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = stage("cuda:90", "ptx")

    def run(*_: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(WorkerDevice, "run", run)
    assert stage("cuda:90", "ptx") == first


@pytest.mark.triton
def test_spills_are_seen_where_the_assembler_says_there_are_some(tmp_path: Path) -> None:
    """The assembler counts bytes a thread, of which an instruction moves 4 to 16."""
    problem = find_problem(EXAMPLES / "matmul.py")
    assert problem is not None
    bench = Workbench(open_device("interpreter"), problem, EXAMPLES / "matmul.py", tmp_path, 0)
    (launch,) = bench.capture(SOURCE, problem.measured_cases()[0]).launches
    large = replace(
        launch,
        arguments=tuple(
            replace(a, value=128) if a.name in ("BLOCK_M", "BLOCK_N") else a
            for a in launch.arguments
        ),
        options={"num_warps": 2},
    )
    report = bench.compile(SOURCE, large, Target("cuda", "80"))
    module = str(bench.place(SOURCE))
    found = compile_stage(bench.device, module, large, Target("cuda", "80"), "sass")
    assert found.text is not None
    listing = listing_of("sass", found.text, "matmul.py")
    for line, by_kind in mix_by_line(listing).items():
        told = next((one for one in report.lines if one.line == line), None)
        if told is not None:
            assert told.spill_loads == by_kind.get("local_load", 0)
            assert told.spill_stores == by_kind.get("local_store", 0)
    assert sum(one.spill_loads for one in report.lines) > 10
    counts = mix(listing)
    for kind in ("load", "store"):
        bytes_moved = int(report.details[f"spill_{kind}_bytes"])
        assert bytes_moved / 16 <= counts[f"local_{kind}"] <= bytes_moved / 4
