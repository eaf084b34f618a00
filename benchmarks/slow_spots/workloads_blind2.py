"""Inputs for the slow cases of ``tests/realbugs/blind2``; for sizes see ``workloads_open``."""

from __future__ import annotations

from typing import Any

from workload import Workload, calls, new_sizes

_ROWS = (100, 37, 70, 130, 250, 333, 480, 515, 700, 850, 999, 1200, 1600)
"""Numbers of tokens as batches have them; the first one warms up."""


def _grouped(t: Any, M: int, N: int) -> dict[str, Any]:
    sizes = t.tensor([M // 2, M - M // 2], dtype=t.int32)
    return {"x": t.randn(M, N), "w": t.randn(2, N), "sizes": sizes}


def _packed(t: Any, groups: int) -> dict[str, Any]:
    return {"packed": t.randint(120, 130, (groups * 33,), dtype=t.uint8)}


def _joined(t: Any, T: int, K: int, W: int) -> dict[str, Any]:
    lens = t.arange(T, dtype=t.int32).clamp(max=K)
    return {"top": t.randint(0, T, (T, K), dtype=t.int32), "lens": lens, "W": W}


def _normed(t: Any, rows: int, N: int) -> dict[str, Any]:
    dy, x = t.randn(rows, N), t.randn(rows, N)
    return {"dy": dy, "x": x, "rms": t.rsqrt(x.square().mean(1))}


def _wide(t: Any, rows: int) -> dict[str, Any]:
    dy, x = (t.randn(rows, 16384, dtype=t.bfloat16) for _ in range(2))
    rms = t.rsqrt(x.float().square().mean(1))
    return {"dy": dy, "x": x, "w": t.randn(16384, dtype=t.bfloat16), "rms": rms}


def _targets(t: Any, R: int, V: int) -> dict[str, Any]:
    x = t.randn(R, V)
    return {"x": x, "target": t.randint(0, V, (R,)), "lse": x.logsumexp(1)}


def _chunked(t: Any, rows: int, H: int, V: int, chunk: int) -> dict[str, Any]:
    hidden, weight = t.randn(rows, H, dtype=t.bfloat16), t.randn(V, H, dtype=t.bfloat16) / H**0.5
    return {"hidden": hidden, "weight": weight, "chunk": chunk}


def _step(t: Any, B: int, P: int, size: int, D: int) -> dict[str, Any]:
    return {
        "cache": t.randn(B * P * size, D), "pool": t.arange(B * P * size).view(B, P * size),
        "req": t.arange(B).flip(0), "lens": t.randint(1, P * size, (B,)),
        "cu": t.zeros(B + 1, dtype=t.int32), "P": P, "size": size,
    }  # fmt: skip


def _packed_lengths(t: Any, B: int, longest: int, D: int, layers: int) -> dict[str, Any]:
    lengths = t.randint(longest // 2, longest, (B,))
    cu = t.nn.functional.pad(lengths.cumsum(0), (1, 0))
    return {
        "x": t.randn(int(lengths.sum()), D), "lengths": lengths, "cu": cu,
        "longest": int(lengths.max()), "layers": layers,
    }  # fmt: skip


def _pair(t: Any, n: int) -> dict[str, Any]:
    return {"x": t.randn(n), "y": t.randn(n)}


def _rotated(t: Any, R: int, H: int, T: int) -> dict[str, Any]:
    return {
        "q": t.randn(R, H, 128, dtype=t.bfloat16), "cos": t.randn(T, 64), "sin": t.randn(T, 64),
    }  # fmt: skip


def _drafts(t: Any, n: int) -> dict[str, Any]:
    draft, target, bonus = (t.randint(0, 3, (n,), dtype=t.int32) for _ in range(3))
    return {"draft": draft, "target": target, "bonus": bonus}


WORKLOADS: dict[str, Workload] = {
    "FBGEMM/bucket_of_rows_as_a_constant": new_sizes(
        "scaled", _grouped, (50, 16), *((48 << power, 256) for power in range(13))
    ),
    "FBGEMM/bias_added_by_torch": calls(
        "product",
        lambda t, M, N, K: {
            "a": t.randn(M, K, dtype=t.bfloat16),
            "b": t.randn(N, K, dtype=t.bfloat16),
            "s": t.rand(M),
            "bias": t.randn(N),
        },
        (70, 80, 40),
        (4096, 4096, 4096),
        (64, 4096, 4096),
    ),
    "FBGEMM/exponents_split_off_by_torch": calls(
        "unpacked", _packed, (20,), (1 << 21,), (1 << 16,)
    ),
    "FlagGems/sum_through_one_scalar": calls("loss", _pair, (5000,), (1 << 26,), (1 << 20,)),
    "FlagGems/gradient_scattered_and_cast": calls(
        "backward",
        lambda t, R, W, left, right: {
            "g": t.randn(R, W + left + right, dtype=t.half),
            "W_in": W,
            "left": left,
            "right": right,
        },
        (3, 20, 5, 4),
        (32768, 512, 8, 8),
        (512, 512, 8, 8),
    ),
    "FlagGems/buffer_filled_and_overwritten": calls(
        "joined", _joined, (10, 6, 3), (8192, 2048, 128), (256, 2048, 128)
    ),
    "FlagGems/one_group_a_program": calls(
        "quantized", lambda t, T, H: {"k": t.randn(T, H)}, (5, 600), (8192, 4096), (8192, 512)
    ),
    "Liger-Kernel/numbers_that_arrive_as_doubles": calls(
        "activated",
        lambda t, rows, n: {"a": t.randn(rows, n), "b": t.randn(rows, n), "gate": 2.0},
        (2, 50),
        (8192, 11008),
        (64, 11008),
        compiled=True,
    ),
    "Liger-Kernel/target_selected_in_every_lane": calls(
        "gradient", _targets, (4, 50), (4096, 32000), (1024, 128256)
    ),
    "Liger-Kernel/product_made_to_be_added": calls(
        "weight_gradient",
        _chunked,
        (8, 16, 40, 4),
        (8192, 4096, 32000, 1024),
        (2048, 2048, 32000, 512),
        tolerance=2e-2,
        interpretable=False,
    ),
    "Liger-Kernel/exponential_instead_of_a_power_of_two": calls(
        "logsumexp", lambda t, R, V: {"x": t.randn(R, V)}, (4, 50), (4096, 32000), (1024, 128256)
    ),
    "Liger-Kernel/rows_alive_across_a_norm": calls(
        "backward", _wide, (5,), (8192,), (1024,), tolerance=1e-2
    ),
    "Liger-Kernel/divergence_scaled_by_torch": calls(
        "backward",
        lambda t, rows, n: {"y": t.randn(rows, n), "g": t.tensor(0.7)},
        (10, 30),
        (4096, 32000),
        (512, 32000),
    ),
    "Liger-Kernel/block_of_the_group_for_each_channel": calls(
        "norm",
        lambda t, G, C, H: {"x": t.randn(G, C, H), "w": t.randn(C), "b": t.randn(C)},
        (3, 4, 10),
        (1024, 16, 1024),
        (2048, 8, 256),
    ),
    "Liger-Kernel/one_block_size_for_all_widths": calls(
        "forward",
        lambda t, R, N: {"x": t.randn(R, N), "alpha": t.rand(1), "gamma": t.randn(N)},
        (4, 300),
        (8192, 4096),
        (16384, 1024),
        (2048, 16384),
        (64, 4096),
    ),
    "SageAttention/mean_taken_off_by_torch": calls(
        "quantized",
        lambda t, H, L, D: {"k": t.randn(H, L, D, dtype=t.half) + 1},
        (3, 100, 16),
        (32, 16384, 128),
        (32, 1024, 128),
        tolerance=2e-2,
    ),
    "aiter/size_of_the_batch_as_a_constant": new_sizes(
        "merge",
        lambda t, splits, batch, D: {
            "part": t.randn(splits, batch, D),
            "weight": t.randn(splits, batch),
        },
        (3, 5, 16),
        *((8, batch, 512) for batch in (7, 1, 2, 3, 5, 8, 12, 16, 24, 33, 48, 64, 96)),
    ),
    "aiter/units_of_another_chip": calls(
        "score",
        lambda t, N, D: {"q": t.randn(D), "k": t.randn(N, D)},
        (300, 32),
        (1 << 20, 128),
        (1 << 15, 128),
    ),
    "aiter/four_warps_for_one_head": calls(
        "merge",
        lambda t, H, S, D: {"part": t.randn(H, S, D), "lse": t.randn(H, S)},
        (3, 4, 16),
        (4096, 8, 128),
        (256, 16, 128),
        (65536, 4, 128),
    ),
    "aiter/number_of_tiles_as_a_heuristic": new_sizes(
        "relu", lambda t, M, N: {"x": t.randn(M, N)}, (200, 20), *((M, 1024) for M in _ROWS)
    ),
    "ao/copies_for_a_kernel_with_strides": calls(
        "scales",
        lambda t, M, N: {"x": t.randn(M, N, dtype=t.bfloat16)},
        (100, 70),
        (8192, 4096),
        (4096, 14336),
    ),
    "ao/all_strides_in_64_bits": calls(
        "scales",
        lambda t, E, N, K: {"x": t.randn(E, N, K, dtype=t.bfloat16)},
        (3, 70, 200),
        (8, 4096, 4096),
        (64, 1408, 2048),
    ),
    "attorch/errors_added_to_one_number": calls("error", _pair, (3000,), (1 << 26,), (1 << 20,)),
    "attorch/one_short_row_a_program": calls(
        "softmax", lambda t, B, F: {"x": t.randn(B, F)}, (40, 20), (262144, 20), (65536, 50)
    ),
    "flash-linear-attention/zero_copied_from_the_host": calls(
        "firsts",
        lambda t, B: {"x": t.randn(B * 64), "lengths": t.randint(1, 4096, (B,)), "size": 64},
        (2,),
        (64,),
        (1024,),
    ),
    "flash-linear-attention/sum_as_a_triangular_product": calls(
        "sums", lambda t, T, S: {"s": t.randn(T, S)}, (100, 40), (16384, 4096), (8192, 128)
    ),
    "flash-linear-attention/gate_before_the_recurrence": calls(
        "run",
        lambda t, T, H, D: {"x": t.randn(T, H, D), "a": t.randn(T, H), "bias": t.randn(H)},
        (6, 3, 16),
        (4096, 32, 128),
        (64, 32, 128),
        (4096, 128, 64),
    ),
    "flash-linear-attention/product_only_for_its_sums": calls(
        "backward",
        lambda t, T, K: {"q": t.randn(T, K), "k": t.randn(T, K), "ds": t.randn(T, 64)},
        (128, 16),
        (8192 * 16, 64),
        (2048 * 16, 128),
        tolerance=2e-2,
    ),
    "gemlite/tuned_for_each_number_of_rows": new_sizes(
        "scale",
        lambda t, M, K: {"x": t.randn(M, K)},
        (5, 40),
        *((M, 4096) for M in (128, 65, 70, 76, 80, 85, 91, 96, 100, 107, 112, 119, 125)),
        tolerance=5e-3,
    ),
    "generative-recommenders/weight_gradient_by_atomics": calls(
        "backward", _normed, (50, 20), (65536, 512), (8192, 1024), (131072, 64)
    ),
    "generative-recommenders/sums_kept_in_memory": calls(
        "gradient",
        lambda t, rows, N: {"dy": t.randn(rows, N), "x": t.randn(rows, N)},
        (50, 20),
        (8192, 4096),
        (65536, 512),
        (8192, 1024),
    ),
    "generative-recommenders/activation_after_the_norm": calls(
        "forward",
        lambda t, R, N: {"x": t.randn(R, N), "w": t.randn(N)},
        (4, 50),
        (8192, 4096),
        (64, 4096),
    ),
    "generative-recommenders/three_random_streams": calls(
        "dropped",
        lambda t, n: {
            "u": t.randn(n),
            "x": t.randn(n),
            "z": t.randn(n),
            "p": 0.0,
            "seed": 1,
        },
        (50,),
        (1 << 25,),
        (1 << 20,),
    ),
    "lightllm/tokens_of_a_batch_in_one_tile": calls(
        "ranks",
        lambda t, E, n: {"chosen": t.randint(0, 2, (E, n), dtype=t.int32)},
        (3, 600),
        (128, 8192),
        (128, 32768),
        (8, 65536),
    ),
    "lmdeploy/four_splits_for_any_context": calls(
        "sums", lambda t, B, N: {"x": t.rand(B, N)}, (3, 5000), (2, 1 << 18), (64, 1 << 15)
    ),
    "lmdeploy/values_are_part_of_the_keys": calls(
        "attend",
        lambda t, H, D, N: {"q": t.randn(H, D), "latent": t.randn(N, D), "scale": 0.05},
        (3, 16, 50),
        (128, 512, 4096),
        (16, 512, 4096),
    ),
    "lmdeploy/all_logits_are_sorted": calls(
        "sampled",
        lambda t, R, V, k: {"logits": t.randn(R, V), "u": t.rand(R), "k": k},
        (4, 50, 5),
        (256, 128256, 50),
        (16, 128256, 50),
    ),
    "sglang/one_program_for_a_long_context": calls(
        "attend",
        lambda t, H, D, N: {
            "q": t.randn(H, D),
            "k": t.randn(N, D),
            "v": t.randn(N, D),
            "scale": 0.1,
        },
        (3, 16, 200),
        (32, 128, 16384),
        (32, 128, 1024),
    ),
    "sglang/metadata_of_a_step_by_torch": calls(
        "step", _step, (2, 4, 4, 16), (64, 64, 16, 128), (256, 64, 16, 128)
    ),
    "tritonbench/split_product_row_by_row": calls(
        "product",
        lambda t, M, N, K, splits: {
            "a": t.randn(M, K, dtype=t.half),
            "b": t.randn(K, N, dtype=t.half),
            "splits": splits,
        },
        (700, 150, 100, 2),
        (4096, 4096, 4096, 4),
        (512, 4096, 16384, 4),
        (8192, 8192, 8192, 2),
        tolerance=1e-2,
    ),
    "unsloth/angles_loaded_for_each_head": calls(
        "rotated", _rotated, (6, 5, 6), (8192, 32, 2048), (64, 32, 64), tolerance=1e-2
    ),
    "unsloth/longest_length_asked_in_each_layer": calls(
        "model",
        _packed_lengths,
        (2, 8, 16, 2),
        (32, 256, 64, 32),
        (8, 256, 64, 32),
        takes={
            "faulty": ("x", "lengths", "layers"),
            "fixed": ("x", "lengths", "cu", "longest", "layers"),
        },
    ),
    "vllm-ascend/rows_of_a_norm_as_a_constant": new_sizes(
        "norm", lambda t, rows, D: {"x": t.randn(rows, D)}, (50, 16), *((M, 1024) for M in _ROWS)
    ),
    "vllm-ascend/tokens_one_after_the_other": calls("accept", _drafts, (70,), (256,), (16384,)),
    "vllm-ascend/states_cleared_by_a_mask": calls(
        "prefill",
        lambda t, B, D: {
            "x": t.randn(B, D),
            "state": t.randn(B, D),
            "keep": t.randint(0, 2, (B,)) == 1,
        },
        (4, 16),
        (64, 16384),
        (1024, 4096),
    ),
    "vllm-ascend/heads_one_after_the_other": calls(
        "products",
        lambda t, BH, T, K: {"k": t.randn(BH, T, K, dtype=t.half)},
        (3, 64, 16),
        (64, 4096, 128),
        (32, 1024, 128),
    ),
    "vllm/tiles_that_causality_masks": calls(
        "attend",
        lambda t, N, D: {
            "q": t.randn(N, D),
            "k": t.randn(N, D),
            "v": t.randn(N, D),
            "scale": 0.125,
        },
        (100, 16),
        (16384, 64),
        (2048, 64),
        tolerance=1e-2,
    ),
}
