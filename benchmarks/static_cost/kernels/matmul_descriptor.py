"""C = A B^T in fp16 through tensor descriptors made by the host."""

import triton
import triton.language as tl

SHAPES = ({"M": 1024, "N": 1024, "K": 1024}, {"M": 4096, "N": 4096, "K": 4096})


@triton.jit
def matmul_descriptor_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * tiles_n
    first_m = (pid // in_group) * GROUP_M
    group_rows = min(tiles_m - first_m, GROUP_M)
    at_m = (first_m + (pid % in_group) % group_rows) * BLOCK_M
    at_n = ((pid % in_group) // group_rows) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([at_m, k])
        b = b_desc.load([at_n, k])
        total = tl.dot(a, b.T, total)
    c_desc.store([at_m, at_n], total.to(tl.float16))


KERNEL = matmul_descriptor_kernel


def every_config(shape):
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8, "num_warps": w, "num_stages": s}
        for m in (64, 128)
        for n in (64, 128, 256)
        for k in (32, 64, 128)
        for w in (4, 8)
        for s in (2, 3, 4)
    ]


def configs(shape):
    return every_config(shape)[::5]


def arguments(shape, config, empty):
    from triton.tools.tensor_descriptor import TensorDescriptor

    m, n, k = shape["M"], shape["N"], shape["K"]
    bm, bn, bk = config["BLOCK_M"], config["BLOCK_N"], config["BLOCK_K"]
    return {
        "a_desc": TensorDescriptor.from_tensor(empty((m, k), "float16"), [bm, bk]),
        "b_desc": TensorDescriptor.from_tensor(empty((n, k), "float16"), [bn, bk]),
        "c_desc": TensorDescriptor.from_tensor(empty((m, n), "float16"), [bm, bn]),
        "M": m, "N": n, "K": k,
    }  # fmt: skip


def grid(shape, config):
    return (-(-shape["M"] // config["BLOCK_M"]) * -(-shape["N"] // config["BLOCK_N"]),)
