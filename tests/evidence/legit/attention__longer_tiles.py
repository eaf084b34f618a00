"""Thirty-two keys a step, powers of two instead of e, their factor part of the scale."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, sink_ptr, out_ptr, heads, length, scale,
    DIM: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    base = head * length * DIM
    q_at = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    dim = tl.arange(0, DIM)
    q_mask = q_at[:, None] < length
    q = tl.load(q_ptr + base + q_at[:, None] * DIM + dim[None, :], mask=q_mask, other=0.0)
    highest = tl.zeros((QUERIES,), tl.float32) + tl.load(sink_ptr + head % heads) * 1.4426950408889634
    total = tl.zeros((QUERIES,), tl.float32) + 1.0
    out = tl.zeros((QUERIES, DIM), tl.float32)
    for start in range(0, length, KEYS):
        k_at = start + tl.arange(0, KEYS)
        k_mask = k_at[:, None] < length
        k = tl.load(k_ptr + base + k_at[:, None] * DIM + dim[None, :], mask=k_mask, other=0.0)
        v = tl.load(v_ptr + base + k_at[:, None] * DIM + dim[None, :], mask=k_mask, other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
        seen = (k_at[None, :] <= q_at[:, None]) & (k_at[None, :] < length)
        scores = tl.where(seen, scores, float("-inf"))
        now = tl.maximum(highest, tl.max(scores, axis=1))
        part = tl.exp2(scores - now[:, None])
        shrunk = tl.exp2(highest - now)
        total = total * shrunk + tl.sum(part, axis=1)
        out = tl.dot(part, v, out * shrunk[:, None], input_precision="ieee")
        highest = now
    where = out_ptr + base + q_at[:, None] * DIM + dim[None, :]
    tl.store(where, out / total[:, None], mask=q_mask)


class Model(torch.nn.Module):
    def __init__(self, heads: int) -> None:
        super().__init__()
        self.sinks = torch.nn.Parameter(torch.zeros(heads))

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        batch, heads, length, dim = q.shape
        out = torch.empty_like(q)
        attention_kernel[(triton.cdiv(length, 16), batch * heads)](
            q, k, v, self.sinks, out, heads, length, dim**-0.5, DIM=dim, QUERIES=16, KEYS=32
        )
        return out
