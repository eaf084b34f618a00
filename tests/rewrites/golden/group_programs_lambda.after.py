# rewrite: group_programs
# at: tl.program_id(1)
# facts: a_ptr=*fp16 b_ptr=*fp16 M=512 N=512 K=512
# grid: 16 16
import torch
import triton
import triton.language as tl


@triton.jit
def mm_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr = 16, GROUP_M: tl.constexpr = 8,
):  # fmt: skip
    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, TILE_M)
    num_pid_n = tl.cdiv(N, TILE_N)
    pids_in_group = GROUP_M * num_pid_n
    first_pid_m = (pid // pids_in_group) * GROUP_M
    group_rows = tl.minimum(num_pid_m - first_pid_m, GROUP_M)
    line = first_pid_m + (pid % pids_in_group) % group_rows
    column = (pid % pids_in_group) // group_rows
    rm = line * TILE_M + tl.arange(0, TILE_M)
    rn = column * TILE_N + tl.arange(0, TILE_N)
    rk = tl.arange(0, TILE_K)
    acc = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(0, K, TILE_K):
        a = tl.load(
            a_ptr + rm[:, None] * K + (k + rk)[None, :],
            mask=(rm[:, None] < M) & ((k + rk)[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + (k + rk)[:, None] * N + rn[None, :],
            mask=((k + rk)[:, None] < K) & (rn[None, :] < N),
            other=0.0,
        )
        acc = tl.dot(a, b, acc)
    tl.store(
        c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N)
    )


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    (rows, depth), (_, columns) = a.shape, b.shape
    c = torch.empty((rows, columns), device=a.device)
    grid = lambda META: (triton.cdiv(columns, META["TILE_N"]) * triton.cdiv(rows, META["TILE_M"]),)
    mm_kernel[grid](a, b, c, rows, columns, depth, TILE_M=16, TILE_N=32, GROUP_M=8)
    return c
