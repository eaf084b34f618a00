"""Occupancy, against figures that others have published or that the compiler itself states."""

import re
from pathlib import Path

import pytest

from tilewright.devices.opening import open_device
from tilewright.evaluation.workbench import Workbench
from tilewright.hardware.chips import chip
from tilewright.hardware.model import Residency
from tilewright.problems.loading import find_problem
from tilewright.targets.compilation import compile_launch, compile_stage
from tilewright.targets.model import CompileReport, LaunchFacts, Target
from tilewright.targets.occupancy import Occupancy, occupancy, occupancy_of

EXAMPLES = Path(__file__).parents[2] / "examples"
OTHERS = ("gfx90a", "gfx1100", "gfx1201")


def of(target: str, registers: int, warps: int, shared_bytes: int = 0) -> Occupancy:
    residency = chip(target).residency
    assert isinstance(residency, Residency)
    return occupancy(residency, registers=registers, shared_bytes=shared_bytes, warps=warps)


@pytest.mark.parametrize(("threads", "programs", "share"), [(128, 12, 0.75), (320, 4, 0.625)])
def test_37_registers_as_in_nvidias_best_practices_guide(
    threads: int, programs: int, share: float
) -> None:
    """Its example is of 64 Ki registers and 64 warps a multiprocessor, as 8.0 and 9.0 have too."""
    for target in ("cuda:80", "cuda:90"):
        found = of(target, 37, threads // 32)
        assert (found.programs, found.share) == (programs, share)
        assert found.limited_by == ("registers",)


def test_32_registers_fill_a_multiprocessor() -> None:
    """Of 64 warps (Best Practices Guide: 100 % with at most 32 registers a thread)."""
    assert of("cuda:90", 32, 8).share == 1
    assert of("cuda:90", 33, 8).share < 1


def test_a_program_with_all_the_shared_memory_it_may_have_is_alone() -> None:
    for target in ("cuda:80", "cuda:86", "cuda:89", "cuda:90", "cuda:100", "cuda:120"):
        found = of(target, 32, 4, chip(target).shared_limit)
        assert (found.programs, found.limited_by) == (1, ("shared memory",))


def test_each_program_has_a_kibibyte_more_than_it_asked_for() -> None:
    """CUDA Programming Guide, from 8.0 on: two programs cannot share all of the memory."""
    assert of("cuda:90", 32, 4, 233472 // 2).programs == 1
    assert of("cuda:90", 32, 4, 233472 // 2 - 1024).programs == 2


def test_few_warps_are_limited_by_the_number_of_programs() -> None:
    found = of("cuda:89", 16, 1)
    assert (found.programs, found.limited_by) == (24, ("programs",))


@pytest.mark.parametrize(
    ("warps", "registers", "programs"),
    [
        (1, 32, 32), (1, 57, 32), (1, 104, 16), (1, 255, 8), (2, 40, 24),
        (2, 168, 6), (6, 74, 4), (10, 57, 3), (16, 128, 1), (32, 64, 1),
    ],
)  # fmt: skip
def test_programs_by_registers_as_nvidias_header_reckons_them(
    warps: int, registers: int, programs: int
) -> None:
    """What ``cudaOccMaxActiveBlocksPerMultiprocessor`` of CUDA 13.0's cuda_occupancy.h gives."""
    assert of("cuda:90", registers, warps).programs == programs


@pytest.mark.parametrize(
    ("registers", "waves"),
    [(64, 8), (72, 7), (80, 6), (96, 5), (128, 4), (168, 3), (256, 2), (512, 1)],
)  # fmt: skip
def test_waves_by_vector_registers_as_rocms_table_has_them(registers: int, waves: int) -> None:
    """ROCm documentation, occupancy of MI200 and MI300 by vector registers used."""
    assert of("hip:gfx942", registers, 4).warps == 4 * waves
    assert of("hip:gfx942", registers + 1, 4).warps < 4 * waves or registers == 512


def test_large_registers_halve_intels_threads() -> None:
    """oneAPI GPU Optimization Guide: 8 threads a vector engine with 128 registers, 4 with 256."""
    assert of("xpu:pvc", 128, 32).warps == 64
    assert of("xpu:pvc", 256, 32).warps == 32


@pytest.mark.parametrize("target", ["hip:gfx803", "cuda:70"])
def test_a_chip_without_the_figures_has_no_occupancy(target: str) -> None:
    backend, _, arch = target.partition(":")
    report = CompileReport(
        Target(backend, arch), "k", LaunchFacts("k", (1,), ()), True,
        registers=128, shared_bytes=0, details={"warps": 4},
    )  # fmt: skip
    assert occupancy_of(report) is None


@pytest.mark.triton
@pytest.mark.parametrize(
    "arch", ["gfx942", *(pytest.param(a, marks=pytest.mark.slow) for a in OTHERS)]
)
def test_waves_are_those_that_llvm_states_in_its_assembly(tmp_path: Path, arch: str) -> None:
    problem = find_problem(EXAMPLES / "layernorm.py")
    assert problem is not None
    text = (EXAMPLES / "layernorm.py").read_text()
    bench = Workbench(open_device("interpreter"), problem, EXAMPLES / "layernorm.py", tmp_path, 0)
    launch = bench.capture(text, problem.measured_cases()[0]).launches[0]
    module, target = str(bench.place(text)), Target("hip", arch)
    report = compile_launch(bench.device, module, launch, target)
    found = occupancy_of(report)
    assembly = compile_stage(bench.device, module, launch, target, "amdgcn").text
    assert assembly is not None
    stated = re.search(r"; Occupancy: (\d+)", assembly)
    residency = chip(target).residency
    assert stated is not None
    assert found is not None
    assert residency is not None
    warps = int(report.details["warps"])
    assert found.warps == min(
        int(stated[1]) * residency.partitions // warps * warps, found.max_warps
    )
