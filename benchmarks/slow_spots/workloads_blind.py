"""Inputs for the slow cases of ``tests/realbugs/blind``; for sizes see ``workloads_open``."""

from __future__ import annotations

from typing import Any

from workload import Workload, calls, starts_of


def _segments(t: Any, T: int, D: int, segments: int) -> dict[str, Any]:
    cu = starts_of(t, T, segments)
    return {"x": t.randn(T, D), "cu": cu, "longest": int(t.diff(cu).max())}


def _masked(t: Any, blocks: int, size: int, V: int) -> dict[str, Any]:
    ids = t.full((blocks * size,), 151643)
    return {"ids": ids, "logits": t.randn(size, V), "blocks": blocks, "size": size}


def _shifted(t: Any, B: int, n: int) -> dict[str, Any]:
    ids, last = t.randint(0, 32000, (B, n)), t.randint(0, 32000, (B,))
    return {"ids": ids, "new": t.zeros_like(ids), "last": last, "n": n}


def _paged(t: Any, B: int, longest: int, D: int) -> dict[str, Any]:
    lens = t.arange(1, B + 1) * longest // B
    table = t.randperm(B * longest).view(B, longest)
    return {
        "kv": t.randn(B * longest, D), "table": table, "lens": lens,
        "starts": lens.cumsum(0) - lens, "total": int(lens.sum()),
    }  # fmt: skip


def _active(t: Any, B: int, length: int, D: int) -> dict[str, Any]:
    cu = 2 + length * t.arange(B + 1)
    active = list(range(0, B, 2))
    rows = t.cat([t.arange(2 + length * at, 2 + length * (at + 1)) for at in active])
    return {"q": t.randn(2 + length * B, D), "cu": cu, "active": active, "rows": rows}


def _positions(t: Any, n: int) -> dict[str, Any]:
    return {"pos": t.randint(1, 32768, (n,)), "table": t.randperm(2048), "page": 16}


def _chunk_index(t: Any, T: int, D: int, sequences: int) -> dict[str, Any]:
    cu = starts_of(t, T, sequences)
    counts = (t.diff(cu) // 64).tolist()
    index = [(at, chunk) for at, count in enumerate(counts) for chunk in range(count)]
    return {"k": t.randn(T, D), "cu": cu, "idx": t.tensor(index)}


def _slots(t: Any, T: int, n: int) -> dict[str, Any]:
    cache = t.zeros(2 * T, n, dtype=t.bfloat16)
    slots = t.randperm(2 * T)[:T]
    return {"k": t.randn(T, n, dtype=t.bfloat16), "cache": cache, "slots": slots}


def _next(t: Any, n: int) -> dict[str, Any]:
    pos, table = t.randint(0, 32768, (n,)), t.randint(0, 4096, (n,))
    return {"pos": pos, "table": table, "out": t.zeros_like(pos), "limit": 32768, "page": 16}


WORKLOADS: dict[str, Workload] = {
    "Primus/streams_collapsed_by_torch": calls(
        "collapse",
        lambda t, T, K, D: {"x": t.randn(T, K, D), "pre": t.rand(T, K)},
        (3, 4, 100),
        (8192, 4, 4096),
        (64, 4, 4096),
    ),
    "VeOmni/bounds_read_in_every_layer": calls(
        lambda m, t: m.Attention(),
        _segments,
        (256, 16, 2),
        (8192, 128, 16),
        (8192, 128, 64),
        takes={"faulty": ("x", "cu"), "fixed": ("x", "cu", "longest")},
    ),
    "nanotron/rotated_half_in_memory": calls(
        "rope",
        lambda t, rows, D: {name: t.randn(rows, D) for name in ("q", "cos", "sin")},
        (5, 16),
        (4096 * 32, 128),
        (64 * 32, 128),
    ),
    "sglang/two_copies_before_attention": calls(
        "norms",
        lambda t, T, N, P: {"nope": t.randn(T, N), "pe": t.randn(T, P)},
        (5, 40, 8),
        (8192, 512, 64),
        (65536, 128, 64),
    ),
    "sglang/gate_of_the_shared_expert": calls(
        "moe",
        lambda t, rows, n: {name: t.randn(rows, n) for name in ("x", "w", "g", "routed")},
        (4, 300),
        (8192, 4096),
        (64, 4096),
    ),
    "sglang/count_asked_for_each_block": calls(
        "decode", _masked, (2, 4, 100), (8, 32, 32768), (32, 32, 32768), in_a_row=False
    ),
    "sglang/norms_of_queries_and_keys": calls(
        "qk_norm",
        lambda t, NQ, NK, D: {
            "q": t.randn(NQ, D, dtype=t.bfloat16),
            "k": t.randn(NK, D, dtype=t.bfloat16),
            "w": t.randn(D),
        },
        (8, 4, 16),
        (4096 * 32, 4096 * 8, 128),
        (64 * 32, 64 * 8, 128),
    ),
    "sglang/append_and_remap": calls(
        "experts",
        lambda t, n: {"ids": t.randint(0, 256, (n,)), "table": t.randperm(257), "shift": 1},
        (600,),
        (8192 * 8,),
        (64 * 8,),
    ),
    "sglang/copies_for_each_sequence": calls("shift", _shifted, (3, 50), (64, 2048), (8, 2048)),
    "sglang/indices_joined_in_a_loop": calls(
        "gather",
        _paged,
        (3, 40, 16),
        (64, 1024, 512),
        (8, 4096, 512),
        takes={
            "faulty": ("kv", "table", "lens", "total"),
            "fixed": ("kv", "table", "lens", "starts", "total"),
        },
    ),
    "sglang/sixteen_rows_in_four_warps": calls(
        "norm",
        lambda t, rows: {"x": t.randn(rows, 4096), "w": t.randn(4096)},
        (5,),
        (16384,),
        (256,),
    ),
    "sglang/lengths_read_one_by_one": calls(
        "compact",
        _active,
        (4, 8, 16),
        (64, 128, 1024),
        (16, 128, 1024),
        takes={"faulty": ("q", "cu", "active"), "fixed": ("q", "cu", "rows")},
    ),
    "text-generation-inference/loop_over_the_batch": calls(
        "block_tables",
        lambda t, B, n: {
            "tables": t.randint(0, 9999, (B, n), dtype=t.int32),
            "out": t.zeros(B, n, dtype=t.int32),
        },
        (3, 50),
        (128, 512),
        (16, 512),
    ),
    "tokenspeed/chain_of_index_operators": calls("locations", _positions, (300,), (256,), (8192,)),
    "torchtune/widened_and_narrowed_around": calls(
        "rope",
        lambda t, rows, D: {
            "x": t.randn(rows, D, dtype=t.bfloat16),
            "cos": t.randn(rows, D // 2),
            "sin": t.randn(rows, D // 2),
        },
        (5, 16),
        (4096 * 32, 128),
        (64 * 32, 128),
    ),
    "vllm-ascend/indices_by_torch_operators": calls(
        "sampled",
        lambda t, n: {
            "end": t.randint(9, 999, (n,)),
            "drafted": t.randint(0, 4, (n,)),
            "valid": t.randint(0, 2, (n,)),
        },
        (300,),
        (256,),
        (8192,),
    ),
    "vllm/chunk_lengths_to_a_list": calls(
        "states",
        _chunk_index,
        (256, 16, 2),
        (32768, 128, 16),
        (4096, 128, 4),
        takes={"faulty": ("k", "cu"), "fixed": ("k", "cu", "idx")},
    ),
    "vllm/sixteen_warps_for_a_small_tile": calls(
        "write", _slots, (5, 300), (8192, 1024), (64, 1024)
    ),
    "vllm/four_warps_for_a_wide_sweep": calls(
        "lse", lambda t, n, V: {"logits": t.randn(n, V)}, (2, 9000), (256, 128256), (32, 151936)
    ),
    "vllm/experts_summed_by_torch": calls(
        "moe_output",
        lambda t, T, K, D: {"x": t.randn(T, K, D), "w": t.rand(T, K)},
        (3, 4, 100),
        (8192, 8, 4096),
        (64, 8, 4096),
    ),
    "vllm/slots_by_torch_operators": calls("next_slots", _next, (300,), (256,), (8192,)),
    "vllm/gate_after_the_product": calls(
        "experts",
        lambda t, M, N, K: {
            "x": t.randn(M, K, dtype=t.bfloat16),
            "w": t.randn(N, K, dtype=t.bfloat16) / K**0.5,
        },
        (70, 80, 40),
        (4096, 14336, 4096),
        (64, 14336, 4096),
    ),
}
