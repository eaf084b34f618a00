"""Inputs for the slow cases of ``tests/realbugs/open``.

Sizes are those of language models of 7 to 70 billion parameters, in training or prefill (thousands
of tokens) and in decoding (dozens), unless the case is of something else.
"""

from __future__ import annotations

from typing import Any

from workload import Workload, calls, starts_of


def _routed(t: Any, n: int, experts: int) -> dict[str, Any]:
    return {"experts": t.randint(0, experts, (n,)), "n_experts": experts}


def _cache(t: Any, tokens: int, D: int) -> dict[str, Any]:
    k, cos = (t.randn(tokens, D, dtype=t.bfloat16) for _ in range(2))
    cache = t.zeros(2 * tokens, D, dtype=t.bfloat16)
    return {"k": k, "cos": cos, "slots": t.randperm(2 * tokens)[:tokens], "cache": cache}


def _chunks(t: Any, T: int, D: int, sequences: int) -> dict[str, Any]:
    cu = starts_of(t, T, sequences)
    return {"x": t.randn(T, D), "cu": cu, "host_ends": cu.tolist()}


def _qkv(t: Any, T: int, D: int) -> dict[str, Any]:
    q, k, v = (t.randn(T, D) for _ in range(3))
    weights = [t.randn(D) for _ in range(3)]
    own = dict(zip(("q", "k", "v", "wq", "wk", "wv"), (q, k, v, *weights), strict=True))
    return own | {"qkv": t.cat((q, k, v), 1), "w": t.cat(weights)}


WORKLOADS: dict[str, Workload] = {
    "DeepSeek-V3/tiles_row_by_row": calls(
        "gemm",
        lambda t, M, N, K: {
            "a": t.randn(M, K).to(t.float8_e4m3fn),
            "b": t.randn(N, K).to(t.float8_e4m3fn),
        },
        (256, 256, 128),
        (4096, 7168, 2048),
        (8192, 8192, 8192),
        (16384, 16384, 4096),
    ),
    "FastVideo/weights_widened_at_each_call": calls(
        lambda m, t: m.Norm(4096).bfloat16(),
        lambda t, rows: {"x": t.randn(rows, 4096, dtype=t.bfloat16)},
        (3,),
        (8192,),
        (32,),
        tolerance=1e-2,
    ),
    "FlagGems/one_program_for_the_whole_row": calls(
        "total_of", lambda t, n: {"x": t.rand(n)}, (5000,), (1 << 24,), (1 << 20,)
    ),
    "FlagGems/lanes_along_the_reduced_axis": calls(
        "softmax",
        lambda t, M, N, K: {"x": t.randn(M, N, K)},
        (2, 20, 40),
        (32, 256, 1024),
        (8, 1024, 1024),
    ),
    "FlagGems/row_read_three_times": calls(
        "norm",
        lambda t, rows, n: {"x": t.randn(rows, n), "w": t.randn(n), "eps": 1e-5},
        (3, 1500),
        (8192, 4096),
        (4096, 8192),
    ),
    "FlagGems/tile_of_8192_for_a_cosine": calls(
        "cos", lambda t, n: {"x": t.randn(n)}, (9000,), (1 << 26,), (1 << 22,)
    ),
    "FlagGems/norm_by_torch_before_the_mix": calls(
        "hc_head",
        lambda t, rows, D: {"x": t.randn(rows, D), "w": t.randn(D)},
        (4, 100),
        (8192, 4096),
        (64, 4096),
    ),
    "Liger-Kernel/row_gradients_added_by_atomics": calls(
        "backward",
        lambda t, rows, n: {
            "x": t.randn(rows, n, dtype=t.bfloat16),
            "dy": t.randn(rows, n, dtype=t.bfloat16),
            "w": t.randn(n),
        },
        (9, 100),
        (8192, 4096),
        (32768, 1024),
    ),
    "Liger-Kernel/count_read_back": calls(
        "cross_entropy",
        lambda t, rows, V: {
            "x": t.randn(rows, V, dtype=t.bfloat16),
            "y": t.randint(0, V, (rows,)),
            "ignore": 1,
        },
        (4, 100),
        (4096, 32000),
        (512, 32000),
    ),
    "Liger-Kernel/scaled_after_the_kernel": calls(
        "distance",
        lambda t, rows, n: {"p": t.rand(rows, n), "q": t.rand(rows, n)},
        (4, 100),
        (4096, 32000),
        (512, 32000),
        (16384, 4096),
    ),
    "Liger-Kernel/warps_for_one_width": calls(
        "maxima",
        lambda t, rows, n: {"x": t.randn(rows, n)},
        (4, 100),
        (65536, 256),
        (16384, 1024),
        (8192, 4096),
    ),
    "Megatron-LM/atomics_one_after_another": calls(
        "count", _routed, (3000, 8), (8192 * 8, 64), (1 << 20, 256), (1 << 20, 8)
    ),
    "aiter/rotated_and_then_copied": calls("write", _cache, (9, 16), (65536, 128), (256, 128)),
    "aiter/full_warps_for_any_block": calls(
        "lse",
        lambda t, rows, V: {"x": t.randn(rows, V)},
        (4, 100),
        (16384, 1024),
        (8192, 4096),
        (4096, 16384),
    ),
    "flash-linear-attention/condition_on_the_gradient": calls(
        "backward",
        lambda t, n: {"dx": t.randn(n), "do": t.tensor(1.0)},
        (3000,),
        (1 << 24,),
        (1 << 20,),
    ),
    "flash-linear-attention/lengths_to_a_list": calls(
        "chunk_sums",
        _chunks,
        (256, 16, 1),
        (32768, 128, 1),
        (4096, 128, 1),
        takes={"faulty": ("x", "cu"), "fixed": ("x", "cu", "host_ends")},
    ),
    "flash-linear-attention/indices_prepared_twice": calls(
        "both",
        lambda t, T, D, sequences: {
            "q": t.randn(T, D),
            "k": t.randn(T, D),
            "cu": starts_of(t, T, sequences),
        },
        (256, 16, 2),
        (32768, 128, 16),
        (4096, 128, 4),
    ),
    "flash-linear-attention/added_by_torch": calls(
        "backward",
        lambda t, n: {"a": t.randn(n), "dk": t.randn(n)},
        (3000,),
        (1 << 24,),
        (1 << 20,),
    ),
    "flash-linear-attention/sigmoid_before_the_kernel": calls(
        "gate",
        lambda t, rows, n: {
            "x": t.randn(rows, n, dtype=t.bfloat16),
            "beta": t.randn(rows, n, dtype=t.bfloat16),
        },
        (4, 300),
        (8192, 2048),
        (64, 2048),
        tolerance=1e-2,
    ),
    "flash-linear-attention/gate_then_scan": calls(
        "local_cumsum",
        lambda t, T: {"g": t.randn(T), "a": t.randn(1)},
        (300,),
        (1 << 22,),
        (1 << 18,),
    ),
    "flash-linear-attention/residuals_read_in_two_loops": calls(
        "mix",
        lambda t, N, L, D: {"x": t.randn(N, L, D, dtype=t.bfloat16), "w": t.randn(D) / D**0.5},
        (3, 5, 64),
        (4096, 16, 2048),
        (64, 16, 2048),
    ),
    "flash-linear-attention/halves_copied_before_the_kernel": calls(
        "forward",
        lambda t, rows, n: {"xy": t.randn(rows, 2 * n)},
        (4, 100),
        (8192, 4096),
        (64, 11008),
    ),
    "flash-linear-attention/three_convolutions_one_after_another": calls(
        "qkv",
        _qkv,
        (5, 200),
        (8192, 2048),
        (64, 2048),
        takes={"faulty": ("q", "k", "v", "wq", "wk", "wv"), "fixed": ("qkv", "w")},
        compare=lambda t, r: t.cat(r, 1) if isinstance(r, tuple) else r,
    ),
    "mojo_opset/two_passes_for_mean_and_variance": calls(
        "stats", lambda t, rows, n: {"x": t.randn(rows, n)}, (4, 3000), (8192, 4096), (4096, 16384)
    ),
}
