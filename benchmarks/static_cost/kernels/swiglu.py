"""silu(gate) * up, element by element, fp16."""

import triton
import triton.language as tl

SHAPES = ({"SIZE": 100_000}, {"SIZE": 4_194_304}, {"SIZE": 67_108_864})


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    gate = tl.load(gate_ptr + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, (gate * tl.sigmoid(gate) * up).to(tl.float16), mask=inside)


KERNEL = swiglu_kernel


def every_config(shape):
    return [
        {"BLOCK": block, "num_warps": w, "num_stages": 2}
        for block in (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
        for w in (1, 2, 4, 8, 16, 32)
        if 1 <= block // (32 * w) <= 128
    ]


def configs(shape):
    return [
        {"BLOCK": block, "num_warps": w, "num_stages": 2}
        for block in (64, 128, 256, 512, 1024, 4096, 16384)
        for w in (1, 2, 4, 8)
    ]


def arguments(shape, config, empty):
    size = (shape["SIZE"],)
    return {
        "gate_ptr": empty(size, "float16"), "up_ptr": empty(size, "float16"),
        "out_ptr": empty(size, "float16"), "size": shape["SIZE"],
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["SIZE"] // config["BLOCK"]),)
