"""Occupancy of AMD's chips, held against what LLVM tells of kernels that take so much."""

import re

import pytest

from tilewright.hardware.chips import all_chips
from tilewright.hardware.model import Chip
from tilewright.targets.occupancy import occupancy

pytestmark = pytest.mark.triton
pytest.importorskip("triton")

AMD = [chip for chip in all_chips() if chip.backend == "hip"]
SIMDS = 4  # one wave of a program on each, so that no rest of a program is lost


def told(chip: Chip, registers: int, shared_bytes: int) -> int:
    """Waves a SIMD, as LLVM writes it below a kernel's code."""
    from triton._C.libtriton import llvm

    llvm.init_targets()
    items = SIMDS * chip.warp_size
    block, use = "", ""
    if shared_bytes:
        block = f"@block = internal addrspace(3) global [{shared_bytes} x i8] poison\n"
        use = "store volatile i8 0, ptr addrspace(3) @block\n"
    text = (
        f"{block}define amdgpu_kernel void @kernel() #0 {{\n"
        f'call void asm sideeffect "", "~{{v{registers - 1}}}"()\n{use}ret void\n}}\n'
        f'attributes #0 = {{ "amdgpu-flat-work-group-size"="{items},{items}" }}\n'
    )
    code = llvm.translate_to_asm(text, "amdgcn-amd-amdhsa", chip.arch, "", [], False, False, False)
    found = re.search(r"; Occupancy: (\d+)", code)
    assert found is not None
    return int(found[1])


def ours(chip: Chip, registers: int, shared_bytes: int) -> int:
    assert chip.residency is not None
    found = occupancy(chip.residency, registers=registers, shared_bytes=shared_bytes, warps=SIMDS)
    return found.warps // chip.residency.partitions


@pytest.mark.parametrize("chip", AMD, ids=lambda chip: chip.id)
def test_waves_by_registers(chip: Chip) -> None:
    for registers in (16, 24, 32, 40, 64, 65, 72, 73, 96, 97, 120, 128, 129, 168, 192, 255, 256):
        assert ours(chip, registers, 0) == told(chip, registers, 0), registers


@pytest.mark.parametrize("chip", AMD, ids=lambda chip: chip.id)
def test_waves_by_shared_memory(chip: Chip) -> None:
    for size in (512, 8000, 8192, 8193, 16384, 20000, 32768, 32769, 40000, chip.shared_limit):
        assert ours(chip, 16, size) == told(chip, 16, size), size
