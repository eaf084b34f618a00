"""The menus, held against the real compilers: what is offered first fits and does not spill."""

import re

import pytest

from tilewright.hardware.chips import all_chips
from tilewright.hardware.configs import dot_configs
from tilewright.hardware.model import Chip, DotConfig

pytestmark = [pytest.mark.triton, pytest.mark.slow]
pytest.importorskip("triton")

CHIPS = [chip for chip in all_chips() if chip.backend in ("cuda", "hip")]
POINTERS = ("a_ptr", "b_ptr", "c_ptr")
INTEGERS = ("K", "stride_a", "stride_b", "stride_c")


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.id)
def test_the_first_entry_fits_and_does_not_spill(chip: Chip) -> None:
    config = dot_configs(chip, 4096, 4096, 4096, 2)[0]
    shared, spilled = _compiled(chip, config)
    assert shared <= chip.shared_limit
    assert spilled == 0


def _compiled(chip: Chip, config: DotConfig) -> tuple[int, int]:
    """Shared bytes and bytes of spills, as the compiler for the chip reports them."""
    import triton
    from menu_kernel import product
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = (*POINTERS, *INTEGERS)
    tiles = {"BLOCK_M": config.block_m, "BLOCK_N": config.block_n, "BLOCK_K": config.block_k}
    source = ASTSource(
        product,
        {**dict.fromkeys(POINTERS, "*fp16"), **dict.fromkeys(INTEGERS, "i32")}
        | dict.fromkeys(tiles, "constexpr"),
        {(len(names) + place,): value for place, value in enumerate(tiles.values())},
        {(place,): [["tt.divisibility", 16]] for place in range(len(names))},
    )
    arch = int(chip.arch) if chip.backend == "cuda" else chip.arch
    target = GPUTarget(chip.backend, arch, chip.warp_size)
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    kernel = triton.compile(source, target=target, options=options)
    return kernel.metadata.shared, _spilled(chip, kernel.asm)


def _spilled(chip: Chip, asm: dict[str, str]) -> int:
    if chip.backend == "hip":
        found = re.search(r"vgpr_spill_count:\s*(\d+)", asm["amdgcn"])
        return int(found[1]) if found else 0
    return _local_bytes(asm["cubin"])


def _local_bytes(cubin: object) -> int:
    """Stack and local memory of a cubin, by the cuobjdump that Triton brings along."""
    import subprocess
    import tempfile
    from pathlib import Path

    import triton

    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    assert isinstance(cubin, bytes)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run(
            [tool, "-res-usage", file.name], capture_output=True, text=True, check=True
        )
    return sum(map(int, re.findall(r"(?:STACK|LOCAL):(\d+)", done.stdout + done.stderr)))
