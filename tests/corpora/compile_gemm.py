"""How a product of matrices in tiles of 128 x 128 x 32 spills on an Intel chip, in a table."""

import sys
from collections.abc import Iterator

from compile_sweep import RESULTS
from test_xpu_gemm import B70, KERNELS, launch

from tilewright.devices.discovery import close_all
from tilewright.devices.opening import open_device
from tilewright.targets.cache import ReportCache
from tilewright.targets.compilation import compile_launch

_WARPS = (4, 8, 16, 32)
_KERNELS = {"with_pointers": "pointers", "with_block_pointers": "block pointers"}
_REGISTERS = ("small", "large")


def section() -> Iterator[str]:
    """The page's part, line by line; compiles what is not kept from before."""
    yield from (
        f"## A matrix product on `{B70}`",
        "",
        "Bytes that a thread spills: tiles of 128 x 128 x 32, fp16 into fp32, matrices of 4096 x "
        "4096, by warps a",
        "program and registers a thread (`grf_mode`: small is 128, large 256). Compiled by "
        "`make compile-table` from",
        "`tests/targets/xpu_gemm_kernels.py`; `tests/targets/test_xpu_gemm.py` shows too "
        "that block pointers",
        "become 2D block loads. No such chip ran it.",
        "",
        "| addressed by | registers | " + " | ".join(f"{n} warps" for n in _WARPS) + " |",
        "| --- | --- |" + " ---: |" * len(_WARPS),
    )
    device = open_device("interpreter", sys.executable)
    cache = ReportCache(RESULTS / "gemm")
    for kernel, title in _KERNELS.items():
        for registers in _REGISTERS:
            cells = []
            for warps in _WARPS:
                wanted = launch(kernel, num_warps=warps, grf_mode=registers)
                report = compile_launch(device, str(KERNELS), wanted, B70, cache=cache)
                cells.append(str(report.spill_bytes) if report.ok else "does not compile")
            yield f"| {title} | {registers} | {' | '.join(cells)} |"
    close_all()
